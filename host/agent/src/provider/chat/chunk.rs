//! One chunk of a chat completion, read leniently: servers differ, and what is not needed is not
//! looked at.

use std::fmt;

use scv_protocol::Usage;
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::Value;

/// A chunk of a stream, or a whole completion.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
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
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    delta: Option<Delta>,
    /// In place of `delta` in a whole completion.
    #[serde(default)]
    message: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub(super) content: Text,
    #[serde(default)]
    pub(super) refusal: Text,
    #[serde(default)]
    pub(super) reasoning_content: Text,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<Fragment>>,
}

/// A piece of a tool call.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Fragment {
    #[serde(default)]
    pub(super) index: Option<u64>,
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
pub(super) struct Text(pub(super) String);

impl Chunk {
    /// The only answer that was asked for.
    pub(super) fn take_choice(&mut self) -> Option<Choice> {
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
        let number = |names: [&str; 2]| names.iter().find_map(|name| usage.get(name)?.as_u64());
        let usage = Usage {
            input_tokens: number(["prompt_tokens", "input_tokens"]),
            output_tokens: number(["completion_tokens", "output_tokens"]),
        };
        (usage != Usage::default()).then_some(usage)
    }
}

impl Choice {
    pub(super) fn take_delta(&mut self) -> Delta {
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

impl Fragment {
    /// An empty id is none.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| !id.is_empty())
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.function.as_ref()?.name.as_deref().filter(|name| !name.is_empty())
    }

    /// A piece of JSON text; an object in its place is that object's text.
    pub(super) fn arguments(&self) -> String {
        match self.function.as_ref().and_then(|function| function.arguments.as_ref()) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }
}

/// The words in an error of any of the usual shapes.
pub(super) fn error_text(error: &Value) -> String {
    const KEYS: [&str; 5] = ["error", "message", "detail", "error_description", "msg"];
    match error {
        Value::String(text) if !text.trim().is_empty() => text.clone(),
        Value::Array(errors) => errors.first().map_or_else(unexplained, error_text),
        Value::Object(object) => {
            let inner = KEYS.iter().find_map(|key| object.get(*key).filter(|v| is_something(v)));
            inner.map_or_else(unexplained, error_text)
        }
        _ => unexplained(),
    }
}

fn unexplained() -> String {
    "the server reported an error without words".to_owned()
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, null or a list of parts")
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Value>()? {
            // Parts of other types are thoughts, pictures, sources.
            let is_text = part.get("type").is_none_or(|kind| kind == "text");
            let piece = part.as_str().or_else(|| part.get("text")?.as_str());
            text.push_str(piece.filter(|_| is_text).unwrap_or_default());
        }
        Ok(Text(text))
    }
}
