//! The control helper: one bounded exchange, never repeated by itself.

use std::{path::Path, time::Duration};

use super::{Client, ClientError};
use crate::{
    ClientInfo, ClientMessage, ControlCommand, DaemonStatus, ServerEvent,
    limits::CONTROL_TIMEOUT_MS,
};

/// Sends one `daemon.control` and waits for its answer, 20 seconds at most.
///
/// A change is never sent twice: after [`ClientError::Timeout`] it may or may not have been
/// made, and the caller asks for the status.
///
/// # Errors
/// [`ClientError::Io`] when no daemon listens, [`ClientError::Refused`] with the daemon's code
/// and words, [`ClientError::Timeout`].
pub async fn control(
    socket: &Path,
    info: ClientInfo,
    command: ControlCommand,
) -> Result<DaemonStatus, ClientError> {
    let limit = Duration::from_millis(CONTROL_TIMEOUT_MS);
    match tokio::time::timeout(limit, exchange(socket, info, command)).await {
        Ok(result) => result,
        Err(_) => Err(ClientError::Timeout { seconds: limit.as_secs() }),
    }
}

async fn exchange(
    socket: &Path,
    info: ClientInfo,
    command: ControlCommand,
) -> Result<DaemonStatus, ClientError> {
    let mut client = Client::connect(socket, info).await?;
    client.send(&ClientMessage::DaemonControl { request_id: "control".into(), command }).await?;
    loop {
        match client.next().await? {
            ServerEvent::DaemonStatus { status, .. } => return Ok(status),
            ServerEvent::Error { code, message, .. } => {
                return Err(ClientError::Refused { code, message });
            }
            _ => {}
        }
    }
}
