//! The daemon behind the socket, and what it has not read yet.

use scv_daemon::socket_path;
use scv_protocol::{ControlCommand, DaemonStatus};

use super::Finding;
use crate::context::{Context, STALE_CONFIG};

/// The daemon's plugins and components, where one runs.
pub(super) async fn look(context: &Context) -> (Option<DaemonStatus>, Finding) {
    let socket = socket_path(&context.home);
    match context.ask(ControlCommand::Plugins).await {
        Ok(Some(status)) if status.version != env!("CARGO_PKG_VERSION") => {
            let text = format!("the running daemon is version {}", status.version);
            (Some(status), Finding::note("socket", text, "restart it to use the installed one"))
        }
        Ok(Some(status)) => {
            let text = format!("daemon {} answers (pid {})", status.version, status.pid);
            (Some(status), Finding::ok("socket", text))
        }
        Ok(None) => {
            let text = "no daemon runs, so no chat account is served";
            (None, Finding::note("socket", text, "start one with `scv run`"))
        }
        Err(error) => {
            let text = format!("{} does not answer: {error:#}", socket.display());
            (
                None,
                Finding::wrong(
                    "socket",
                    text,
                    "end the process that holds it, and start `scv run`",
                ),
            )
        }
    }
}

/// Whether a daemon that runs goes by an older configuration.
pub(super) fn config(context: &Context, daemon: Option<&DaemonStatus>) -> Option<Finding> {
    let is_stale = daemon.is_some() && context.config_is_newer_than_daemon();
    let (what, fix) = STALE_CONFIG;
    is_stale.then(|| Finding::note("config", what, fix))
}
