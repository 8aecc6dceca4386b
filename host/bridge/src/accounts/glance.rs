//! A look at the stamps of what is saved, so that an idle daemon need not read it all again.

use std::{collections::BTreeMap, path::PathBuf};

use super::{Accounts, AccountsError, error::What};
use crate::{Home, fs::Entry, limits::SETTLED_SECONDS};

/// The stamps of all credentials and settings at one moment: equal ones mean equal files, once
/// they are [settled](Glance::is_settled).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance(BTreeMap<PathBuf, Option<Entry>>);

impl Accounts {
    /// Looks at the credentials and settings of every channel, and at `others` (paths that a
    /// channel's manifest names), without reading any of them.
    ///
    /// # Errors
    /// I/O errors, and folders that are none.
    pub fn glance(
        &self,
        others: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Glance, AccountsError> {
        let mut seen: BTreeMap<PathBuf, Option<Entry>> = BTreeMap::new();
        let channels = self.home.channels_dir();
        let folders = self.list(channels.clone(), What::Channels)?;
        let folders = folders.iter().map(|channel| channels.join(channel));
        for folder in folders.flat_map(|channel| Home::saved_dirs(&channel)) {
            let names = self.list(folder.clone(), What::Accounts)?;
            let files = names.iter().map(|name| folder.join(name));
            for path in files.chain([folder.clone()]) {
                let entry = self.entry(&path)?;
                seen.insert(path, entry);
            }
        }
        for path in others {
            let entry = self.entry(&path)?;
            seen.insert(path, entry);
        }
        Ok(Glance(seen))
    }
}

impl Glance {
    /// Whether everything was changed so long before `now` (Unix seconds) that the next change
    /// cannot leave the same stamp.
    pub fn is_settled(&self, now: u64) -> bool {
        let newest = self.0.values().flatten().map(|entry| entry.changed.0).max();
        newest.is_none_or(|newest| newest.saturating_add(SETTLED_SECONDS) <= now.cast_signed())
    }
}
