//! Cutting and joining replies.

use super::phrases::{EARLIER, LATEST, TRUNCATED};
use crate::store::Held;

/// Splits a reply into parts of at most `max` bytes (at least 4) between characters. The parts
/// joined are the reply. The same text and limit always give the same parts, over restarts and
/// releases: a part's client id must never name another text.
pub fn split(reply: &str, max: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = reply;
    while rest.len() > max {
        let (part, tail) = rest.split_at(floor_char_boundary(rest, max.max(4)));
        parts.push(part);
        rest = tail;
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

/// Cuts a text that is longer than `max` bytes, and says so at its end.
pub(super) fn truncate(mut text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    let room = max.saturating_sub(TRUNCATED.len() + 1);
    text.truncate(floor_char_boundary(&text, room));
    format!("{text}\n{TRUNCATED}")
}

/// Cuts an answer to at most `max` bytes that also fit into as few parts as `max` bytes can
/// take: parts end between characters, and what each lacks must not become a part of its own.
pub(super) fn cut_to_parts(answer: String, max: usize, part: usize) -> String {
    let parts = split(&answer, part);
    let fit: usize = parts.iter().take(max.div_ceil(part)).map(|part| part.len()).sum();
    truncate(answer, fit.min(max))
}

/// Puts as many held replies as fit, the oldest first, before a new one: together they are at
/// most `max` bytes, so that all held ones are in the first part.
pub(super) fn carry(held: &[&Held], own: &str, max: usize) -> (String, Vec<Held>) {
    let last = format!("{LATEST}\n{own}");
    let mut reply = String::new();
    let mut carried = Vec::new();
    for earlier in held {
        let block = format!("{EARLIER}\n{}\n\n", earlier.reply);
        if reply.len() + block.len() + last.len() > max {
            break;
        }
        reply.push_str(&block);
        carried.push((*earlier).clone());
    }
    if carried.is_empty() {
        return (own.to_owned(), carried);
    }
    (reply + &last, carried)
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::MAX_ANSWER_BYTES;

    proptest! {
        #[test]
        fn parts_joined_are_the_reply(reply in "\\PC{0,200}", max in 4_usize..40) {
            let parts = split(&reply, max);
            prop_assert_eq!(parts.concat(), reply.as_str());
            prop_assert!(parts.iter().all(|p| !p.is_empty() && p.len() <= max));
        }

        #[test]
        fn a_truncated_text_fits_and_says_so(text in "\\PC{0,200}", max in 20_usize..100) {
            let cut = truncate(text.clone(), max);
            prop_assert!(cut.len() <= max);
            prop_assert!(cut == text || cut.ends_with(TRUNCATED));
        }
    }

    proptest! {
        #[test]
        fn a_cut_answer_has_no_stray_part(answer in "\\PC{0,200}", part in 4_usize..100) {
            let cut = cut_to_parts(answer.clone(), 200, part);
            prop_assert!(cut.len() <= 200 && split(&cut, part).len() <= 200_usize.div_ceil(part));
            prop_assert!(cut == answer || cut.ends_with(TRUNCATED));
        }
    }

    #[test]
    fn long_answers_of_wide_characters_fill_four_messages() {
        for character in ["x", "\u{4e2d}", "\u{1f600}"] {
            let answer = character.repeat(70_000);
            let cut = cut_to_parts(answer, MAX_ANSWER_BYTES, 16_384);
            let parts = split(&cut, 16_384);
            assert_eq!(parts.len(), 4, "{character}");
            assert!(parts[3].len() > 16_300 && parts[3].ends_with(TRUNCATED), "{character}");
        }
    }

    fn held(reply: &str) -> Held {
        Held {
            key: "k".into(),
            to_user_id: "u".into(),
            reply: reply.into(),
            held_at: 1,
            extra: serde_json::Map::new(),
        }
    }

    #[test]
    fn held_replies_ride_along_oldest_first() {
        let (one, two) = (held("old"), held("older"));
        let (reply, carried) = carry(&[&two, &one], "new", 16_384);
        assert_eq!(carried, [two, one]);
        assert_eq!(
            reply,
            "[Earlier reply that could not be delivered at the time]\nolder\n\n\
             [Earlier reply that could not be delivered at the time]\nold\n\n\
             [Reply to your latest message]\nnew"
        );
    }

    #[test]
    fn what_does_not_fit_waits() {
        let (small, big) = (held("old"), held(&"x".repeat(200)));
        let (reply, carried) = carry(&[&small, &big], "new", 200);
        assert_eq!(carried, [small]);
        assert!(reply.len() <= 200);
        assert_eq!(carry(&[&big], "new", 200), ("new".into(), vec![]));
    }
}
