//! One JSON object, read field by field.
//!
//! Nothing here fails: a field that is absent, null or of another type than asked for is not
//! there, so one odd value never spoils its neighbours. A value keeps its own text until it is
//! asked for: ids above 2^53 stay exact, and a value that no parser takes (a lone surrogate,
//! `1e999`) harms only those who ask for it.

use std::collections::HashMap;

use scv_plugin_api::limits::MAX_MESSAGE_ID_BYTES;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One JSON object.
pub(crate) struct Fields<'a>(HashMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Reads an object; none when `json` is anything else.
    pub(crate) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok().map(Self)
    }

    fn get<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.json(name)?).ok()
    }

    /// A string, also an empty one.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)
    }

    /// A string of 1 to `max_bytes` bytes.
    pub(crate) fn filled(&self, name: &str, max_bytes: usize) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty() && text.len() <= max_bytes)
    }

    /// An integer.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)
    }

    /// An integer without a sign; times and sizes are 0 when they are not set.
    pub(crate) fn unsigned(&self, name: &str) -> Option<u64> {
        self.get(name)
    }

    /// An id in either form that the platform uses, exact. 0 and an empty text mean none.
    pub(crate) fn id(&self, name: &str) -> Option<String> {
        let id = match self.unsigned(name) {
            Some(number) => number.to_string(),
            None => self.filled(name, MAX_MESSAGE_ID_BYTES)?,
        };
        (id != "0").then_some(id)
    }

    /// The value's own text.
    pub(crate) fn json(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.get())
    }

    /// An object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        Self::parse(self.json(name)?)
    }

    /// The JSON text of each element of an array.
    pub(crate) fn array(&self, name: &str) -> Option<Vec<&'a str>> {
        let elements: Vec<&'a RawValue> = self.get(name)?;
        Some(elements.into_iter().map(RawValue::get).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_exact_in_both_forms() {
        for (json, want) in [
            ("9007199254740993", Some("9007199254740993")),
            ("18446744073709551615", Some("18446744073709551615")),
            (r#""7492913259736648969""#, Some("7492913259736648969")),
            (r#""msg-a""#, Some("msg-a")),
            ("0", None),
            (r#""0""#, None),
            (r#""""#, None),
            ("18446744073709551616", None),
            ("-1", None),
            ("1.5", None),
            ("1e3", None),
            ("[]", None),
            ("null", None),
        ] {
            let json = format!(r#"{{"id":{json}}}"#);
            let fields = Fields::parse(&json).expect("an object");
            assert_eq!(fields.id("id").as_deref(), want, "{json}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(MAX_MESSAGE_ID_BYTES + 1));
        assert_eq!(Fields::parse(&long).expect("an object").id("id"), None);
    }

    #[test]
    fn an_odd_value_spoils_only_itself() {
        let json = r#"{"a":"\ud800","b":1e999,"c":{"d":[[[]]]},"e":"fine","f":[1,"x",null]}"#;
        let fields = Fields::parse(json).expect("an object");
        assert_eq!(fields.text("a"), None);
        assert_eq!(fields.unsigned("b"), None);
        assert!(fields.object("c").is_some());
        assert_eq!(fields.text("e").as_deref(), Some("fine"));
        assert_eq!(fields.array("f"), Some(vec!["1", "\"x\"", "null"]));
    }

    #[test]
    fn only_objects_are_read() {
        for json in ["null", "7", "[]", "\"x\"", "", "{", "{\"a\":}"] {
            assert!(Fields::parse(json).is_none(), "{json}");
        }
    }
}
