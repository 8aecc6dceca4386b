//! The words in an error of a server, whatever its shape.

use serde_json::Value;

/// The words in an error of any of the usual shapes.
pub(super) fn error_text(error: &Value) -> String {
    const KEYS: [&str; 6] = ["error", "message", "detail", "error_description", "msg", "code"];
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

/// For an error that says nothing about itself.
pub(super) fn unexplained() -> String {
    "the server reported an error without words".to_owned()
}

/// Whether a field says anything: servers send empty errors with answers that are none.
pub(super) fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_usual_shape_has_its_words() {
        for error in [
            json!("boom"),
            json!({"message": "boom", "code": "c"}),
            json!({"error": {"message": "boom"}}),
            json!({"error": "boom"}),
            json!([{"error": {"message": "boom"}}]),
            json!({"type": "error", "message": null, "code": "boom"}),
            json!({"detail": [{"msg": "boom"}]}),
        ] {
            assert_eq!(error_text(&error), "boom", "{error}");
        }
        for error in [json!({}), json!(7), json!([]), json!(" ")] {
            assert_eq!(error_text(&error), unexplained(), "{error}");
        }
    }
}
