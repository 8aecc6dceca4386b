//! Makes remote text fit to be shown: bounded, one line, without secrets.

use crate::{
    config::Secret,
    limits::{MAX_ERROR_CHARS_COUNT, MIN_REDACTED_SECRET_BYTES},
};

const MARK: &str = "[redacted]";

/// At most 300 characters without control characters, secrets and the queries of URLs.
pub(super) fn clean<'a>(text: &str, secrets: impl IntoIterator<Item = &'a Secret>) -> String {
    let mut text = text.to_owned();
    for secret in secrets.into_iter().map(Secret::expose) {
        if secret.len() >= MIN_REDACTED_SECRET_BYTES {
            text = text.replace(secret, MARK);
        }
    }
    let text: String =
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let words = text.split_whitespace().map(without_query);
    cut(&words.collect::<Vec<_>>().join(" "))
}

/// A URL's query may hold a key of somebody else.
fn without_query(word: &str) -> String {
    match (word.contains("://"), word.split_once('?')) {
        (true, Some((url, _))) => format!("{url}?{MARK}"),
        _ => word.to_owned(),
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_ERROR_CHARS_COUNT {
        return text.to_owned();
    }
    let mut text: String = text.chars().take(MAX_ERROR_CHARS_COUNT - 1).collect();
    text.push('…');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_secrets_go_and_short_ones_do_not_eat_text() {
        let secrets = [Secret::new("sk-12345"), Secret::new("e")];
        assert_eq!(clean("key sk-12345 refused", &secrets), "key [redacted] refused");
    }

    #[test]
    fn is_one_bounded_line_without_queries() {
        assert_eq!(clean("a\nb\0c", &[]), "a b c");
        assert_eq!(clean("see http://h/p?key=1 now?", &[]), "see http://h/p?[redacted] now?");
        assert_eq!(clean(&"x".repeat(1000), &[]).chars().count(), 300);
    }
}
