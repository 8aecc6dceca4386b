//! Repairs JSON text in which a `\uXXXX` escape is half of a pair; JSON parsers refuse it.

use serde::{Deserialize, de::IgnoredAny};

const REPLACEMENT: &str = "\\ufffd";

/// Reads JSON, repaired if need be: half a pair is no reason to lose an answer. Says whether it
/// was; the repaired text lives in `repaired`.
pub(super) fn parse<'a, T: Deserialize<'a>>(
    json: &'a str,
    repaired: &'a mut String,
) -> Option<(T, bool)> {
    if let Ok(value) = serde_json::from_str(json) {
        return Some((value, false));
    }
    *repaired = repair(json)?;
    serde_json::from_str(repaired).ok().map(|value| (value, true))
}

/// Whether the text is JSON, half pairs or not.
pub(super) fn is_json(text: &str) -> bool {
    parse::<IgnoredAny>(text, &mut String::new()).is_some()
}

/// The text with U+FFFD for each half pair, or none when there is none.
fn repair(json: &str) -> Option<String> {
    let mut repaired = String::with_capacity(json.len());
    let mut rest = json;
    let mut found = false;
    while let Some(backslash) = rest.find('\\') {
        let (before, escape) = rest.split_at(backslash);
        repaired.push_str(before);
        let (piece, length) = match (unit(escape), unit(escape.get(6..).unwrap_or_default())) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&escape[..12], 12),
            (Some(0xd800..=0xdfff), _) => (REPLACEMENT, 6),
            (Some(_), _) => (&escape[..6], 6),
            (None, _) => {
                let length = 1 + escape[1..].chars().next().map_or(0, char::len_utf8);
                (&escape[..length], length)
            }
        };
        found |= piece == REPLACEMENT && !escape.starts_with(REPLACEMENT);
        repaired.push_str(piece);
        rest = &escape[length..];
    }
    repaired.push_str(rest);
    found.then_some(repaired)
}

/// The code unit of an escape at the start of the text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_replaced_and_pairs_kept() {
        for (json, want) in [
            (r#""a\ud83db""#, Some("a\u{fffd}b")),
            (r#""\ude00""#, Some("\u{fffd}")),
            (r#""\ud83d\ud83d\ude00""#, Some("\u{fffd}\u{1f600}")),
            (r#""\ud83d\n""#, Some("\u{fffd}\n")),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""é\u00e9\""#, None),
        ] {
            let repaired = repair(json);
            let text = repaired.map(|json| serde_json::from_str::<String>(&json).expect("JSON"));
            assert_eq!(text.as_deref(), want, "{json}");
        }
    }
}
