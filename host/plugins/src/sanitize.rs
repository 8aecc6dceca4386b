//! One sanitizer for every text that a plugin says to people.

use scv_plugin_api::{
    limits::{MAX_FAULT_CODE_CHARS_COUNT, MAX_FAULT_MESSAGE_CHARS_COUNT},
    wire::{Fault, SendOutcome},
};

use crate::limits::SECRET_WORD_CHARS_COUNT;

const MASK: &str = "[masked]";

/// One line of at most `limit` characters, without control characters, without what follows
/// the `?` of a URL or stands before its `@`, and without words that look like a secret.
pub(crate) fn line(text: &str, limit: usize) -> String {
    // Masking is linear; what cannot be in the answer is not looked at.
    let bounded = text.chars().take(limit.saturating_mul(4));
    let plain: String = bounded.map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<String> = plain.split(' ').map(word).collect();
    words.join(" ").trim().chars().take(limit).collect()
}

pub(crate) fn fault(fault: Fault) -> Fault {
    Fault {
        message: line(&fault.message, MAX_FAULT_MESSAGE_CHARS_COUNT),
        code: fault.code.map(|code| line(&code, MAX_FAULT_CODE_CHARS_COUNT)),
        ..fault
    }
}

pub(crate) fn outcome(outcome: SendOutcome) -> SendOutcome {
    let short = |text: &str| line(text, MAX_FAULT_MESSAGE_CHARS_COUNT);
    match outcome {
        SendOutcome::Accepted { receipt } => SendOutcome::Accepted { receipt },
        SendOutcome::Refused { code, message, signed_out, pause_ms, scope } => {
            SendOutcome::Refused {
                code: line(&code, MAX_FAULT_CODE_CHARS_COUNT),
                message: message.as_deref().map(short),
                signed_out,
                pause_ms,
                scope,
            }
        }
        SendOutcome::Retry { reason, after_ms, scope } => {
            SendOutcome::Retry { reason: short(&reason), after_ms, scope }
        }
    }
}

fn word(word: &str) -> String {
    let word = match word.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", url_rest(rest)),
        None => word.to_owned(),
    };
    mask_secrets(&word)
}

/// Host and path only: queries and user names hold tokens.
fn url_rest(rest: &str) -> String {
    let (before_query, query) = match rest.find(['?', '#']) {
        Some(at) => (&rest[..at], "?…"),
        None => (rest, ""),
    };
    let slash = before_query.find('/').unwrap_or(before_query.len());
    let (authority, path) = before_query.split_at(slash);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{host}{path}{query}")
}

/// Masks long runs of letters and digits that hold both.
fn mask_secrets(word: &str) -> String {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "+/_-".contains(c);
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_token(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        out.push_str(if looks_secret(run) { MASK } else { run });
        let next = after.find(is_token).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}

fn looks_secret(run: &str) -> bool {
    run.len() >= SECRET_WORD_CHARS_COUNT
        && run.contains(|c: char| c.is_ascii_digit())
        && run.contains(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_words_stay() {
        let text = "errcode -14: session timeout, try https://host.example/path again";
        assert_eq!(line(text, 200), text);
    }

    #[test]
    fn queries_users_and_tokens_go() {
        assert_eq!(line("get https://u:p@h/x?token=1#y failed", 200), "get https://h/x?… failed");
        let token = "abcDEF0123456789abcDEF0123456789";
        assert_eq!(line(&format!("bearer '{token}'."), 200), "bearer '[masked]'.");
    }

    #[test]
    fn lines_are_joined_and_cut() {
        assert_eq!(line("a\nb\u{7}c", 200), "a b c");
        assert_eq!(line(&"ä".repeat(300), 200).chars().count(), 200);
    }

    proptest! {
        #[test]
        fn whatever_comes_in_is_one_bounded_line(text in ".*", limit in 0_usize..100) {
            let line = line(&text, limit);
            prop_assert!(line.chars().count() <= limit);
            prop_assert!(!line.contains(char::is_control));
        }

        #[test]
        fn a_token_is_masked_wherever_it_stands(
            before in "[ -~]{0,20}", token in "[a-z]{20}[0-9]{20}", after in "[ -~]{0,20}",
        ) {
            let line = line(&format!("{before} {token} {after}"), 200);
            prop_assert!(!line.contains(&token));
        }
    }
}
