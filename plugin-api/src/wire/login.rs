//! Signing an account in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Secret;

/// Starts a sign-in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoginRequest {
    /// Names this sign-in in events.
    pub login_id: String,
    /// The channel's id.
    pub channel: String,
    /// What the person typed: the id or one of the aliases.
    pub called_as: String,
    /// The account's name.
    pub account: String,
    /// Values of the manifest's login options; a flag is `"true"`.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// What is saved already.
    #[serde(default)]
    pub saved: Option<Secret<Value>>,
}

/// How a sign-in ended well, on the wire.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoginReply {
    /// The new credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Secret<Value>>,
    /// The saved credentials are still good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// One sentence for the person.
    #[serde(default)]
    pub summary: String,
}

/// How a sign-in ended well.
#[derive(Debug, Clone, PartialEq)]
pub enum LoginResult {
    /// New credentials to save.
    SignedIn {
        /// The credentials document.
        credentials: Secret<Value>,
        /// One sentence for the person.
        summary: String,
    },
    /// Already bound, and what is saved is still good.
    Unchanged {
        /// One sentence for the person.
        summary: String,
    },
}

impl From<LoginResult> for LoginReply {
    fn from(result: LoginResult) -> Self {
        match result {
            LoginResult::SignedIn { credentials, summary } => {
                Self { credentials: Some(credentials), unchanged: false, summary }
            }
            LoginResult::Unchanged { summary } => {
                Self { credentials: None, unchanged: true, summary }
            }
        }
    }
}

/// Something to show or ask during a sign-in: the payload of `RawHost::call("login.event")`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginEvent {
    /// Which sign-in.
    pub login_id: String,
    /// What to show or ask.
    #[serde(flatten)]
    pub body: LoginEventBody,
}

/// What to show or ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LoginEventBody {
    /// A QR code to scan.
    Qr {
        /// What the code holds.
        data: Secret,
        /// How long it is good, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_ms: Option<u64>,
        /// A line above it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A link to open.
    Link {
        /// The link.
        url: Secret,
        /// A line above it.
        #[serde(default)]
        text: String,
    },
    /// A question.
    Prompt {
        /// Names the answer.
        name: String,
        /// The question.
        text: String,
        /// Whether the answer must not be shown.
        #[serde(default)]
        secret: bool,
        /// Free text, or one of the choices.
        #[serde(default)]
        kind: PromptKind,
        /// For [`PromptKind::Choice`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        choices: Vec<String>,
    },
    /// What is going on.
    Progress {
        /// One line.
        text: String,
    },
    /// Something the person should read.
    Notice {
        /// One line.
        text: String,
    },
    /// An event of a newer version: a host shows its `text` if it has one.
    #[serde(other)]
    Unknown,
}

/// What a prompt takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptKind {
    /// Free text.
    #[default]
    Text,
    /// One of the choices.
    Choice,
    /// A kind of a newer version: treated as text.
    #[serde(other)]
    Unknown,
}

/// The host's answer to a prompt. To other events it answers `{}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptAnswer {
    /// What the person typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Secret>,
    /// The person gave up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
}
