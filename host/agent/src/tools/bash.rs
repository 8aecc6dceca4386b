//! `bash`: a shell command with all that it starts, and the end of both.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use cap_std::fs::Dir;
use scv_protocol::{Risk, ToolError};
use serde::Deserialize;
use serde_json::Value;
use tokio::{process::Child, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Call, Plan, Refusal, Reporter, ToolOutcome, Workshop, environment,
    family::{Family, Survivors},
    listen::Listener,
    output::Capture,
    parse, place, summary,
};
use crate::{
    config::ToolsConfig,
    id::{IdSource, RandomIds},
    limits::{MAX_COMMAND_BYTES, NOTE_BYTES},
};

/// A command whose timeout is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BashCall {
    command: String,
    /// A folder of the workspace; the workspace itself when absent.
    cwd: Option<PathBuf>,
    timeout: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    timeout_seconds: Option<u64>,
}

/// How the command itself came to its end.
enum End {
    Exited(io::Result<ExitStatus>),
    TimedOut,
    Cancelled,
}

pub(super) fn plan(arguments: &Value, config: &ToolsConfig) -> Result<Plan, Refusal> {
    let Arguments { command, cwd, timeout_seconds } = parse(arguments)?;
    if command.trim().is_empty() || command.contains('\0') {
        return Err(Refusal::arguments("the command is empty or holds a NUL; write a command"));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(Refusal::arguments("the command is longer than 96 KiB; put it into a file"));
    }
    if let Some(cwd) = &cwd {
        place::check(cwd)?;
    }
    let timeout = timeout_seconds.map_or(config.command_timeout, Duration::from_secs);
    if timeout.is_zero() || timeout > config.max_timeout {
        let max = config.max_timeout.as_secs();
        return Err(Refusal::arguments(format!(
            "timeout_seconds must be between 1 and {max}; choose one within that"
        )));
    }
    Ok(Plan {
        risk: Risk::Process,
        summary: summary("Run shell command", &command),
        cwd: cwd.clone(),
        call: Call::Bash(BashCall { command, cwd, timeout }),
    })
}

pub(super) async fn run(
    call: &BashCall,
    workshop: &Workshop,
    reporter: Reporter,
    cancel: &CancellationToken,
) -> ToolOutcome {
    if cancel.is_cancelled() {
        return ToolOutcome::cancelled();
    }
    let folder = match call.cwd.clone() {
        None => workshop.dir.try_clone().map_err(|_| place::FileFault::Io),
        Some(path) => place::open_folder(workshop, path).await,
    };
    let folder = match folder {
        Ok(folder) => folder,
        Err(fault) => return ToolOutcome::failed(ToolError::Failed, fault.to_string()),
    };
    let Ok((mut child, family, mut listener)) = start(call, workshop, &folder, reporter) else {
        let text = "the shell could not be started; check that bash is installed";
        return ToolOutcome::failed(ToolError::Unavailable, text);
    };
    let end = listener.during(wait(&mut child, &family, call.timeout, cancel)).await;
    // What the command left behind ends with it, however it ended itself.
    let ended = listener.during(family.end(&mut child)).await;
    report(end, ended, call, listener.finish().await)
}

fn start(
    call: &BashCall,
    workshop: &Workshop,
    folder: &Dir,
    reporter: Reporter,
) -> io::Result<(Child, Family, Listener)> {
    // One pipe for both streams keeps their order.
    let (reader, writer) = io::pipe()?;
    let mut command = Family::shell(workshop.config.keeper.as_deref());
    command
        .args(["-c", &call.command])
        .current_dir(name_of(folder, &workshop.cwd, call.cwd.as_deref()))
        .env_clear()
        .envs(environment::variables(workshop))
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .kill_on_drop(true);
    let (child, family) = Family::start(&mut command, RandomIds.next())?;
    let limit = workshop.config.output_limit_bytes.saturating_sub(NOTE_BYTES);
    let listener = Listener::new(reader.into(), Capture::new(limit), reporter)?;
    Ok((child, family, listener))
}

/// A name for a folder that a child can go to: on Linux the handle itself, whatever has become of
/// the path by then.
fn name_of(folder: &Dir, workspace: &Path, cwd: Option<&Path>) -> PathBuf {
    use std::os::fd::{AsFd, AsRawFd};
    let by_handle = PathBuf::from(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()));
    if cfg!(target_os = "linux") && by_handle.exists() {
        return by_handle;
    }
    cwd.map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd))
}

async fn wait(
    child: &mut Child,
    family: &Family,
    limit: Duration,
    cancel: &CancellationToken,
) -> End {
    tokio::select! {
        biased;
        () = cancel.cancelled() => End::Cancelled,
        ended = timeout(limit, child.wait()) => ended.map_or(End::TimedOut, End::Exited),
        never = family.tend() => match never {},
    }
}

fn report(
    end: End,
    ended: Result<(), Survivors>,
    call: &BashCall,
    capture: Capture,
) -> ToolOutcome {
    let (mut output, truncated) = capture.finish();
    let (error, note) = match end {
        End::Exited(Ok(status)) if status.success() => (None, None),
        End::Exited(Ok(status)) => (Some(ToolError::Failed), Some(status.to_string())),
        End::Exited(Err(_)) => (Some(ToolError::Failed), Some("exit status unknown".to_owned())),
        End::TimedOut => {
            let seconds = call.timeout.as_secs();
            let note = format!("timed out after {seconds} seconds and was ended");
            (Some(ToolError::Limit), Some(note))
        }
        End::Cancelled => (Some(ToolError::Cancelled), Some("cancelled".to_owned())),
    };
    let left = ended.err().map(|Survivors(count)| format!("{count} processes could not be ended"));
    for note in note.into_iter().chain(left) {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push('[');
        output.push_str(&note);
        output.push(']');
    }
    if output.is_empty() {
        output.push_str("(no output)");
    }
    ToolOutcome { output, truncated, error }
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
