//! Why an operation failed.

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_FAULT_CODE_CHARS_COUNT, MAX_FAULT_MESSAGE_CHARS_COUNT};

/// The error half of every operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What the host does about it.
    pub kind: FaultKind,
    /// The platform's own code, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// One sanitized line of at most 200 characters: no secret, no URL with a query, no raw body.
    #[serde(default)]
    pub message: String,
    /// The earliest time for another try, in milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

/// The classes of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Try again later: network, server trouble, rate limits.
    Retry,
    /// The credentials are no longer good; the person must sign in again.
    Auth,
    /// The other side broke the rules of the boundary or of the wire.
    Protocol,
    /// Something that a person set is wrong; trying again cannot help.
    Config,
    /// The operation is unknown.
    Unsupported,
    /// The caller gave up, or the session is over.
    Cancelled,
    /// The plugin's code panicked.
    Panicked,
    /// Anything else.
    Other,
    /// A kind of a newer version: treated as [`FaultKind::Retry`].
    #[serde(other)]
    Unknown,
}

impl Fault {
    /// A fault of this kind with a text, made one line and cut to 200 characters.
    pub fn new(kind: FaultKind, message: impl AsRef<str>) -> Self {
        Self {
            kind,
            code: None,
            message: one_line(message.as_ref(), MAX_FAULT_MESSAGE_CHARS_COUNT),
            after_ms: None,
        }
    }

    /// [`FaultKind::Retry`].
    pub fn retry(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Retry, message)
    }

    /// [`FaultKind::Auth`].
    pub fn auth(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Auth, message)
    }

    /// [`FaultKind::Protocol`].
    pub fn protocol(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Protocol, message)
    }

    /// [`FaultKind::Config`].
    pub fn config(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Config, message)
    }

    /// [`FaultKind::Unsupported`].
    pub fn unsupported(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Unsupported, message)
    }

    /// [`FaultKind::Cancelled`].
    pub fn cancelled(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Cancelled, message)
    }

    /// [`FaultKind::Other`].
    pub fn other(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Other, message)
    }

    /// The same fault with its words made one line each and cut to their limits.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.message = one_line(&self.message, MAX_FAULT_MESSAGE_CHARS_COUNT);
        self.code = self.code.map(|code| one_line(&code, MAX_FAULT_CODE_CHARS_COUNT));
        self
    }

    /// The same fault with the platform's code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

/// Makes text one line without control characters, of at most `limit` characters.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(limit).collect()
}
