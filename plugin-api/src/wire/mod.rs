//! The documents that cross the boundary.
//!
//! Each is one line of compact JSON, always an object, then nothing, or LF and a raw body
//! (no document of 1.0 has one; both sides accept and ignore it). The rules that keep old
//! plugins alive: unknown fields are ignored, new fields have a default, every enum has an
//! `Unknown` with a defined meaning, and a meaning never changes.

mod check;
mod connect;
mod create;
mod fault;
mod inbound;
mod login;
mod manifest;
mod outgoing;
mod secret;

pub use check::is_name;
pub use connect::{Batch, CloseReply, ConnectRequest, NextBatchRequest, ShutdownReply};
pub use create::{CreateConfig, HostInfo, Identity, InspectRequest, NetworkConfig};
pub use fault::{Fault, FaultKind};
pub use inbound::{Conversation, Inbound, InboundKind, Media, Quote, QuoteAuthor};
pub use login::{
    LoginEvent, LoginEventBody, LoginReply, LoginRequest, LoginResult, PromptAnswer, PromptKind,
};
pub use manifest::{
    BuiltWith, ChannelManifest, Legacy, LoginOption, Manifest, MessageLimits, OptionKind, Relogin,
    Replay, Setting, Unprompted,
};
pub use outgoing::{Outgoing, Recipient, ReplyTo, Scope, SendOutcome};
pub use secret::Secret;

use serde::{Serialize, de::DeserializeOwned};

use crate::limits::MAX_DOCUMENT_BYTES;

/// Encodes a document: one line of compact JSON without a body.
///
/// # Errors
/// [`FaultKind::Protocol`] when the document is larger than [`MAX_DOCUMENT_BYTES`].
pub fn encode<T: Serialize>(document: &T) -> Result<Vec<u8>, Fault> {
    let bytes = serde_json::to_vec(document)
        .map_err(|_| Fault::protocol("a document could not be written as JSON"))?;
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return Err(Fault::protocol("a document is larger than 1 MiB"));
    }
    Ok(bytes)
}

/// Decodes a document and ignores a body after the first LF.
///
/// # Errors
/// [`FaultKind::Protocol`] when it is too large, no JSON object, or of another shape. The text
/// names the document and the place, never its content.
pub fn decode<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T, Fault> {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if line.len() > MAX_DOCUMENT_BYTES || bytes.len() > 2 * MAX_DOCUMENT_BYTES {
        return Err(Fault::protocol(format!("{what}: larger than 1 MiB")));
    }
    if line.first() != Some(&b'{') {
        return Err(Fault::protocol(format!("{what}: not a JSON object")));
    }
    // serde_json alone lets a value pass that it has no field for.
    let line =
        std::str::from_utf8(line).map_err(|_| Fault::protocol(format!("{what}: not UTF-8")))?;
    serde_json::from_str(line).map_err(|error| {
        // serde_json's own text may quote the content, which may be a secret.
        let place = format!("line {} column {}", error.line(), error.column());
        Fault::protocol(format!("{what}: not of the expected shape at {place}"))
    })
}
