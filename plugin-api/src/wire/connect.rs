//! A session: from connect to close.

use std::ops::Not;

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
    /// The wait is over and nothing was heard: no sign of life, and no contact.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub quiet: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_is_written_only_when_it_is_so() {
        let mut batch = Batch { token: "t".into(), ..Batch::default() };
        let heard = r#"{"token":"t","checkpoint":"","messages":[]}"#;
        assert_eq!(serde_json::to_string(&batch).unwrap(), heard);
        assert_eq!(serde_json::from_str::<Batch>(heard).unwrap(), batch);
        batch.quiet = true;
        let quiet = serde_json::to_string(&batch).unwrap();
        assert!(quiet.contains(r#""quiet":true"#), "{quiet}");
        assert_eq!(serde_json::from_str::<Batch>(&quiet).unwrap(), batch);
    }
}
