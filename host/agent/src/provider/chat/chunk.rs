//! One chunk of a chat completion, read leniently: servers differ, and what is not needed is not
//! looked at.

use std::borrow::Cow;

use scv_protocol::Usage;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use serde_json::Value;

use crate::provider::{
    calls, usage,
    words::{error_text, is_something, unexplained},
};

/// A chunk of a stream, or a whole completion.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<Value>,
    /// Where one gateway puts its usage.
    #[serde(default)]
    x_groq: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// `error` in one server's errors.
    #[serde(default)]
    object: Option<Value>,
    #[serde(default, rename = "type")]
    kind: Option<Value>,
    #[serde(default)]
    message: Option<Value>,
    /// What a response of the other format has.
    #[serde(default)]
    output: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    /// In place of `delta` in a whole completion.
    #[serde(borrow, default)]
    message: Option<Delta<'a>>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Text<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Text<'a>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<CallPiece>>,
}

/// A piece of a tool call.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CallPiece {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Debug, Default, Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
}

/// Text, null, or a list of parts of which the text parts count.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'a> Chunk<'a> {
    /// The only answer that was asked for.
    pub(super) fn take_choice(&mut self) -> Option<Choice<'a>> {
        let choices = self.choices.take()?;
        choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0)
    }

    /// What the server says is wrong.
    pub(super) fn error(&self) -> Option<String> {
        if let Some(error) = self.error.as_ref().filter(|error| is_something(error)) {
            return Some(error_text(error));
        }
        let is_error = [&self.object, &self.kind].into_iter().flatten().any(|v| v == "error");
        is_error.then(|| self.message.as_ref().map_or_else(unexplained, error_text))
    }

    /// Whether this only keeps the connection open.
    pub(super) fn is_ping(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind == "ping")
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let elsewhere = || self.x_groq.as_ref()?.get("usage");
        let usage = self.usage.as_ref().filter(|usage| usage.is_object()).or_else(elsewhere)?;
        usage::read(usage)
    }

    /// Whether the server speaks the Responses format.
    pub(super) fn is_of_responses(&self, event_name: &str) -> bool {
        let is_response = |name: &str| name.starts_with("response.");
        self.choices.is_none()
            && (self.output.is_some()
                || is_response(event_name)
                || self.kind.as_ref().and_then(Value::as_str).is_some_and(is_response))
    }
}

impl<'a> Choice<'a> {
    pub(super) fn take_delta(&mut self) -> Delta<'a> {
        self.delta.take().or_else(|| self.message.take()).unwrap_or_default()
    }

    /// Why the answer ends; an empty reason is none.
    pub(super) fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.as_deref().filter(|reason| !reason.is_empty())
    }

    pub(super) fn error(&self) -> Option<String> {
        let error = self.error.as_ref().filter(|error| is_something(error)).map(error_text);
        let is_error = self.finish_reason() == Some("error");
        error.or_else(|| is_error.then(unexplained))
    }
}

impl CallPiece {
    /// An empty id or name is none; an object in place of the arguments' text is that text.
    pub(super) fn fragment(&self) -> calls::Fragment<'_> {
        let function = self.function.as_ref();
        let name = function.and_then(|function| function.name.as_deref());
        let arguments = match function.and_then(|function| function.arguments.as_ref()) {
            None | Some(Value::Null) => Cow::default(),
            Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
            Some(other) => Cow::Owned(other.to_string()),
        };
        calls::Fragment {
            id: self.id.as_deref().filter(|id| !id.is_empty()),
            index: self.index,
            name: name.filter(|name| !name.is_empty()),
            arguments,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("text, null or a list of parts")
    }

    fn visit_unit<E>(self) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text<'de>, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Value>()? {
            // Parts of other types are thoughts, pictures, sources.
            let is_text = part.get("type").is_none_or(|kind| kind == "text");
            let piece = part.as_str().or_else(|| part.get("text")?.as_str());
            text.push_str(piece.filter(|_| is_text).unwrap_or_default());
        }
        Ok(Text(Cow::Owned(text)))
    }
}
