//! The log on stderr: never in the way of the work.
//!
//! A terminal that was stopped with Ctrl+S, or a pipe that nobody reads, would block whoever
//! writes; one whose reader has gone fails every write. So a thread of its own writes, lines
//! are dropped while it is behind, and a failed write is nobody's trouble.

use std::{env, io};

use scv_daemon::LogRing;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{
    EnvFilter, filter::LevelFilter, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::{
    args::{Cli, Command},
    limits::LOG_QUEUE_LINES_COUNT,
    terminal,
};

const LEVEL_VARIABLE: &str = "SCV_LOG";

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
    let filter = match env::var_os(LEVEL_VARIABLE).filter(|level| !level.is_empty()) {
        None => EnvFilter::new(default),
        Some(level) => chosen(&level.to_string_lossy()).unwrap_or_else(|| {
            crate::complain(&format!(
                "{LEVEL_VARIABLE} is no level, so `{default}` is used; use error, warn, info, debug or trace"
            ));
            EnvFilter::new(default)
        }),
    };
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

/// A level, or levels of targets as `scv_daemon=debug`. A bare word that is no level would be
/// taken for a target, and shut up all others.
fn chosen(text: &str) -> Option<EnvFilter> {
    let is_plain = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
    match text.split(',').all(is_plain) {
        true => EnvFilter::try_new(text).ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_no_choice() {
        for good in ["info", "WARN", "off", "info,scv_daemon=debug", "scv_daemon=trace"] {
            assert!(chosen(good).is_some(), "{good}");
        }
        for bad in ["loud", "info,loud", "scv_daemon=loud", "a=b=c"] {
            assert!(chosen(bad).is_none(), "{bad}");
        }
    }
}
