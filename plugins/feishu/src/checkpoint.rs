//! How far each chat was read: what the host stores, and what the next connection asks for.

use std::collections::BTreeMap;

use scv_plugin_api::{Result, limits::MAX_CHECKPOINT_BYTES, wire::Fault};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::{CATCHUP_CHATS_COUNT, CATCHUP_REACH_MS, CHATS_COUNT};

/// The checkpoint, as JSON text in the state's `cursor`. What a newer version wrote stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    chats: BTreeMap<String, Chat>,
    #[serde(flatten)]
    more: Map<String, Value>,
    /// What this connection still has to read, by chat.
    #[serde(skip)]
    missed: BTreeMap<String, Gap>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Chat {
    group: bool,
    /// The newest message that was handed over.
    last_ms: u64,
    /// What lies before it and was not read yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// A time without its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gap {
    pub(crate) from_ms: u64,
    pub(crate) to_ms: u64,
}

/// A chat whose history is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) chat: String,
    pub(crate) from_ms: u64,
}

impl Checkpoint {
    /// Reads what the host stored; nothing stored is no chat.
    ///
    /// # Errors
    /// When it cannot be read: starting from nothing would skip what was missed.
    pub(crate) fn read(text: Option<&str>) -> Result<Self> {
        match text.unwrap_or_default() {
            "" => Ok(Self::default()),
            text => serde_json::from_str(text).map_err(|_| {
                Fault::config(
                    "the place to go on reading cannot be read; run `scv channels logout feishu`, \
                     then sign in again",
                )
            }),
        }
    }

    /// The text to store; empty when there is nothing to say.
    pub(crate) fn write(&self) -> String {
        if self.chats.is_empty() && self.more.is_empty() {
            return String::new();
        }
        let text = serde_json::to_string(self).unwrap_or_default();
        match text.len() <= MAX_CHECKPOINT_BYTES {
            true => text,
            // Only what a newer version added can be that long.
            false => serde_json::to_string(&self.without_more()).unwrap_or_default(),
        }
    }

    fn without_more(&self) -> Self {
        let strip =
            |(id, chat): (&String, &Chat)| (id.clone(), Chat { more: Map::new(), ..chat.clone() });
        Self { chats: self.chats.iter().map(strip).collect(), ..Self::default() }
    }

    /// Whether a chat is a group, as far as it is known.
    pub(crate) fn is_group(&self, chat: &str) -> Option<bool> {
        self.chats.get(chat).map(|chat| chat.group)
    }

    /// What a new connection reads first: the chats that were active last, each from its gap or
    /// its last message on, a day back at most.
    pub(crate) fn begin(&mut self, now_ms: u64) -> Vec<Missed> {
        let reach_ms = now_ms.saturating_sub(CATCHUP_REACH_MS);
        let mut chats: Vec<_> = self.chats.iter().collect();
        chats.sort_by_key(|(_, chat)| std::cmp::Reverse(chat.last_ms));
        let plan: Vec<Missed> = chats
            .into_iter()
            .take(CATCHUP_CHATS_COUNT)
            .map(|(id, chat)| {
                let from_ms = chat.gap.map_or(chat.last_ms, |gap| gap.from_ms).max(reach_ms);
                Missed { chat: id.clone(), from_ms }
            })
            .collect();
        let gap = |missed: &Missed| {
            let gap = Gap { from_ms: missed.from_ms, to_ms: now_ms.max(missed.from_ms) };
            (missed.chat.clone(), gap)
        };
        self.missed = plan.iter().map(gap).collect();
        plan
    }

    /// A live message is handed over. One that comes before its chat was caught up leaves a gap.
    pub(crate) fn received(
        &mut self,
        chat: &str,
        group: bool,
        created_ms: Option<u64>,
        now_ms: u64,
    ) {
        // A clock that runs ahead must not hide what follows.
        let Some(ms) = created_ms.map(|ms| ms.min(now_ms)).filter(|_| !chat.is_empty()) else {
            return;
        };
        let known = self.chats.entry(chat.to_owned()).or_insert_with(|| Chat {
            group,
            last_ms: 0,
            gap: None,
            more: Map::new(),
        });
        known.group = group;
        if ms > known.last_ms {
            known.last_ms = ms;
            known.gap = known.gap.or(self.missed.get(chat).copied());
        }
        while self.chats.len() > CHATS_COUNT {
            let oldest = self.chats.iter().min_by_key(|(_, chat)| chat.last_ms);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
            self.chats.remove(&oldest);
        }
    }

    /// A page of a chat's history is handed over, up to `newest_ms`.
    pub(crate) fn caught_up(
        &mut self,
        chat: &str,
        newest_ms: Option<u64>,
        is_last: bool,
        now_ms: u64,
    ) {
        let Some(known) = self.chats.get_mut(chat) else { return };
        let newest_ms = newest_ms.unwrap_or_default().min(now_ms);
        known.last_ms = known.last_ms.max(newest_ms);
        if is_last {
            self.missed.remove(chat);
            known.gap = None;
            return;
        }
        if let Some(gap) = self.missed.get_mut(chat) {
            gap.from_ms = gap.from_ms.max(newest_ms);
            known.gap = Some(*gap);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_790_300_000_000;

    fn read(value: &Value) -> Checkpoint {
        Checkpoint::read(Some(&value.to_string())).expect("readable")
    }

    fn written(checkpoint: &Checkpoint) -> Value {
        serde_json::from_str(&checkpoint.write()).expect("JSON")
    }

    fn one(last_ms: u64) -> Value {
        json!({"chats": {"oc_x": {"group": false, "last_ms": last_ms}}})
    }

    #[test]
    fn the_form_is_the_contracts_and_unknown_fields_survive() {
        let text = r#"{"chats":{"oc_x":{"group":false,"last_ms":1790221416232}}}"#;
        assert_eq!(Checkpoint::read(Some(text)).expect("readable").write(), text);
        let newer = json!({"chats": {"oc_x": {"group": true, "last_ms": 5, "new": [1]}}, "v": 2});
        assert_eq!(written(&read(&newer)), newer);
        for nothing in [None, Some("")] {
            assert_eq!(Checkpoint::read(nothing).expect("nothing").write(), "");
        }
        for odd in ["x", "[]", r#"{"chats":{"a":{}}}"#, "{}x"] {
            assert!(Checkpoint::read(Some(odd)).is_err(), "{odd}");
        }
    }

    #[test]
    fn too_much_of_a_newer_version_is_left_out() {
        let mut newer = one(5);
        newer["more"] = json!("x".repeat(MAX_CHECKPOINT_BYTES));
        assert_eq!(written(&read(&newer)), one(5));
    }

    #[test]
    fn catch_up_begins_at_the_gap_or_the_last_message_a_day_back_at_most() {
        let mut checkpoint = read(&json!({"chats": {
            "oc_new": {"group": false, "last_ms": NOW - 5},
            "oc_gap": {"group": false, "last_ms": NOW - 6, "gap": {"from_ms": NOW - 99, "to_ms": NOW - 50}},
            "oc_old": {"group": false, "last_ms": 7},
        }}));
        let plan = checkpoint.begin(NOW);
        let plan: Vec<_> = plan.iter().map(|one| (one.chat.as_str(), NOW - one.from_ms)).collect();
        assert_eq!(plan, [("oc_new", 5), ("oc_gap", 99), ("oc_old", CATCHUP_REACH_MS)]);
    }

    #[test]
    fn a_gap_lasts_until_the_last_page() {
        let mut checkpoint = read(&one(NOW - 1_000));
        checkpoint.begin(NOW);
        checkpoint.caught_up("oc_x", Some(NOW - 800), false, NOW);
        let gap = json!({"from_ms": NOW - 800, "to_ms": NOW});
        let chat = written(&checkpoint)["chats"]["oc_x"].clone();
        assert_eq!(chat, json!({"group": false, "last_ms": NOW - 800, "gap": gap}));
        checkpoint.received("oc_x", false, Some(NOW - 1), NOW);
        assert_eq!(written(&checkpoint)["chats"]["oc_x"]["gap"], gap, "live messages keep it");

        let mut next = read(&written(&checkpoint));
        assert_eq!(next.begin(NOW)[0].from_ms, NOW - 800);
        next.caught_up("oc_x", Some(NOW - 600), true, NOW);
        assert_eq!(written(&next), one(NOW - 1));
    }

    #[test]
    fn a_live_message_before_its_chat_was_caught_up_leaves_a_gap() {
        let mut checkpoint = read(&one(NOW - 1_000));
        checkpoint.begin(NOW);
        assert_eq!(written(&checkpoint), one(NOW - 1_000), "nothing is stored before it matters");
        checkpoint.received("oc_x", false, Some(NOW - 1), NOW);
        let mut again = read(&written(&checkpoint));
        assert_eq!(again.begin(NOW)[0].from_ms, NOW - 1_000, "a crash misses nothing");
    }

    #[test]
    fn a_clock_that_runs_ahead_hides_nothing() {
        let mut checkpoint = Checkpoint::default();
        checkpoint.received("oc_x", false, Some(u64::MAX), NOW);
        assert_eq!(written(&checkpoint), one(NOW));
        checkpoint.received("", false, Some(5), NOW);
        checkpoint.received("oc_y", false, None, NOW);
        assert_eq!(written(&checkpoint), one(NOW));
    }

    #[test]
    fn the_longest_silent_chat_goes_first() {
        let mut checkpoint = Checkpoint::default();
        for n in 0..200 {
            checkpoint.received(&format!("oc_{n}"), true, Some(1_000 + n), NOW);
        }
        assert_eq!(checkpoint.chats.len(), CHATS_COUNT);
        assert!(checkpoint.chats.values().all(|chat| chat.last_ms >= 1_136));
        assert_eq!(checkpoint.begin(NOW).len(), CATCHUP_CHATS_COUNT);
        assert!(checkpoint.write().len() < MAX_CHECKPOINT_BYTES);
    }

    proptest! {
        /// Whatever order pages and live messages come in, and wherever it is cut off: the next
        /// connection asks from no later than the last page that was handed over.
        #[test]
        fn nothing_is_skipped(steps in prop::collection::vec((any::<bool>(), 1..1_000u64), 0..12)) {
            let start = NOW - 1_000;
            let mut checkpoint = read(&one(start));
            checkpoint.begin(NOW);
            let mut read_to = start;
            for (is_page, step) in steps {
                if is_page {
                    read_to = (read_to + step / 10).min(NOW);
                    checkpoint.caught_up("oc_x", Some(read_to), false, NOW);
                } else {
                    checkpoint.received("oc_x", false, Some(start + step), NOW);
                }
                let mut next = read(&written(&checkpoint));
                prop_assert!(next.begin(NOW)[0].from_ms <= read_to);
            }
        }
    }
}
