//! A session: from connect to close.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Inbound, Secret};

/// Starts a session of one account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectRequest {
    /// New for each connect, unique in the daemon's life.
    pub session_id: String,
    /// The channel's id.
    pub channel: String,
    /// The account's name.
    pub account: String,
    /// The credentials document.
    pub credentials: Secret<Value>,
    /// The last durable checkpoint; null: none yet.
    #[serde(default)]
    pub checkpoint: Option<String>,
}

/// Asks for what arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextBatchRequest {
    /// The token of the last batch returned, now durable; null before the first.
    #[serde(default)]
    pub ack: Option<String>,
}

/// What arrived; empty when nothing did and nothing is known to be wrong.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Names this batch in the next request.
    pub token: String,
    /// Where to go on after it; an empty one never replaces one that is not.
    #[serde(default)]
    pub checkpoint: String,
    /// At most 256 messages.
    #[serde(default)]
    pub messages: Vec<Inbound>,
}

/// How a session closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseReply {
    /// Tasks of the session that did not end; more than none: the plugin is wedged.
    #[serde(default)]
    pub tasks_left: u32,
}

/// How a plugin shut down.
pub type ShutdownReply = CloseReply;
