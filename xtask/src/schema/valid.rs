//! As much of JSON Schema as the protocol's schemas use; a word that is not known here fails.

use serde_json::Value;

/// Words that say nothing about validity.
const SILENT: [&str; 7] =
    ["$schema", "title", "description", "default", "format", "$defs", "minimum"];

/// Why a value is not valid; none when it is.
pub(super) fn fault(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let words = match schema {
        Value::Bool(true) => return None,
        Value::Object(words) => words,
        other => return Some(format!("no schema: {other}")),
    };
    words.iter().find_map(|(word, rule)| one(root, word, rule, value))
}

fn one(root: &Value, word: &str, rule: &Value, value: &Value) -> Option<String> {
    let list = || rule.as_array().map(Vec::as_slice).unwrap_or_default();
    let valid = |schema: &&Value| fault(root, schema, value).is_none();
    let ok = match word {
        "$ref" => {
            let name = rule.as_str()?.strip_prefix("#/$defs/")?;
            return fault(root, &root["$defs"][name], value);
        }
        "const" => rule == value,
        "enum" => list().contains(value),
        "anyOf" => list().iter().any(|schema| valid(&schema)),
        "oneOf" => list().iter().filter(valid).count() == 1,
        "allOf" => list().iter().all(|schema| valid(&schema)),
        "required" => list().iter().all(|name| value.get(name.as_str().unwrap_or("")).is_some()),
        "type" if rule.is_array() => list().iter().any(|name| is_a(name, value)),
        "type" => is_a(rule, value),
        "items" => {
            let items = value.as_array()?;
            return items.iter().find_map(|item| fault(root, rule, item));
        }
        "properties" => {
            let fields = value.as_object()?;
            return fields.iter().find_map(|(name, value)| {
                let found = fault(root, rule.get(name)?, value)?;
                Some(format!("{name}: {found}"))
            });
        }
        word => SILENT.contains(&word),
    };
    (!ok).then(|| format!("{word} {rule}"))
}

fn is_a(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("null") => value.is_null(),
        _ => false,
    }
}
