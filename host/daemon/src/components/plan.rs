//! What must change so that what stands becomes what is wanted. Pure.

use std::{collections::BTreeMap, fmt};

/// One account of one channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// The channel's id.
    pub(crate) channel: String,
    /// The account's name.
    pub(crate) account: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.channel, self.account)
    }
}

/// What one pass found out about an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted<T> {
    /// It should stand as this; another revision replaces it.
    Be {
        /// Changes with everything that needs a replacement.
        revision: String,
        /// What to start.
        what: T,
    },
    /// It could not be read just now: what stands, stands.
    Keep,
}

/// One change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change<T> {
    /// Stop and join what stands, if anything does, then start this.
    Start { key: Key, revision: String, what: T },
    /// Stop and join what stands.
    Remove(Key),
}

impl<T> Change<T> {
    /// Whose change it is.
    pub(super) const fn key(&self) -> &Key {
        match self {
            Self::Start { key, .. } | Self::Remove(key) => key,
        }
    }
}

/// The changes from what stands (with its revisions) to what is wanted, in the keys' order.
pub(super) fn plan<T>(
    standing: &BTreeMap<Key, String>,
    wanted: BTreeMap<Key, Wanted<T>>,
) -> Vec<Change<T>> {
    let gone = standing
        .keys()
        .filter(|key| !wanted.contains_key(key))
        .cloned()
        .map(Change::Remove)
        .collect::<Vec<_>>();
    let started = wanted.into_iter().filter_map(|(key, wanted)| match wanted {
        Wanted::Be { revision, what } if standing.get(&key) != Some(&revision) => {
            Some(Change::Start { key, revision, what })
        }
        Wanted::Be { .. } | Wanted::Keep => None,
    });
    gone.into_iter().chain(started).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(account: &str) -> Key {
        Key { channel: "pigeon".into(), account: account.into() }
    }

    fn be(revision: &str) -> Wanted<u8> {
        Wanted::Be { revision: revision.into(), what: 7 }
    }

    fn start(account: &str, revision: &str) -> Change<u8> {
        Change::Start { key: key(account), revision: revision.into(), what: 7 }
    }

    #[test]
    fn new_changed_gone_same_and_unreadable() {
        let standing = ["changed", "gone", "same", "busy"]
            .map(|account| (key(account), "1".to_owned()))
            .into();
        let wanted = BTreeMap::from([
            (key("changed"), be("2")),
            (key("new"), be("1")),
            (key("same"), be("1")),
            (key("busy"), Wanted::Keep),
            (key("busy-and-new"), Wanted::Keep),
        ]);
        assert_eq!(
            plan(&standing, wanted),
            [Change::Remove(key("gone")), start("changed", "2"), start("new", "1")]
        );
    }

    #[test]
    fn a_second_pass_changes_nothing() {
        let standing = BTreeMap::from([(key("a"), "1".to_owned())]);
        assert_eq!(plan(&standing, BTreeMap::from([(key("a"), be("1"))])), []);
    }
}
