//! Second de-duplication keys: what tells a redelivery under a new id.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::limits::{KEY_AGE_MS, MAX_KEYS_COUNT};

/// At most 65,536 keys, each for 25 hours from when it was first seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Keys {
    first_seen: HashMap<Arc<str>, u64>,
    by_age: BTreeSet<(u64, Arc<str>)>,
}

impl Keys {
    pub(super) fn contains(&self, key: &str, now_ms: u64) -> bool {
        self.first_seen.get(key).is_some_and(|first| now_ms.saturating_sub(*first) < KEY_AGE_MS)
    }

    /// Adds a key unless it is known, and answers how many young ones had to go for it. Only
    /// the given time counts, so that replaying does what was done.
    pub(super) fn insert(&mut self, key: &str, first_seen_ms: u64) -> usize {
        if self.contains(key, first_seen_ms) {
            return 0;
        }
        if let Some((key, stale)) = self.first_seen.remove_entry(key) {
            self.by_age.remove(&(stale, key));
        }
        let key: Arc<str> = key.into();
        self.first_seen.insert(Arc::clone(&key), first_seen_ms);
        self.by_age.insert((first_seen_ms, key));
        self.prune(first_seen_ms)
    }

    fn prune(&mut self, now_ms: u64) -> usize {
        let mut young = 0;
        while let Some((first, _)) = self.by_age.first() {
            let is_old = now_ms.saturating_sub(*first) >= KEY_AGE_MS;
            if !is_old && self.by_age.len() <= MAX_KEYS_COUNT {
                break;
            }
            young += usize::from(!is_old);
            if let Some((_, key)) = self.by_age.pop_first() {
                self.first_seen.remove(&key);
            }
        }
        young
    }

    /// When the newest was first seen.
    pub(super) fn newest_ms(&self) -> Option<u64> {
        self.by_age.last().map(|(first, _)| *first)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_age.is_empty()
    }

    /// The payload of the key file.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let keys = self.by_age.iter().map(|(first, key)| (&**key, *first));
        let file = KeyFile { keys: keys.collect() };
        serde_json::to_vec(&file).expect("strings and numbers are always JSON")
    }

    pub(super) fn from_json(bytes: &[u8]) -> Option<Self> {
        let file: KeyFile<String> = serde_json::from_slice(bytes).ok()?;
        let mut keys = Self::default();
        for (key, first_seen_ms) in file.keys {
            keys.insert(&key, first_seen_ms);
        }
        Some(keys)
    }
}

#[derive(Serialize, Deserialize)]
struct KeyFile<S> {
    keys: Vec<(S, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_for_25_hours() {
        let mut keys = Keys::default();
        keys.insert("k", 1_000);
        assert!(keys.contains("k", 1_000 + KEY_AGE_MS - 1));
        assert!(!keys.contains("k", 1_000 + KEY_AGE_MS));
        assert!(!keys.contains("other", 1_000));
    }

    #[test]
    fn seeing_a_key_again_does_not_renew_it() {
        let mut keys = Keys::default();
        keys.insert("k", 1_000);
        keys.insert("k", 2_000);
        assert!(!keys.contains("k", 1_000 + KEY_AGE_MS));
    }

    #[test]
    fn the_oldest_go_first_and_are_counted() {
        let mut keys = Keys::default();
        let dropped: usize =
            (0..=MAX_KEYS_COUNT as u64).map(|n| keys.insert(&n.to_string(), n)).sum();
        assert_eq!(dropped, 1);
        assert!(!keys.contains("0", 0) && keys.contains("1", 1));
        assert_eq!(Keys::from_json(&keys.to_json()), Some(keys));
    }
}
