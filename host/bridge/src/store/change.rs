//! The entries of the state and the changes to it, with their JSON forms.

use scv_plugin_api::wire::Secret;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::accounts::sha256_hex;

/// Enough to tell 128 replies apart.
const HELD_ID_DIGITS: usize = 16;

/// A message that is being worked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The platform's id of the message.
    pub message_id: String,
    /// Who wrote it.
    pub to_user_id: String,
    /// The handle that its reply gives back; empty: none.
    #[serde(default)]
    pub context_token: Secret,
    /// The conversation.
    #[serde(default)]
    pub key: String,
    /// Fields of a newer version, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A reply that the platform has not wholly accepted yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The message that it answers; empty: none.
    pub message_id: String,
    /// Who reads it.
    pub to_user_id: String,
    /// The handle of the message that it answers; empty: none.
    #[serde(default)]
    pub context_token: Secret,
    /// The whole text.
    pub reply: String,
    /// One id for each part, the same in every retry.
    #[serde(default)]
    pub client_ids: Vec<String>,
    /// The first part that is not accepted yet.
    #[serde(default)]
    pub next_chunk: usize,
    /// The conversation.
    #[serde(default)]
    pub key: String,
    /// Held replies inside it, given back when it is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Held>,
    /// The answer without what it carries.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub own: String,
    /// Never held when refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// Fields of a newer version, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Pending {
    /// A message to a person that answers nothing, still without ids for its parts.
    pub fn unprompted(user: String, text: String) -> Self {
        Self {
            message_id: String::new(),
            key: user.clone(),
            to_user_id: user,
            context_token: Secret::default(),
            reply: text,
            client_ids: Vec::new(),
            next_chunk: 0,
            carried: Vec::new(),
            own: String::new(),
            transient: false,
            extra: Map::new(),
        }
    }

    /// Names this reply in changes: its first client id.
    pub fn id(&self) -> &str {
        self.client_ids.first().unwrap_or(&self.message_id)
    }
}

/// A reply that the platform refused, kept for the next one in its conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The conversation.
    #[serde(default)]
    pub key: String,
    /// Who reads it.
    pub to_user_id: String,
    /// The text that was not accepted.
    pub reply: String,
    /// When it was refused, in Unix seconds.
    pub held_at: u64,
    /// Fields of a newer version, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Held {
    /// Names this reply for people: the same over restarts, and telling nothing of the text.
    pub fn id(&self) -> String {
        let named = format!("{}\0{}\0{}", self.key, self.held_at, self.reply);
        sha256_hex(named.as_bytes())[..HELD_ID_DIGITS].to_owned()
    }
}

/// One change of the state: a line of the journal's lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The plugin's new checkpoint.
    Cursor(String),
    /// These messages are handled; ids that are known move to the newest end.
    Seen(Vec<String>),
    /// A second de-duplication key, and when it was first seen in Unix milliseconds.
    Key(String, u64),
    /// A message will be worked on.
    Claim(Claim),
    /// A reply is ready. It takes the place of the claim on its message, if there is one; what
    /// it carries leaves the held ones.
    Reply(Pending),
    /// More ids for a reply that has more parts than an older release thought.
    Ids(String, Vec<String>),
    /// The first part of a reply that is not accepted yet.
    Progress(String, usize),
    /// A reply is wholly accepted; its message is handled.
    Delivered(String),
    /// A reply is refused; its message is handled.
    Hold {
        /// The reply.
        reply: String,
        /// The text to keep; none: nothing is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Now, in Unix seconds.
        held_at: u64,
    },
    /// Held replies from before this moment go, in Unix seconds.
    Expire(u64),
    /// Held replies that a person gives up, by [`Held::id`].
    GiveUp(Vec<String>),
}
