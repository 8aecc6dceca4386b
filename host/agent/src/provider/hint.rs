//! How long to wait, as the body of a refusal has it: every gateway says it in its own way.

use std::time::Duration;

use serde_json::Value;

/// Fields that count seconds, or have a unit of their own.
const SECONDS: [&str; 5] =
    ["retry_after", "retryAfter", "retry_after_seconds", "retry-after", "retryDelay"];
const MILLIS: [&str; 3] = ["retry_after_ms", "retryAfterMs", "retry-after-ms"];
/// What stands before a time in words.
const WORDS: [&str; 4] = ["try again in ", "retry in ", "retry after ", "try again after "];

/// The first time that the body names, in a field or in words.
pub(super) fn read(body: &Value) -> Option<Duration> {
    match body {
        Value::Object(fields) => {
            let field = |names: &[&str]| names.iter().find_map(|name| fields.get(*name));
            let millis = field(&MILLIS).and_then(number).map(|millis| millis / 1000.0);
            let named = millis.or_else(|| field(&SECONDS).and_then(seconds));
            let named = named.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            named.or_else(|| fields.values().find_map(read))
        }
        Value::Array(list) => list.iter().find_map(read),
        Value::String(text) => in_words(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn seconds(value: &Value) -> Option<f64> {
    number(value).or_else(|| span(value.as_str()?))
}

fn in_words(text: &str) -> Option<Duration> {
    let text = text.to_ascii_lowercase();
    let after = WORDS.iter().find_map(|words| text.split_once(words))?.1;
    Duration::try_from_secs_f64(span(after)?).ok()
}

/// `20s`, `1.5s`, `120ms`, `6m0s`, `20 seconds`: numbers with units at the start of a text, in
/// seconds.
fn span(text: &str) -> Option<f64> {
    let mut rest = text.trim_start();
    let mut total = None;
    loop {
        let digits = rest.find(|char: char| !char.is_ascii_digit() && char != '.');
        let (digits, after) = rest.split_at(digits.unwrap_or(rest.len()));
        let Ok(count) = digits.parse::<f64>() else {
            return total;
        };
        let after = after.trim_start();
        let unit = after.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let factor = match unit {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return total,
        };
        total = Some(total.unwrap_or(0.0) + count * factor);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_fields_and_words() {
        for (body, millis) in [
            (json!({"retry_after": 3}), Some(3_000)),
            (json!({"error": {"retry_after": "1.5"}}), Some(1_500)),
            (json!({"error": {"retry_after_ms": 250}}), Some(250)),
            (json!({"error": {"details": [{"@type": "x"}, {"retryDelay": "17s"}]}}), Some(17_000)),
            (
                json!({"error": {"message": "Limit reached. Please try again in 20s. Bye"}}),
                Some(20_000),
            ),
            (json!({"error": {"message": "try again in 1.5s"}}), Some(1_500)),
            (json!({"message": "Please try again in 120ms."}), Some(120)),
            (json!({"message": "Please try again in 6m0s."}), Some(360_000)),
            (json!("Retry after 2 seconds"), Some(2_000)),
            (json!({"message": "try again in a moment"}), None),
            (json!({"retry_after": -1}), None),
            (json!({"retry_after": "soon"}), None),
            (json!({"limit": 20, "ok": true, "list": []}), None),
        ] {
            assert_eq!(read(&body), millis.map(Duration::from_millis), "{body}");
        }
    }
}
