//! What clients send.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{ErrorCode, SUPPORTED_VERSIONS};

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps an id as it stands on the wire.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as it stands on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id_type!(
    /// A session; made by the server.
    SessionId
);
id_type!(
    /// A turn; made by the server.
    TurnId
);
id_type!(
    /// An approval request; made by the server, never used again.
    ApprovalId
);
id_type!(
    /// An entry of a session's queue; made by the server.
    QueueId
);

/// Who is connecting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// One line from a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum ClientMessage {
    /// The handshake, before anything else.
    #[serde(rename = "initialize")]
    Initialize {
        /// Echoed in the answer.
        request_id: String,
        /// 2 or 3.
        protocol_version: u32,
        /// Who is connecting.
        client: ClientInfo,
    },
    /// Manages the daemon; sockets only.
    #[serde(rename = "daemon.control")]
    DaemonControl {
        /// Echoed in the answer.
        request_id: String,
        /// What to do.
        command: ControlCommand,
    },
    /// Opens this connection's session.
    #[serde(rename = "session.start")]
    SessionStart(SessionStart),
    /// Starts a turn, or queues its prompt behind the running one.
    #[serde(rename = "turn.start")]
    TurnStart {
        /// Echoed in the turn's events.
        request_id: String,
        /// The session.
        session_id: SessionId,
        /// At most 256 KiB.
        prompt: String,
    },
    /// Ends the running turn.
    #[serde(rename = "turn.cancel")]
    TurnCancel {
        /// Echoed in an error.
        request_id: String,
        /// The session.
        session_id: SessionId,
        /// The turn.
        turn_id: TurnId,
    },
    /// Answers an approval request.
    #[serde(rename = "approval.resolve")]
    ApprovalResolve {
        /// Echoed in an error.
        request_id: String,
        /// The session.
        session_id: SessionId,
        /// Which request.
        approval_id: ApprovalId,
        /// Whether the call may run.
        approved: bool,
    },
    /// Changes a queued prompt.
    #[serde(rename = "queue.update")]
    QueueUpdate {
        /// Echoed in the answer.
        request_id: String,
        /// The session.
        session_id: SessionId,
        /// The entry.
        queue_id: QueueId,
        /// The revision that the client knows.
        revision: u64,
        /// The new text.
        prompt: String,
    },
    /// Moves a queued prompt.
    #[serde(rename = "queue.move")]
    QueueMove {
        /// Echoed in the answer.
        request_id: String,
        /// The session.
        session_id: SessionId,
        /// The entry.
        queue_id: QueueId,
        /// The revision that the client knows.
        revision: u64,
        /// The entry it goes before; null: the end.
        #[serde(default)]
        before_queue_id: Option<QueueId>,
    },
    /// Drops a queued prompt.
    #[serde(rename = "queue.remove")]
    QueueRemove {
        /// Echoed in the answer.
        request_id: String,
        /// The session.
        session_id: SessionId,
        /// The entry.
        queue_id: QueueId,
        /// The revision that the client knows.
        revision: u64,
    },
    /// Stops or resumes starting queued prompts.
    #[serde(rename = "session.pause")]
    SessionPause {
        /// Echoed in the answer.
        request_id: String,
        /// The session.
        session_id: SessionId,
        /// Whether to stop.
        paused: bool,
    },
    /// Forgets the session's history and queue.
    #[serde(rename = "session.clear")]
    SessionClear {
        /// Echoed in the answer.
        request_id: String,
        /// The session.
        session_id: SessionId,
    },
    /// Reserved.
    #[serde(rename = "session.attach")]
    SessionAttach {
        /// Echoed in the answer.
        request_id: String,
    },
}

/// Opens a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionStart {
    /// Echoed in the answer.
    pub request_id: String,
    /// An existing folder, absolute.
    pub cwd: PathBuf,
    /// A provider of the configuration, for this session only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// A model, for this session only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// An API base URL, for this session only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Offers no tool at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_tools: bool,
}

/// What a `daemon.control` does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ControlCommand {
    /// Reads live health.
    Status,
    /// Reconciles accounts and plugins now.
    Reload,
    /// Enables, disables or changes an account.
    ChannelSet {
        /// The channel's id or alias.
        channel: String,
        /// The account.
        account: String,
        /// Whether it runs.
        enabled: bool,
        /// An absolute folder; null or absent keeps what is saved.
        #[serde(default)]
        workspace: Option<PathBuf>,
        /// Absent keeps what is saved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote_tools: Option<RemoteTools>,
        /// Absent keeps what is saved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        senders: Option<Senders>,
    },
    /// Stops an account and removes what is saved of it.
    ChannelLogout {
        /// The channel's id or alias.
        channel: String,
        /// The account.
        account: String,
    },
    /// Lists the refused replies that are kept, after dropping some of them.
    ChannelHeld {
        /// The channel's id or alias.
        channel: String,
        /// The account.
        account: String,
        /// With their texts.
        #[serde(default)]
        show: bool,
        /// Ids of replies to give up; all of them must be there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        drop: Vec<String>,
    },
    /// Sends a message that answers nothing to the account's owner. Answered once the message
    /// is stored; it goes out like a reply.
    ChannelSend {
        /// The channel's id or alias.
        channel: String,
        /// The account.
        account: String,
        /// 1 byte to 64 KiB.
        text: String,
    },
    /// Version 2's spelling of `channel_set` for the WeChat channel.
    ClawbotSet {
        /// The account.
        account: String,
        /// Whether it runs.
        enabled: bool,
        /// An absolute folder; null or absent keeps what is saved.
        #[serde(default)]
        workspace: Option<PathBuf>,
        /// Absent keeps what is saved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote_tools: Option<RemoteTools>,
    },
    /// Version 2's spelling of `channel_logout` for the WeChat channel.
    ClawbotLogout {
        /// The account.
        account: String,
    },
    /// Lists plugins.
    Plugins,
    /// Reads the log lines that the daemon keeps in memory.
    Logs {
        /// Lines after this number.
        #[serde(default)]
        after: u64,
        /// At most this many.
        #[serde(default)]
        limit: Option<u32>,
        /// Of one plugin only.
        #[serde(default)]
        plugin: Option<String>,
    },
    /// Lists delegated jobs.
    Delegations {
        /// Finished ones, too.
        #[serde(default)]
        all: bool,
    },
    /// Ends delegated jobs.
    DelegationKill {
        /// One job.
        #[serde(default)]
        handle: Option<String>,
        /// Those without an owner.
        #[serde(default)]
        orphans: bool,
    },
}

/// How version 2 calls the accounts of the one channel that it knows: in its two commands, and
/// in the ids of their components.
pub const VERSION_2_PREFIX: &str = "clawbot";

impl ControlCommand {
    /// Version 3's spelling of the same command. `channel_of` names the channel that version 2
    /// calls by the given prefix; without such a channel there is no such command.
    pub fn into_version_3(self, channel_of: impl FnOnce(&str) -> Option<String>) -> Option<Self> {
        let channel = match &self {
            Self::ClawbotSet { .. } | Self::ClawbotLogout { .. } => channel_of(VERSION_2_PREFIX)?,
            _ => return Some(self),
        };
        Some(match self {
            Self::ClawbotSet { account, enabled, workspace, remote_tools } => Self::ChannelSet {
                channel,
                account,
                enabled,
                workspace,
                remote_tools,
                senders: None,
            },
            Self::ClawbotLogout { account } => Self::ChannelLogout { channel, account },
            other => other,
        })
    }
}

/// Who may use tools through a chat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RemoteTools {
    /// Nobody.
    #[default]
    None,
    /// The account's known owner, in a direct chat.
    Owner,
}

impl fmt::Display for RemoteTools {
    /// The word on the wire.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Who is answered in a chat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Senders {
    /// Everyone, without tools.
    #[default]
    Everyone,
    /// The account's known owner only.
    Owner,
}

/// Why a line is no message, with the request id where one can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DecodeError {
    /// `invalid_json`, `invalid_request` or `version_mismatch`.
    pub code: ErrorCode,
    /// Echoed when it can be read.
    pub request_id: Option<String>,
    /// What is wrong, without the line's content.
    pub message: String,
}

impl ClientMessage {
    /// Decodes one line.
    ///
    /// # Errors
    /// `invalid_json` when the line is no JSON object, `version_mismatch` for an `initialize` of
    /// a version that is not served, whatever else is in it, and `invalid_request` when its type
    /// is unknown or a field is missing or of another shape.
    pub fn decode(line: &[u8]) -> Result<Self, DecodeError> {
        let Ok(Value::Object(object)) = serde_json::from_slice(line) else {
            return Err(DecodeError {
                code: ErrorCode::InvalidJson,
                request_id: None,
                message: "the line is not a JSON object; send one object a line".into(),
            });
        };
        let request_id = object.get("request_id").and_then(Value::as_str).map(str::to_owned);
        Self::read(object).map_err(|(code, message)| DecodeError { code, request_id, message })
    }

    /// Looks at the bare JSON first: serde would also take a variant's number for its name, and
    /// a version of another shape for a mere mistake.
    fn read(object: Map<String, Value>) -> Result<Self, (ErrorCode, String)> {
        let invalid = |message: String| (ErrorCode::InvalidRequest, message);
        let kind = tag::<Self>(&object, "type").map_err(invalid)?.to_owned();
        if kind == "initialize" && !names_a_served_version(&object) {
            let [oldest, newest] = SUPPORTED_VERSIONS;
            let message = format!(
                "this server speaks the protocol versions {oldest} and {newest} only; update the older side"
            );
            return Err((ErrorCode::VersionMismatch, message));
        }
        if let Some(Value::Object(command)) = object.get("command") {
            tag::<ControlCommand>(command, "action").map_err(invalid)?;
        }
        serde_json::from_value(Value::Object(object))
            .map_err(|error| invalid(format!("{kind}: {}", problem(&error))))
    }

    /// The request id, echoed in answers.
    pub fn request_id(&self) -> &str {
        match self {
            Self::SessionStart(start) => &start.request_id,
            Self::Initialize { request_id, .. }
            | Self::DaemonControl { request_id, .. }
            | Self::TurnStart { request_id, .. }
            | Self::TurnCancel { request_id, .. }
            | Self::ApprovalResolve { request_id, .. }
            | Self::QueueUpdate { request_id, .. }
            | Self::QueueMove { request_id, .. }
            | Self::QueueRemove { request_id, .. }
            | Self::SessionPause { request_id, .. }
            | Self::SessionClear { request_id, .. }
            | Self::SessionAttach { request_id } => request_id,
        }
    }
}

fn names_a_served_version(initialize: &Map<String, Value>) -> bool {
    let version = initialize.get("protocol_version").and_then(Value::as_u64);
    version.is_some_and(|version| SUPPORTED_VERSIONS.map(u64::from).contains(&version))
}

/// The name under a tag, when the tagged type has a variant of this name.
fn tag<'a, T: DeserializeOwned>(
    object: &'a Map<String, Value>,
    tag: &str,
) -> Result<&'a str, String> {
    let Some(name) = object.get(tag).and_then(Value::as_str) else {
        return Err(format!("there is no \"{tag}\"; see docs/protocol.md for those served"));
    };
    // A tag alone is no message, but only an unknown one makes serde speak of variants.
    match serde_json::from_value::<T>(json!({ tag: name })) {
        Err(error) if error.to_string().starts_with("unknown variant") => {
            Err(format!("the \"{tag}\" is unknown; see docs/protocol.md for those served"))
        }
        _ => Ok(name),
    }
}

/// serde's text for a missing field names the field; its other texts quote the value.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.starts_with("missing field") {
        return text;
    }
    "a field has a value of another kind than this message takes".to_owned()
}
