//! What the server sends.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalId, ClientInfo, DaemonStatus, QueueId, SessionId, TurnId};

/// Where an event of a turn belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnRef {
    /// The request that began the turn.
    pub request_id: String,
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The session's counter: each event is one more than the last.
    pub seq: u64,
}

/// Where an event of a session belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionRef {
    /// The request that this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The session.
    pub session_id: SessionId,
    /// The session's counter: each event is one more than the last.
    pub seq: u64,
}

/// One line from the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum ServerEvent {
    /// Answers `initialize`.
    #[serde(rename = "initialized")]
    Initialized {
        /// Echoed.
        request_id: String,
        /// The version that this connection speaks from now on.
        protocol_version: u32,
        /// The server's name and version.
        server: ClientInfo,
    },
    /// Answers `daemon.control`.
    #[serde(rename = "daemon.status")]
    DaemonStatus {
        /// Echoed.
        request_id: String,
        /// Live health.
        status: DaemonStatus,
    },
    /// Answers `session.start`.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// Echoed.
        request_id: String,
        /// The session.
        session_id: SessionId,
        /// The canonical folder.
        cwd: PathBuf,
        /// The model that answers.
        model: String,
        /// The context's size in tokens.
        context_max_tokens: u64,
        /// The largest frame that this server sends.
        max_server_frame_bytes: usize,
        /// Advice for the client's transcript.
        max_transcript_bytes: usize,
        /// Advice for the client's transcript.
        max_transcript_items: usize,
        /// Advice for the client's prompt history.
        max_prompt_history_bytes: usize,
        /// Advice for the client's prompt history.
        max_prompt_history_items: usize,
    },
    /// The queue, at the start of a session.
    #[serde(rename = "queue.snapshot")]
    QueueSnapshot {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
        /// First is next.
        entries: Vec<QueueEntry>,
    },
    /// A prompt was queued.
    #[serde(rename = "queue.enqueued")]
    QueueEnqueued {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
        /// The entry.
        entry: QueueEntry,
        /// Its place, from 0.
        position: usize,
    },
    /// A queued prompt changed.
    #[serde(rename = "queue.updated")]
    QueueUpdated {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
        /// The entry as it is now.
        entry: QueueEntry,
    },
    /// A queued prompt moved.
    #[serde(rename = "queue.moved")]
    QueueMoved {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
        /// The entry as it is now.
        entry: QueueEntry,
        /// Its place, from 0.
        position: usize,
    },
    /// A queued prompt was dropped.
    #[serde(rename = "queue.removed")]
    QueueRemoved {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
        /// The entry.
        queue_id: QueueId,
    },
    /// A queued prompt starts now.
    #[serde(rename = "queue.dequeued")]
    QueueDequeued {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
        /// The entry.
        queue_id: QueueId,
    },
    /// Answers `session.pause`.
    #[serde(rename = "session.paused")]
    SessionPaused {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
        /// Whether queued prompts wait.
        paused: bool,
    },
    /// Answers `session.clear`.
    #[serde(rename = "session.cleared")]
    SessionCleared {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
    },
    /// Old messages left the session's history.
    #[serde(rename = "session.trimmed")]
    SessionTrimmed {
        /// Where it belongs.
        #[serde(flatten)]
        at: SessionRef,
        /// How many.
        removed_messages: u64,
        /// What is left.
        history_bytes: u64,
    },
    /// A turn begins.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// For a turn that the server began by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// More text; append only.
    #[serde(rename = "assistant.delta")]
    AssistantDelta {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// The text.
        content: String,
    },
    /// The whole message of one response; empty when it only calls tools.
    #[serde(rename = "assistant.completed")]
    AssistantCompleted {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// The text, which the session remembers, too: a long one is there once.
        content: Arc<String>,
    },
    /// The model wants a tool.
    #[serde(rename = "tool.proposed")]
    ToolProposed {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A person must decide.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// Answered by `approval.resolve`.
        approval_id: ApprovalId,
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// What it could do.
        risk: Risk,
        /// Where it would run.
        cwd: PathBuf,
        /// One line for people.
        summary: String,
    },
    /// A tool runs.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
    },
    /// What a tool is doing; version 3 only.
    #[serde(rename = "tool.progress")]
    ToolProgress {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// The call.
        call_id: String,
        /// At most 512 bytes.
        text: String,
    },
    /// A tool ended, or did not run.
    #[serde(rename = "tool.completed")]
    ToolCompleted {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// Whether it did what was asked.
        success: bool,
        /// What the model reads.
        output: String,
        /// Whether the output was cut.
        truncated: bool,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolError>,
        /// Background jobs that it began or reports.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        jobs: Vec<ToolJob>,
    },
    /// Old messages of the request were summed up.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// Before.
        before_tokens: u64,
        /// After.
        after_tokens: u64,
        /// How many messages went.
        removed_messages: u64,
    },
    /// The turn ended well.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// Requests to the model.
        steps: u32,
        /// Absent when the provider reports nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// For a turn that the server began by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// The turn was cancelled.
    #[serde(rename = "turn.cancelled")]
    TurnCancelled {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// For a turn that the server began by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// The turn failed.
    #[serde(rename = "turn.failed")]
    TurnFailed {
        /// Where it belongs.
        #[serde(flatten)]
        at: TurnRef,
        /// The stable code.
        code: TurnFailure,
        /// For people; no secret.
        message: String,
        /// For a turn that the server began by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// A request failed.
    #[serde(rename = "error")]
    Error {
        /// Echoed when it could be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// The stable code.
        code: ErrorCode,
        /// For people; no secret.
        message: String,
        /// Whether the connection closes.
        fatal: bool,
        /// With `queue_conflict`: the entry as it is now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry: Option<QueueEntry>,
    },
    /// An event of a newer server; clients skip it.
    #[serde(other, skip_serializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

impl ServerEvent {
    /// An error that leaves the connection open.
    pub fn error(request_id: Option<String>, code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Error { request_id, code, message: message.into(), fatal: false, entry: None }
    }

    /// Whether this is one of the three events that end a turn.
    pub const fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::TurnCompleted { .. } | Self::TurnCancelled { .. } | Self::TurnFailed { .. }
        )
    }

    /// Whether version 2 clients know this event.
    pub const fn in_version_2(&self) -> bool {
        !matches!(self, Self::ToolProgress { .. } | Self::Unknown)
    }
}

/// An entry of a session's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueEntry {
    /// The entry.
    pub queue_id: QueueId,
    /// Grows with each change.
    pub revision: u64,
    /// The text.
    pub prompt: String,
    /// The `request_id` of its `turn.start`.
    pub submitter: String,
}

/// Why the server began a turn by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// Background jobs have ended.
    Background {
        /// At most 4.
        jobs: Vec<String>,
    },
    /// A reason of a newer server.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

/// A background job of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolJob {
    /// The job.
    pub job: String,
    /// The tool that began it.
    pub tool: String,
    /// How it is.
    pub status: String,
}

/// What a tool call could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Reads inside the workspace.
    ReadOnly,
    /// Changes files, or reads secret-like ones.
    Filesystem,
    /// Runs a program.
    Process,
    /// Hands work to another agent.
    Delegate,
    /// Reaches the network.
    Network,
    /// A risk of a newer server.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

/// Why a tool call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolError {
    /// Nobody approved it.
    Denied,
    /// The turn was cancelled.
    Cancelled,
    /// The arguments are of another shape.
    InvalidArguments,
    /// The tool cannot run here.
    Unavailable,
    /// A limit was reached.
    Limit,
    /// There is no such tool.
    UnknownTool,
    /// It ran and failed.
    Failed,
    /// A reason of a newer server.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

/// Why a turn failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnFailure {
    /// The provider failed.
    ProviderError,
    /// The request does not fit the context.
    ContextLimit,
    /// Too many requests in one turn.
    StepLimit,
    /// The history is full.
    HistoryLimit,
    /// A response is too large.
    ResponseLimit,
    /// Too many tool calls, or their arguments are too large.
    ToolLimit,
    /// A fault of the server.
    InternalError,
    /// A code of a newer server.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The line is no JSON object.
    InvalidJson,
    /// Something came before `initialize`.
    NotInitialized,
    /// The version is not served; the connection closes.
    VersionMismatch,
    /// A message or a field is wrong.
    InvalidRequest,
    /// No such session on this connection.
    SessionNotFound,
    /// The session is busy.
    TurnActive,
    /// No such turn is running.
    TurnNotFound,
    /// No such approval is open.
    ApprovalNotFound,
    /// No such entry is queued.
    QueueNotFound,
    /// The entry has changed.
    QueueConflict,
    /// The queue is full.
    QueueLimit,
    /// Not served here.
    Unsupported,
    /// An account or a plugin failed.
    ComponentError,
    /// A fault of the server.
    InternalError,
    /// A code of a newer server.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

/// Tokens as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Read by the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Written by the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}
