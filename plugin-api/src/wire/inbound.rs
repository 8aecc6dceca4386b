//! Messages that come in.

use serde::{Deserialize, Serialize};

use super::Secret;

/// One message from the platform.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    /// The platform's id, exact, at most 256 bytes.
    pub id: String,
    /// What it is.
    #[serde(default)]
    pub kind: InboundKind,
    /// Where it was written.
    #[serde(default)]
    pub conversation: Conversation,
    /// Who wrote it; text without a sender is ignored.
    #[serde(default)]
    pub sender: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    /// What the sender wrote, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the sender quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// The text is a transcript of a voice message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spoken: bool,
    /// Files and pictures that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Gives the reply its place; at most 4 KiB, still good after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_token: Option<Secret>,
    /// Equal for two deliveries of one message even when their ids differ; at most 128 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_key: Option<String>,
    /// When it was written, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at_ms: Option<u64>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboundKind {
    /// Text for the agent.
    Text,
    /// Something a person sent that cannot be read here: one short notice, no turn.
    Unreadable,
    /// Only marked seen. Kinds of a newer version read as this.
    #[default]
    #[serde(other)]
    Ignored,
}

/// Where a message was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The platform's id of the conversation; the sender for a direct chat.
    #[serde(default)]
    pub id: String,
    /// Whether others read along.
    #[serde(default)]
    pub group: bool,
    /// A thread inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

/// What the sender quoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The quoted text.
    pub text: String,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<QuoteAuthor>,
}

/// Who wrote a quoted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuoteAuthor {
    /// This bot.
    Bot,
    /// The sender.
    User,
    /// Somebody else. Values of a newer version read as this.
    #[serde(other)]
    Other,
}

/// A file or a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// `image`, `file`, `audio`, `video` or another word.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What a later operation may fetch it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Secret>,
}
