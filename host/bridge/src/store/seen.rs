//! The ids of handled messages, newest last.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::limits::MAX_SEEN_COUNT;

/// At most 4,096 ids; the oldest go first.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    stamps: HashMap<Arc<str>, u64>,
    by_age: BTreeMap<u64, Arc<str>>,
    next_stamp: u64,
}

impl Seen {
    pub(super) fn contains(&self, id: &str) -> bool {
        self.stamps.contains_key(id)
    }

    /// Adds an id, or moves it to the newest end.
    pub(super) fn touch(&mut self, id: &str) {
        let id: Arc<str> = match self.stamps.remove_entry(id) {
            Some((id, stamp)) => {
                self.by_age.remove(&stamp);
                id
            }
            None => id.into(),
        };
        self.stamps.insert(Arc::clone(&id), self.next_stamp);
        self.by_age.insert(self.next_stamp, id);
        self.next_stamp += 1;
        if self.by_age.len() > MAX_SEEN_COUNT
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.stamps.remove(&oldest);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.by_age.values().map(|id| &**id)
    }
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a> FromIterator<&'a str> for Seen {
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> Self {
        let mut seen = Self::default();
        ids.into_iter().for_each(|id| seen.touch(id));
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_ids_move_to_the_newest_end() {
        let mut seen: Seen = ["a", "b", "c"].into_iter().collect();
        seen.touch("a");
        assert_eq!(seen.iter().collect::<Vec<_>>(), ["b", "c", "a"]);
    }

    #[test]
    fn the_oldest_go_first() {
        let ids: Vec<String> = (0..MAX_SEEN_COUNT + 2).map(|n| n.to_string()).collect();
        let seen: Seen = ids.iter().map(String::as_str).collect();
        assert!(!seen.contains("0") && !seen.contains("1") && seen.contains("2"));
        assert_eq!(seen.iter().count(), MAX_SEEN_COUNT);
    }
}
