//! The one place that knows of the folder where older releases kept a channel, by the names
//! that the manifest gives.

use std::{collections::BTreeSet, fs::File, io, path::Path};

use scv_plugin_api::wire::{Legacy, Secret};
use serde_json::Value;

use super::{Accounts, AccountsError, error::What, files, locks};
use crate::{
    AccountName, ChannelId,
    fs::{EntryKind, NOT_OURS},
    home::AccountFiles,
    limits::{MAX_DIR_ENTRIES_COUNT, MAX_SMALL_FILE_BYTES},
};

/// What [`Accounts::migrate_legacy`] did.
#[derive(Debug)]
pub struct Migration {
    /// The old folder was moved to where it belongs now.
    pub moved: bool,
    /// The earliest single file is there, and nothing is saved for the account `default`: its
    /// text, for the plugin's `credentials.import` and then [`Accounts::import_single_file`].
    pub single_file: Option<Secret<String>>,
}

/// Folders of the old home whose files name accounts.
const FOLDERS: [&str; 5] = ["accounts", "settings", "state", "locks", "transactions"];

impl Accounts {
    /// Moves the old folder in one rename, under every lock that an older release would hold,
    /// so that credentials, settings and state arrive unchanged.
    ///
    /// # Errors
    /// [`AccountsError::BothHomes`] (nothing is moved), [`AccountsError::LegacyBusy`].
    pub fn migrate_legacy(
        &self,
        legacy: &Legacy,
        channel: &ChannelId,
    ) -> Result<Migration, AccountsError> {
        let old = self.home.legacy_dir(&legacy.home_dir);
        let moved = match self.entry(&old)?.map(|entry| entry.kind) {
            None => false,
            Some(EntryKind::Dir) => self.move_folder(&old, channel)?,
            Some(EntryKind::File | EntryKind::Other) => {
                return Err(AccountsError::io(What::Legacy, &NOT_OURS.into()));
            }
        };
        let single_file = self.home.root().join(&legacy.single_file);
        self.remember_single_file(channel, &single_file);
        let default = self.files(channel, &AccountName::default());
        let single_file = match self.entry_is_missing(&default.credentials())? {
            true => self.read_single_file(&single_file)?,
            false => None,
        };
        Ok(Migration { moved, single_file })
    }

    /// Saves what the plugin made of the earliest single file as the account `default`, and
    /// removes that file.
    ///
    /// # Errors
    /// [`AccountsError::Busy`], I/O errors.
    pub fn import_single_file(
        &self,
        legacy: &Legacy,
        channel: &ChannelId,
        credentials: &Secret<Value>,
    ) -> Result<(), AccountsError> {
        let transaction = self.transaction(channel, &AccountName::default())?;
        if transaction.credentials()?.is_none() {
            transaction.write_credentials(credentials)?;
        }
        transaction.remove(&self.home.root().join(&legacy.single_file))
    }

    fn move_folder(&self, old: &Path, channel: &ChannelId) -> Result<bool, AccountsError> {
        let new = self.home.channel_dir(channel);
        if !self.entry_is_missing(&new)? {
            return Err(AccountsError::BothHomes);
        }
        let _locks = self.lock_all(old)?;
        files::private_dir(&*self.fs, &self.home.channels_dir())?;
        let rename = || {
            self.fs.rename(old, &new)?;
            files::sync_parent(&*self.fs, &new)?;
            files::sync_parent(&*self.fs, old)
        };
        rename().map_err(|error| AccountsError::io(What::Legacy, &error))?;
        Ok(true)
    }

    /// Both locks of every account that has any file in the old folder.
    fn lock_all(&self, old: &Path) -> Result<Vec<File>, AccountsError> {
        let mut accounts = BTreeSet::new();
        for folder in FOLDERS {
            accounts.extend(self.account_names(&old.join(folder))?);
        }
        for folder in ["locks", "transactions"] {
            files::private_dir(&*self.fs, &old.join(folder))?;
        }
        let mut held = Vec::new();
        for account in &accounts {
            let files = AccountFiles::in_dir(old.to_owned(), account);
            for path in [files.lifetime_lock(), files.transaction_lock()] {
                let lock = locks::try_lock(&*self.fs, &path)?;
                held.push(lock.ok_or(AccountsError::LegacyBusy)?);
            }
        }
        Ok(held)
    }

    fn account_names(&self, folder: &Path) -> Result<Vec<AccountName>, AccountsError> {
        let names = match self.fs.list(folder, MAX_DIR_ENTRIES_COUNT) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(AccountsError::io(What::Legacy, &error)),
        };
        // Files of other names move along; no release ever locked them.
        Ok(names
            .iter()
            .filter_map(|name| name.to_str()?.strip_suffix(".json"))
            .filter_map(|name| AccountName::new(name).ok())
            .collect())
    }

    fn read_single_file(&self, path: &Path) -> Result<Option<Secret<String>>, AccountsError> {
        let bytes = match self.fs.read(path, MAX_SMALL_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(AccountsError::io(What::Legacy, &error)),
        };
        let text = String::from_utf8(bytes).map_err(|_| AccountsError::Damaged {
            file: "credentials",
            problem: "the file of an older release is not text".into(),
        })?;
        Ok(Some(Secret::new(text)))
    }
}
