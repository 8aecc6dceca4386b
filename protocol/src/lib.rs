//! The scv client protocol: newline-delimited JSON between the daemon and its clients.
//!
//! Wire types ([`ClientMessage`], [`ServerEvent`], [`DaemonStatus`]), the bounded line codec
//! ([`codec`]), and with the feature `client` a client for sockets and in-process streams.
//! Nothing here knows a file, a clock or another room; tokio stands behind `client` only.

pub mod codec;
pub mod limits;

mod event;
mod message;
mod status;

#[cfg(feature = "client")]
pub mod client;

pub use event::{
    ErrorCode, Origin, QueueEntry, Risk, ServerEvent, SessionRef, ToolError, ToolJob, TurnFailure,
    TurnRef, Usage,
};
pub use message::{
    ApprovalId, ClientInfo, ClientMessage, ControlCommand, DecodeError, QueueId, RemoteTools,
    Senders, SessionId, SessionStart, TurnId, VERSION_2_PREFIX,
};
pub use status::{
    Component, ComponentState, DaemonStatus, HeldReply, LogLine, LogPage, PluginInfo, PluginState,
    Refusal,
};

/// The version that this release's own clients speak.
pub const CURRENT_VERSION: u32 = 3;
/// The versions that the server accepts.
pub const SUPPORTED_VERSIONS: [u32; 2] = [2, 3];
