//! The limits of the held replies: the oldest go first.

use super::change::Held;
use crate::limits::{
    MAX_HELD_COUNT, MAX_HELD_PER_CONVERSATION_BYTES, MAX_HELD_PER_CONVERSATION_COUNT,
};

/// Puts held replies that come back before the others of their conversation.
pub(super) fn give_back(held: &mut Vec<Held>, carried: Vec<Held>) {
    let Some(first) = carried.first() else {
        return;
    };
    let at = held.iter().position(|other| other.key == first.key).unwrap_or(held.len());
    held.splice(at..at, carried);
}

/// Drops what is over the limits, and answers how many.
pub(super) fn trim(held: &mut Vec<Held>, key: &str) -> usize {
    let before = held.len();
    while conversation_is_over(held, key)
        && let Some(oldest) = held.iter().position(|other| other.key == key)
    {
        held.remove(oldest);
    }
    while held.len() > MAX_HELD_COUNT
        && let Some(oldest) = (0..held.len()).min_by_key(|i| held[*i].held_at)
    {
        held.remove(oldest);
    }
    before - held.len()
}

fn conversation_is_over(held: &[Held], key: &str) -> bool {
    let lengths = held.iter().filter(|h| h.key == key).map(|h| h.reply.len());
    let (count, bytes) = lengths.fold((0, 0), |(count, sum), len| (count + 1, sum + len));
    count > MAX_HELD_PER_CONVERSATION_COUNT || bytes > MAX_HELD_PER_CONVERSATION_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(key: &str, reply: &str, held_at: u64) -> Held {
        Held {
            key: key.into(),
            to_user_id: "u".into(),
            reply: reply.into(),
            held_at,
            extra: serde_json::Map::new(),
        }
    }

    #[test]
    fn at_most_four_of_a_conversation() {
        let mut all: Vec<Held> = (0..6).map(|n| held("a", &n.to_string(), n)).collect();
        all.insert(0, held("b", "other", 0));
        assert_eq!(trim(&mut all, "a"), 2);
        let kept: Vec<&str> = all.iter().map(|h| h.reply.as_str()).collect();
        assert_eq!(kept, ["other", "2", "3", "4", "5"]);
    }

    #[test]
    fn at_most_32_kib_of_a_conversation() {
        let text = "x".repeat(MAX_HELD_PER_CONVERSATION_BYTES / 2);
        let mut all = vec![held("a", &text, 1), held("a", &text, 2), held("a", "y", 3)];
        assert_eq!(trim(&mut all, "a"), 1);
        assert_eq!(all[0].held_at, 2);
    }

    #[test]
    fn at_most_128_of_an_account() {
        let mut all: Vec<Held> =
            (0..=MAX_HELD_COUNT as u64).map(|n| held(&n.to_string(), "x", 1_000 - n)).collect();
        assert_eq!(trim(&mut all, "0"), 1);
        assert!(all.iter().all(|h| h.held_at > 1_000 - MAX_HELD_COUNT as u64));
    }

    #[test]
    fn what_comes_back_goes_before_what_stayed() {
        let mut all = vec![held("b", "b", 1), held("a", "3", 3)];
        give_back(&mut all, vec![held("a", "1", 1), held("a", "2", 2)]);
        let order: Vec<&str> = all.iter().map(|h| h.reply.as_str()).collect();
        assert_eq!(order, ["b", "1", "2", "3"]);
    }
}
