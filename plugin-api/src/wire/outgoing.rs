//! Messages that go out.

use serde::{Deserialize, Serialize};

use super::Secret;

/// One message to send, already split to the channel's `max_message_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    /// Stable over every retry of this text; never used for another text.
    pub client_id: String,
    /// The text.
    #[serde(default)]
    pub text: String,
    /// What it answers; null: nothing (unprompted).
    #[serde(default)]
    pub reply: Option<ReplyTo>,
    /// Who reads it.
    pub recipient: Recipient,
}

/// The message that is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyTo {
    /// Its id.
    pub message_id: String,
    /// Its reply handle.
    #[serde(default)]
    pub reply_token: Option<Secret>,
}

/// Who reads a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipient {
    /// The person.
    pub user: String,
    /// The group it is written in; null: a direct chat.
    #[serde(default)]
    pub group: Option<String>,
}

/// What the platform did with a message. Three tags for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SendOutcome {
    /// The platform took it.
    Accepted {
        /// The platform's id of the message; without one, delivery is unconfirmed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<String>,
    },
    /// Final: the host holds what is not yet accepted.
    Refused {
        /// The platform's code.
        #[serde(default)]
        code: String,
        /// The platform's words, sanitized.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The credentials are no longer good.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        signed_out: bool,
        /// Send nothing else for this long, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause_ms: Option<u64>,
        /// What must wait.
        #[serde(default)]
        scope: Scope,
    },
    /// Try the same `client_id` again.
    Retry {
        /// One sanitized line.
        #[serde(default)]
        reason: String,
        /// Not before this, in milliseconds from now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_ms: Option<u64>,
        /// What must wait.
        #[serde(default)]
        scope: Scope,
    },
}

/// What must wait after a refusal or a retry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Everything in this conversation.
    Conversation,
    /// Everything of this account.
    Account,
    /// This message. Values of a newer version read as this.
    #[default]
    #[serde(other)]
    Message,
}
