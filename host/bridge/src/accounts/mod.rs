//! Accounts on disk: who is signed in, how each is set, and the two locks that keep one
//! account in one pair of hands.

mod bots;
mod error;
mod files;
mod glance;
mod identity;
mod legacy;
mod locks;
mod login;
mod settings;

use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use scv_plugin_api::wire::Secret;
use scv_protocol::{RemoteTools, Senders};
use serde_json::Value;

use bots::Bots;
pub use bots::Ticket;
pub use error::AccountsError;
pub(crate) use files::{remove, replace, sync_parent, write_beside};
pub use glance::Glance;
pub use identity::fingerprint;
pub(crate) use identity::sha256_hex;
pub use legacy::Migration;
pub use locks::{LifetimeLock, retry_busy};
pub use login::{LoginError, Saved, SavedIdentity, store_login};
pub use settings::{Settings, SettingsChange};

use crate::{
    AccountArgs, AccountName, ChannelId, Home,
    fs::{Entry, FileSystem},
    home::AccountFiles,
    limits::{MAX_ACCOUNTS_COUNT, MAX_DIR_ENTRIES_COUNT},
};
use error::What;
use locks::Transaction;

/// Credentials and settings of one account, read together.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// What the plugin made at sign-in.
    pub credentials: Secret<Value>,
    /// How the account is set.
    pub settings: Settings,
    /// Changes whenever one of the two files changes.
    pub revision: String,
}

/// All accounts of one home. Its calls block for a few file operations; none waits for a lock.
pub struct Accounts {
    home: Home,
    fs: Arc<dyn FileSystem>,
    bots: Bots,
    /// Where the earliest release kept the account `default`: logout removes it, too.
    single_files: Mutex<HashMap<ChannelId, PathBuf>>,
}

impl Accounts {
    /// The accounts under this home.
    pub fn new(home: Home, fs: Arc<dyn FileSystem>) -> Self {
        Self { home, fs, bots: Bots::default(), single_files: Mutex::default() }
    }

    /// Where they are.
    pub const fn home(&self) -> &Home {
        &self.home
    }

    /// The signed-in accounts of a channel, sorted. Removes what a sign-in that was cut off has
    /// left, as it holds a secret.
    ///
    /// # Errors
    /// [`AccountsError::TooMany`] beyond 128, [`AccountsError::TooManyFiles`],
    /// [`AccountsError::BadName`], and I/O errors: never a partial list.
    pub fn discover(&self, channel: &ChannelId) -> Result<Vec<AccountName>, AccountsError> {
        let names = self.list(self.home.accounts_dir(channel), What::Accounts)?;
        let names = names.iter().map(|name| name.to_str().ok_or(AccountsError::BadName));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        self.remove_leftovers(channel, &names);
        let accounts = names
            .iter()
            .filter(|name| !name.starts_with('.'))
            .filter_map(|name| name.strip_suffix(".json"))
            .map(|name| AccountName::new(name).map_err(|_| AccountsError::BadName))
            .collect::<Result<Vec<_>, _>>()?;
        if accounts.len() > MAX_ACCOUNTS_COUNT {
            return Err(AccountsError::TooMany(channel.clone()));
        }
        Ok(accounts)
    }

    /// Channels that have a folder here and are not among `known`, sorted.
    ///
    /// # Errors
    /// I/O errors: never a partial list.
    pub fn unclaimed(&self, known: &[ChannelId]) -> Result<Vec<ChannelId>, AccountsError> {
        let names = self.list(self.home.channels_dir(), What::Channels)?;
        let ids = names.iter().filter_map(|name| ChannelId::new(name.to_str()?).ok());
        Ok(ids.filter(|id| !known.contains(id)).collect())
    }

    /// Credentials and settings, read together; `None` when nobody is signed in.
    ///
    /// # Errors
    /// [`AccountsError::Busy`] to try again later, [`AccountsError::Damaged`] for a file that
    /// cannot be read as what it should be.
    pub fn snapshot(
        &self,
        channel: &ChannelId,
        account: &AccountName,
    ) -> Result<Option<Snapshot>, AccountsError> {
        let files = self.files(channel, account);
        if self.entry_is_missing(&files.credentials())? {
            return Ok(None);
        }
        let transaction = self.transaction(channel, account)?;
        let Some(credentials) = transaction.credentials()? else {
            return Ok(None);
        };
        let (settings, settings_hash) = transaction.settings()?;
        Ok(Some(Snapshot {
            revision: format!("{}{settings_hash}", credentials.revision),
            credentials: credentials.credentials,
            settings,
        }))
    }

    /// Changes how a signed-in account is set, and answers what is saved now.
    ///
    /// # Errors
    /// [`AccountsError::NotSignedIn`], [`AccountsError::Workspace`], [`AccountsError::Busy`].
    pub fn set(
        &self,
        channel: &ChannelId,
        account: &AccountName,
        change: SettingsChange,
    ) -> Result<Settings, AccountsError> {
        if let Some(workspace) = &change.workspace
            && !(workspace.is_absolute() && workspace.is_dir())
        {
            return Err(AccountsError::Workspace);
        }
        let not_signed_in = || AccountsError::NotSignedIn(AccountArgs::new(channel, account));
        let files = self.files(channel, account);
        if self.entry_is_missing(&files.credentials())? {
            return Err(not_signed_in());
        }
        let transaction = self.transaction(channel, account)?;
        if transaction.credentials()?.is_none() {
            return Err(not_signed_in());
        }
        let (before, _) = transaction.settings()?;
        let after = before.clone().with(change);
        if after != before {
            transaction.write_settings(&after)?;
        }
        Ok(after)
    }

    /// Removes everything that is saved of an account whose component has been stopped; the
    /// lock files stay. What was granted to remote senders is reset first, so that an
    /// interrupted logout cannot hand it to the next sign-in.
    ///
    /// # Errors
    /// [`AccountsError::Running`] while a bridge runs, [`AccountsError::NotSignedIn`] when there
    /// is nothing to remove, [`AccountsError::Busy`].
    pub fn logout(&self, channel: &ChannelId, account: &AccountName) -> Result<(), AccountsError> {
        let files = self.files(channel, account);
        if self.nothing_saved(&files)? {
            return Err(AccountsError::NotSignedIn(AccountArgs::new(channel, account)));
        }
        let _lifetime = self.lifetime(channel, account)?;
        let transaction = self.transaction(channel, account)?;
        transaction.write_settings(&Settings::signed_out())?;
        // Credentials first: from here on nothing starts. Base before journal: a journal alone
        // is recognised as left over, an old base alone would be taken for the whole state.
        transaction.remove(&files.credentials())?;
        if let Some(single_file) = self.single_file(channel, account) {
            transaction.remove(&single_file)?;
        }
        transaction.remove(&files.state())?;
        transaction.remove(&files.journal())?;
        transaction.remove(&files.keys())?;
        transaction.remove(&files.settings())
    }

    /// Takes the lock that one running bridge of an account holds all its life.
    ///
    /// # Errors
    /// [`AccountsError::Running`] when another process holds it.
    pub fn lifetime(
        &self,
        channel: &ChannelId,
        account: &AccountName,
    ) -> Result<LifetimeLock, AccountsError> {
        self.make_dirs(channel)?;
        let path = self.files(channel, account).lifetime_lock();
        locks::lifetime(&*self.fs, &path)
    }

    pub(crate) fn transaction(
        &self,
        channel: &ChannelId,
        account: &AccountName,
    ) -> Result<Transaction, AccountsError> {
        let files = self.files(channel, account);
        // The folders are nearly always there, and this runs every two seconds.
        if self.entry_is_missing(&files.transaction_lock())? {
            self.make_dirs(channel)?;
        }
        Transaction::begin(Arc::clone(&self.fs), files)
    }

    pub(crate) fn files(&self, channel: &ChannelId, account: &AccountName) -> AccountFiles {
        self.home.account(channel, account)
    }

    pub(crate) fn fs(&self) -> Arc<dyn FileSystem> {
        Arc::clone(&self.fs)
    }

    /// Makes the folders of a channel, private and durable.
    fn make_dirs(&self, channel: &ChannelId) -> Result<(), AccountsError> {
        let root = self.home.root().to_owned();
        if self.entry_is_missing(&root)? {
            files::private_dir(&*self.fs, &root)?;
        }
        let channel_dir = self.home.channel_dir(channel);
        files::private_dir(&*self.fs, &self.home.channels_dir())?;
        files::private_dir(&*self.fs, &channel_dir)?;
        for folder in ["accounts", "settings", "state", "journal", "locks", "transactions"] {
            files::private_dir(&*self.fs, &channel_dir.join(folder))?;
        }
        Ok(())
    }

    fn nothing_saved(&self, files: &AccountFiles) -> Result<bool, AccountsError> {
        for path in
            [files.credentials(), files.state(), files.journal(), files.keys(), files.settings()]
        {
            if !self.entry_is_missing(&path)? || !self.entry_is_missing(&files::beside(&path))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whoever writes credentials holds the transaction lock: while it is taken, or when the
    /// file cannot be removed, the next discovery tries again.
    fn remove_leftovers(&self, channel: &ChannelId, names: &[&str]) {
        let files = names.iter().filter_map(|name| files::of_temporary(name));
        let accounts = files.filter_map(|name| AccountName::new(name.strip_suffix(".json")?).ok());
        for account in accounts {
            let removed = self.transaction(channel, &account).and_then(|transaction| {
                transaction.remove_temporary(&transaction.files().credentials())
            });
            if let Err(error) = removed {
                tracing::debug!(%channel, %account, %error, "a cut-off sign-in's file is still there");
            }
        }
    }

    fn entry_is_missing(&self, path: &Path) -> Result<bool, AccountsError> {
        Ok(self.entry(path)?.is_none())
    }

    fn entry(&self, path: &Path) -> Result<Option<Entry>, AccountsError> {
        let entry = self.fs.entry(path);
        entry.map_err(|error| AccountsError::io(What::Account, &error))
    }

    fn remember_single_file(&self, channel: &ChannelId, path: &Path) {
        let mut known = self.single_files.lock().expect("no panic while it is held");
        known.insert(channel.clone(), path.to_owned());
    }

    fn single_file(&self, channel: &ChannelId, account: &AccountName) -> Option<PathBuf> {
        let known = self.single_files.lock().expect("no panic while it is held");
        (*account == AccountName::default()).then(|| known.get(channel).cloned())?
    }

    /// The names in a folder, sorted; none when it is not there.
    fn list(&self, dir: PathBuf, what: What) -> Result<Vec<OsString>, AccountsError> {
        match self.fs.list(&dir, MAX_DIR_ENTRIES_COUNT) {
            Ok(names) => Ok(names),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Err(AccountsError::TooManyFiles { what: what.name() })
            }
            Err(error) => Err(AccountsError::io(what, &error)),
        }
    }
}

/// What is in effect of the setting: `owner` only with a known owner.
pub fn effective_tools(setting: RemoteTools, owner: Option<&str>) -> RemoteTools {
    match owner {
        Some(owner) if !owner.is_empty() => setting,
        _ => RemoteTools::None,
    }
}

/// Whether a sender is answered at all.
pub(crate) fn is_answered(senders: Senders, sender: &str, owner: Option<&str>) -> bool {
    match senders {
        Senders::Everyone => true,
        Senders::Owner => owner.is_some_and(|owner| !owner.is_empty() && owner == sender),
    }
}
