//! What the model says, and when.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

/// One answer to one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A status with a body; no stream.
    Status {
        /// The HTTP status.
        status: u16,
        /// The body.
        body: String,
        /// The value of `Retry-After`.
        retry_after: Option<String>,
    },
    /// A stream.
    Stream(Vec<Piece>),
    /// The connection is closed without an answer.
    Hangup,
}

/// A part of a stream, in the order of time.
#[derive(Debug, Clone)]
pub enum Piece {
    /// A text delta.
    Text(String),
    /// A whole tool call in one delta.
    ToolCall {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as the model wrote them.
        arguments: String,
    },
    /// The finish reason.
    Finish(&'static str),
    /// Token counts, when the request asked for them.
    Usage {
        /// Tokens of the prompt.
        prompt: u64,
        /// Tokens of the answer.
        completion: u64,
    },
    /// `[DONE]`.
    Done,
    /// These bytes and nothing around them, written by themselves.
    Raw(Bytes),
    /// Nothing until [`Model::release`](super::Model::release) is called once more, or was
    /// called more often than it was waited for.
    Hold,
    /// Nothing for this time.
    Pause(Duration),
    /// The connection is cut here; without it, the body ends properly.
    Cut,
}

impl Answer {
    /// A text in one delta, properly ended.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Stream(vec![Piece::Text(text.into())]).ended("stop")
    }

    /// A tool call, properly ended.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        let (id, name, arguments) = (id.into(), name.into(), arguments.to_string());
        Self::Stream(vec![Piece::ToolCall { id, name, arguments }]).ended("tool_calls")
    }

    /// Bytes as they are, each piece written by itself; the body ends after them.
    pub fn raw<P: Into<Bytes>>(pieces: impl IntoIterator<Item = P>) -> Self {
        Self::Stream(pieces.into_iter().map(|piece| Piece::Raw(piece.into())).collect())
    }

    /// A status with a body.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Status { status, body: body.into(), retry_after: None }
    }

    /// The same, but a stream waits at its beginning until it is released.
    #[must_use]
    pub fn held(self) -> Self {
        match self {
            Self::Stream(pieces) => {
                Self::Stream(std::iter::once(Piece::Hold).chain(pieces).collect())
            }
            other => other,
        }
    }

    fn ended(self, reason: &'static str) -> Self {
        match self {
            Self::Stream(mut pieces) => {
                let usage = Piece::Usage { prompt: 10, completion: 5 };
                pieces.extend([Piece::Finish(reason), usage, Piece::Done]);
                Self::Stream(pieces)
            }
            other => other,
        }
    }
}
