//! `scv logs`: what the running daemon has written.

use std::time::Duration;

use anyhow::{Context as _, bail};
use scv_protocol::{ControlCommand, LogLine, LogPage};
use tokio::time::sleep;

use crate::{
    args::LogsArgs, context::Context, exit::Exit, limits::FOLLOW_MS, say, signals::Signals, stdout,
    terminal::harmless,
};

pub(crate) async fn run(context: &Context, args: LogsArgs) -> anyhow::Result<Exit> {
    let mut after = show_all(context, &args, 0).await?;
    if !args.follow {
        return Ok(Exit::Done);
    }
    let mut signals = Signals::catch()?;
    loop {
        tokio::select! {
            () = signals.end() => return Ok(Exit::Done),
            () = sleep(Duration::from_millis(FOLLOW_MS)) => {}
        }
        // Nobody reads any more, or the disk is full: the end says which.
        if stdout::check().is_err() {
            return Ok(Exit::Done);
        }
        after = show_all(context, &args, after).await?;
    }
}

/// Prints every line after this one, and gives the number of the last.
async fn show_all(context: &Context, args: &LogsArgs, mut after: u64) -> anyhow::Result<u64> {
    loop {
        let plugin = args.plugin.clone();
        let asked = ControlCommand::Logs { after, limit: None, plugin };
        let status = context.demand(asked).await?;
        let Some(page) = status.logs else {
            bail!("the daemon keeps no log for this command; update it, then restart it");
        };
        let LogPage { lines, next, missed } = page;
        if next < after {
            // It was restarted meanwhile, and counts from the beginning again.
            after = 0;
            continue;
        }
        if missed > 0 {
            crate::complain(&format!(
                "{missed} lines were missed: they came faster than they were read"
            ));
        }
        for line in &lines {
            say(&shown(line, args.json.json)?);
        }
        if lines.is_empty() {
            return Ok(next);
        }
        after = next;
    }
}

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
