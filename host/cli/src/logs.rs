//! `scv logs`: what the running daemon has written.

use std::{io::ErrorKind, time::Duration};

use anyhow::{Context as _, bail};
use scv_protocol::{ControlCommand, DaemonStatus, LogLine, LogPage, client::ClientError};
use tokio::time::sleep;

use crate::{
    args::LogsArgs, context::Context, exit::Exit, limits::FOLLOW_MS, say, signals::Signals, stdout,
    terminal::harmless,
};

pub(crate) async fn run(context: &Context, args: LogsArgs) -> anyhow::Result<Exit> {
    if let Some(plugin) = &args.plugin {
        must_be_known(context, plugin).await?;
    }
    let mut place = Place::default();
    // One that ends while its log is shown was there.
    if !show_new(context, &args, &mut place).await? && place.pid == 0 {
        bail!("no daemon is running; start it with `scv run`");
    }
    if !args.follow {
        return Ok(Exit::Done);
    }
    let mut signals = Signals::catch()?;
    let mut daemon_runs = true;
    loop {
        tokio::select! {
            () = signals.end() => return Ok(Exit::Done),
            () = sleep(Duration::from_millis(FOLLOW_MS)) => {}
        }
        // Nobody reads any more, or the disk is full: the end says which.
        if stdout::check().is_err() {
            return Ok(Exit::Done);
        }
        let ran = daemon_runs;
        daemon_runs = show_new(context, &args, &mut place).await?;
        if ran && !daemon_runs {
            crate::complain("the daemon has ended; waiting for the next one, until Ctrl+C");
        }
    }
}

/// A name that no plugin has is a slip, unless the log still holds lines of one that is gone.
async fn must_be_known(context: &Context, plugin: &str) -> anyhow::Result<()> {
    let plugins = context.demand(ControlCommand::Plugins).await?.plugins.unwrap_or_default();
    let mut names: Vec<_> = plugins.into_iter().map(|found| found.name).collect();
    if names.iter().any(|name| name == plugin) {
        return Ok(());
    }
    let command = ControlCommand::Logs { after: 0, limit: Some(1), plugin: Some(plugin.into()) };
    let logs = context.demand(command).await?.logs;
    if logs.is_some_and(|page| !page.lines.is_empty()) {
        return Ok(());
    }
    names.sort();
    names.dedup();
    bail!("there is no plugin '{plugin}'; those that there are: {}", names.join(", "))
}

/// How far the log of which daemon was shown.
#[derive(Default)]
struct Place {
    pid: u32,
    after: u64,
}

/// Prints every line that was not shown yet; false when no daemon answers.
async fn show_new(context: &Context, args: &LogsArgs, place: &mut Place) -> anyhow::Result<bool> {
    loop {
        let after = place.after;
        let command = ControlCommand::Logs { after, limit: None, plugin: args.plugin.clone() };
        let Some(status) = ask(context, command).await? else {
            return Ok(false);
        };
        let Some(LogPage { lines, next, missed }) = status.logs else {
            bail!("the daemon keeps no log for this command; update it, then restart it");
        };
        if status.pid != place.pid {
            // Another daemon counts from the beginning.
            *place = Place { pid: status.pid, after: 0 };
            if after > 0 {
                continue;
            }
        }
        if missed > 0 {
            crate::complain(&format!(
                "{missed} lines were missed: they came faster than they were read"
            ));
        }
        for line in &lines {
            say(&shown(line, args.json.json)?);
        }
        place.after = next;
        if lines.is_empty() {
            return Ok(true);
        }
    }
}

/// As [`Context::ask`]; a daemon that ends while it is asked counts as none.
async fn ask(context: &Context, command: ControlCommand) -> anyhow::Result<Option<DaemonStatus>> {
    match context.ask(command).await {
        Err(error) => match error.downcast_ref() {
            Some(ClientError::Closed) => Ok(None),
            Some(ClientError::Io(broken)) if BROKEN.contains(&broken.kind()) => Ok(None),
            _ => Err(error),
        },
        answered => answered,
    }
}

/// What becomes of a connection whose other end is gone.
const BROKEN: [ErrorKind; 3] =
    [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof];

fn shown(line: &LogLine, as_json: bool) -> anyhow::Result<String> {
    if as_json {
        return serde_json::to_string(line).context("a line is no JSON");
    }
    let LogLine { unix_ms, level, target, plugin, text, .. } = line;
    let from = plugin.as_ref().map_or_else(|| target.clone(), |name| format!("plugin {name}"));
    let level = level.to_ascii_uppercase();
    Ok(harmless(&format!("{} {level:>5} {from}: {text}", time_of_day(*unix_ms))))
}

/// In UTC, as on the daemon's stderr.
fn time_of_day(unix_ms: u64) -> String {
    let seconds = unix_ms / 1_000 % 86_400;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{:03}Z", seconds % 60, unix_ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_with_its_time_level_and_origin() {
        let line = LogLine {
            number: 1,
            unix_ms: 86_400_000 + 3_661_007,
            level: "warn".into(),
            target: "scv_daemon::server".into(),
            plugin: None,
            text: "something".into(),
        };
        let text = shown(&line, false).unwrap();
        assert_eq!(text, "01:01:01.007Z  WARN scv_daemon::server: something");
        let of_plugin = LogLine { plugin: Some("matrix".into()), ..line };
        assert!(shown(&of_plugin, false).unwrap().ends_with("plugin matrix: something"));
        assert!(shown(&of_plugin, true).unwrap().contains(r#""plugin":"matrix""#));
    }
}
