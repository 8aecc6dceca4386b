//! The `daemon.control` commands of one connection: one after another, beside its session.

use std::sync::Arc;

use scv_agent::Outbox;
use scv_protocol::{ControlCommand, ErrorCode, ServerEvent};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::send;
use crate::{components::Components, limits::MAX_WAITING_COMMANDS_COUNT};

/// One command.
#[derive(Debug, PartialEq)]
pub(super) struct Command {
    pub(super) request_id: String,
    pub(super) command: ControlCommand,
    /// Of the protocol, on this connection.
    pub(super) version: u32,
}

/// Takes commands without waiting for those before them. What was taken is done, though the
/// client goes.
pub(super) struct Commands {
    sender: mpsc::Sender<Command>,
    run: JoinHandle<()>,
}

impl Commands {
    /// Answers go to `outbox`; a client that does not read them ends its connection by `stop`.
    pub(super) fn begin(
        components: Arc<Components>,
        outbox: Outbox,
        stop: CancellationToken,
        tasks: &TaskTracker,
    ) -> Self {
        let (sender, commands) = mpsc::channel(MAX_WAITING_COMMANDS_COUNT);
        let run = tasks.spawn(run(components, commands, outbox, stop));
        Self { sender, run }
    }

    /// Takes a command, or gives the refusal.
    pub(super) fn take(&self, command: Command) -> Option<ServerEvent> {
        let request_id = self.sender.try_send(command).err()?.into_inner().request_id;
        let text =
            "too many commands of this connection wait already; send the next one after an answer";
        Some(ServerEvent::error(Some(request_id), ErrorCode::ComponentError, text))
    }

    /// Waits until everything that was taken is answered.
    pub(super) async fn finish(self) {
        drop(self.sender);
        // A panic inside has been told by the log already.
        let _ = self.run.await;
    }
}

async fn run(
    components: Arc<Components>,
    mut commands: mpsc::Receiver<Command>,
    outbox: Outbox,
    stop: CancellationToken,
) {
    while let Some(Command { request_id, command, version }) = commands.recv().await {
        let event = match components.control(command, version).await {
            Ok(status) => ServerEvent::DaemonStatus { request_id, status },
            Err(error) => ServerEvent::error(Some(request_id), error.code, error.message),
        };
        if send(&outbox, &event).await.is_break() {
            return stop.cancel();
        }
    }
}
