//! The two wire formats, as far as the simulator must tell them apart.

use serde::Deserialize;
use serde_json::Value;

use super::answer::Piece;
use super::{chat, responses};
use crate::request::Request;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Chat,
    Responses,
}

/// What a request asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// The text of the last user message.
    pub(super) prompt: String,
    /// The last message is a tool's result, with this text: the turn goes on.
    pub(super) tool_result: Option<String>,
}

/// What of a request shows in the frames of its answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Manner {
    pub(super) model: String,
    pub(super) stream_options: StreamOptions,
}

/// A field of Chat Completions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}

/// A model in the middle of an answer.
pub(super) enum Speaker {
    Chat(Manner),
    Responses(responses::Speaker),
}

impl Dialect {
    /// The format of a request, by its path.
    pub(super) fn of(request: &Request) -> Option<Self> {
        match request.path.as_str() {
            _ if request.method != "POST" => None,
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/responses" => Some(Self::Responses),
            _ => None,
        }
    }

    pub(super) fn asked(self, body: &Value) -> Asked {
        match self {
            Self::Chat => chat::asked(body),
            Self::Responses => responses::asked(body),
        }
    }

    /// What strict servers would refuse.
    pub(super) fn faults(self, request: &Request, body: &Value) -> Vec<String> {
        let json = request.header("content-type");
        let json = json.is_some_and(|kind| kind.starts_with("application/json"));
        let model = body["model"].as_str().is_some_and(|text| !text.is_empty());
        let common = [
            ("Content-Type is not application/json", json),
            ("model is missing", model),
            ("stream is not true", body["stream"] == true),
            ("tools is an empty list", !body["tools"].as_array().is_some_and(Vec::is_empty)),
        ];
        let own = match self {
            Self::Chat => chat::checks(body),
            Self::Responses => responses::checks(body),
        };
        let broken = common.into_iter().chain(own).filter(|(_, right)| !right);
        broken.map(|(fault, _)| fault.to_owned()).collect()
    }
}

impl Speaker {
    /// One that answers a request with this body.
    pub(super) fn new(dialect: Dialect, body: &[u8]) -> Self {
        let manner: Manner = serde_json::from_slice(body).unwrap_or_default();
        match dialect {
            Dialect::Chat => Self::Chat(manner),
            Dialect::Responses => Self::Responses(responses::Speaker::new(manner.model)),
        }
    }

    /// The server-sent events of a piece; none for what is no event.
    pub(super) fn frame(&mut self, piece: &Piece) -> Option<String> {
        match self {
            Self::Chat(manner) => chat::frame(piece, manner),
            Self::Responses(speaker) => speaker.frame(piece),
        }
    }
}
