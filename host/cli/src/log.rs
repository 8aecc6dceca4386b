//! The log on stderr: never in the way of the work.
//!
//! A terminal that was stopped with Ctrl+S, or a pipe that nobody reads, would block whoever
//! writes; one whose reader has gone fails every write. So a thread of its own writes, lines
//! are dropped while it is behind, and a failed write is nobody's trouble.

use std::io;

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::{
    args::{Cli, Command},
    limits::LOG_QUEUE_LINES_COUNT,
    terminal,
};

/// Writes what is left when it is dropped, for about a second at most.
pub(crate) struct Log(#[expect(dead_code, reason = "kept to be dropped at the end")] WorkerGuard);

/// Starts the log: all that matters from a daemon, only trouble from other commands.
pub(crate) fn start(cli: &Cli) -> Log {
    let default = match cli.command {
        Command::Run(_) => "info",
        _ => "warn",
    };
    let filter = EnvFilter::builder()
        .with_env_var("SCV_LOG")
        .try_from_env()
        .unwrap_or_else(|_| EnvFilter::new(default));
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LOG_QUEUE_LINES_COUNT)
        .thread_name("scv-log")
        .finish(io::stderr());
    // A second subscriber in one process, as in a test, is not an error worth ending for.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(terminal::stderr_colour(cli.global.color))
        // Its own complaints are printed with a macro that panics when stderr is gone.
        .log_internal_errors(false)
        .try_init();
    Log(guard)
}
