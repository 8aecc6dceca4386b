//! `bash`: a shell command in a process group of its own.

use std::{
    io,
    os::fd::OwnedFd,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use scv_protocol::{Risk, ToolError};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    net::unix::pipe,
    process::{Child, Command},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    Call, Plan, Refusal, ToolOutcome, Workshop, environment, group::Group, output::Capture, parse,
    summary,
};
use crate::{
    config::ToolsConfig,
    limits::{MAX_COMMAND_BYTES, NOTE_BYTES, PIPE_DRAIN_MS, PIPE_READ_BYTES},
};

/// A command whose timeout is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BashCall {
    command: String,
    timeout: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    #[serde(default)]
    timeout_seconds: Option<u64>,
}

/// How the command itself came to its end.
enum End {
    Exited(io::Result<ExitStatus>),
    TimedOut,
    Cancelled,
}

/// The reading end of the command's output.
struct Output {
    pipe: pipe::Receiver,
    capture: Capture,
    ended: bool,
}

pub(super) fn plan(arguments: &Value, config: &ToolsConfig) -> Result<Plan, Refusal> {
    let Arguments { command, timeout_seconds } = parse(arguments)?;
    if command.trim().is_empty() || command.contains('\0') {
        return Err(Refusal::arguments("the command is empty or holds a NUL; write a command"));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(Refusal::arguments("the command is longer than 96 KiB; put it into a file"));
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
        call: Call::Bash(BashCall { command, timeout }),
    })
}

pub(super) async fn run(
    call: &BashCall,
    workshop: &Workshop,
    cancel: &CancellationToken,
) -> ToolOutcome {
    if cancel.is_cancelled() {
        return ToolOutcome::cancelled();
    }
    let Ok((mut child, mut output)) = spawn(call, workshop) else {
        let text = "the shell could not be started; check that bash is installed";
        return ToolOutcome::failed(ToolError::Unavailable, text);
    };
    let Some(mut group) = Group::of(&child) else {
        let text = "the shell ended before it could be watched; try again";
        return ToolOutcome::failed(ToolError::Failed, text);
    };
    let end = output.read_during(wait(&mut child, call.timeout, cancel)).await;
    // What the command left behind ends with it, however it ended itself.
    output.read_during(group.end(&mut child)).await;
    output.drain().await;
    report(end, call, output.capture)
}

fn spawn(call: &BashCall, workshop: &Workshop) -> io::Result<(Child, Output)> {
    // One pipe for both streams keeps their order.
    let (reader, writer) = io::pipe()?;
    let child = Command::new("bash")
        .args(["-c", &call.command])
        .current_dir(&workshop.cwd)
        .env_clear()
        .envs(environment::variables(workshop))
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let limit = workshop.config.output_limit_bytes.saturating_sub(NOTE_BYTES);
    Ok((child, Output { pipe, capture: Capture::new(limit), ended: false }))
}

async fn wait(child: &mut Child, limit: Duration, cancel: &CancellationToken) -> End {
    tokio::select! {
        biased;
        () = cancel.cancelled() => End::Cancelled,
        ended = timeout(limit, child.wait()) => ended.map_or(End::TimedOut, End::Exited),
    }
}

fn report(end: End, call: &BashCall, capture: Capture) -> ToolOutcome {
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
    if let Some(note) = note {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&format!("[{note}]"));
    }
    if output.is_empty() {
        output.push_str("(no output)");
    }
    ToolOutcome { output, truncated, error }
}

impl Output {
    /// Reads while something else is awaited, so that a full pipe stops nobody.
    async fn read_during<T>(&mut self, other: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            result = other => result,
            never = self.read_for_ever() => match never {},
        }
    }

    /// Reads what is left. Whoever still holds the pipe has left the group, and is not waited for.
    async fn drain(&mut self) {
        let limit = Duration::from_millis(PIPE_DRAIN_MS);
        let _ = timeout(limit, async { while self.read().await {} }).await;
    }

    async fn read_for_ever(&mut self) -> std::convert::Infallible {
        while self.read().await {}
        std::future::pending().await
    }

    /// False at the end. Safe to cancel.
    async fn read(&mut self) -> bool {
        if self.ended {
            return false;
        }
        if self.pipe.readable().await.is_err() {
            self.ended = true;
            return false;
        }
        let mut buffer = [0; PIPE_READ_BYTES];
        match self.pipe.try_read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(count) => self.capture.push(&buffer[..count]),
            Err(error) => self.ended = error.kind() != io::ErrorKind::WouldBlock,
        }
        !self.ended
    }
}

#[cfg(test)]
mod tests;
