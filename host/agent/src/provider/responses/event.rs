//! One event of the Responses format, read leniently: only what is needed is looked at.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use crate::provider::words::is_something;

/// One event.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Word<'a>,
    #[serde(borrow, default)]
    delta: Word<'a>,
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(borrow, default)]
    item_id: Word<'a>,
    #[serde(default)]
    pub(super) item: Option<Value>,
    #[serde(default)]
    pub(super) response: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// What a chunk of the other format has.
    #[serde(default)]
    choices: Option<IgnoredAny>,
}

/// Text, or something else that is not looked at: events of other kinds use the same names.
#[derive(Debug, Default)]
struct Word<'a>(Option<Cow<'a, str>>);

/// A message or a call of the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a>(pub(super) &'a Value);

impl Event<'_> {
    /// What it is; some gateways say so in the event's name only.
    pub(super) fn kind<'a>(&'a self, name: &'a str) -> &'a str {
        self.kind.0.as_deref().unwrap_or(name)
    }

    pub(super) fn delta(&self) -> &str {
        self.delta.0.as_deref().unwrap_or_default()
    }

    /// An empty id is none.
    pub(super) fn item_id(&self) -> Option<&str> {
        self.item_id.0.as_deref().filter(|id| !id.is_empty())
    }

    /// Whether it reports an error, whatever it says it is.
    pub(super) fn is_error(&self) -> bool {
        self.error.as_ref().is_some_and(is_something)
    }

    /// Whether the server speaks Chat Completions.
    pub(super) const fn is_of_chat(&self) -> bool {
        self.choices.is_some()
    }
}

impl<'a> Item<'a> {
    pub(super) fn is_message(self) -> bool {
        self.text_at("type") == Some("message")
    }

    pub(super) fn is_call(self) -> bool {
        self.text_at("type") == Some("function_call")
    }

    pub(super) fn id(self) -> Option<&'a str> {
        self.text_at("id")
    }

    /// Pairs a call with its output.
    pub(super) fn call_id(self) -> Option<&'a str> {
        self.text_at("call_id")
    }

    pub(super) fn name(self) -> Option<&'a str> {
        self.text_at("name")
    }

    /// A call's arguments as text; an object in its place is that object's text.
    pub(super) fn arguments(self) -> Cow<'a, str> {
        match self.0.get("arguments") {
            None | Some(Value::Null) => Cow::default(),
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(other) => Cow::Owned(other.to_string()),
        }
    }

    /// A message's text, a refusal included.
    pub(super) fn text(self) -> String {
        let content = match self.0.get("content") {
            Some(Value::String(text)) => return text.clone(),
            Some(Value::Array(parts)) => parts.as_slice(),
            _ => &[],
        };
        let text = |part: &'a Value| match part.get("type")?.as_str()? {
            "output_text" | "text" => part.get("text")?.as_str(),
            "refusal" => part.get("refusal")?.as_str(),
            _ => None,
        };
        content.iter().filter_map(text).collect()
    }

    /// Nothing is no text.
    fn text_at(self, key: &str) -> Option<&'a str> {
        self.0.get(key)?.as_str().filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordVisitor)
    }
}

struct WordVisitor;

impl<'de> Visitor<'de> for WordVisitor {
    type Value = Word<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Word(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Word(Some(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Word(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Word(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Word(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Word(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Word(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Word(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Word(None))
    }
}
