//! The log on stderr: never in the way of the work.
//!
//! A terminal that was stopped with Ctrl+S, or a pipe that nobody reads, would block whoever
//! writes; one whose reader has gone fails every write. So a thread of its own writes, lines
//! are dropped while it is behind, and a failed write is nobody's trouble.

use std::io;

use scv_daemon::LogRing;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    args::{Cli, Command},
    limits::LOG_QUEUE_LINES_COUNT,
    terminal,
};

/// Writes what is left when it is dropped, for about a second at most.
pub(crate) struct Log {
    /// The last lines, for a daemon to serve.
    pub(crate) ring: LogRing,
    _writer: WorkerGuard,
}

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
    let ring = LogRing::default();
    // Other commands serve no lines.
    let kept = matches!(cli.command, Command::Run(_)).then(|| ring.clone());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(terminal::stderr_colour(cli.global.color))
        // Its own complaints are printed with a macro that panics when stderr is gone.
        .log_internal_errors(false);
    // A second subscriber in one process, as in a test, is not an error worth ending for.
    let _ = tracing_subscriber::registry().with(filter).with(lines).with(kept).try_init();
    Log { ring, _writer: guard }
}
