//! Where everything lies under `$SCV_HOME`. Only here are such paths put together.

use std::path::{Path, PathBuf};

use crate::{AccountName, ChannelId};

/// The home folder of scv.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// `$SCV_HOME`, absolute. The folder need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// All channels.
    pub fn channels_dir(&self) -> PathBuf {
        self.0.join("channels")
    }

    /// One channel.
    pub fn channel_dir(&self, channel: &ChannelId) -> PathBuf {
        self.channels_dir().join(channel.as_str())
    }

    /// The credentials of a channel's accounts.
    pub fn accounts_dir(&self, channel: &ChannelId) -> PathBuf {
        self.channel_dir(channel).join(ACCOUNTS)
    }

    /// The folders of a channel's folder that people and commands write to.
    pub(crate) fn saved_dirs(channel_dir: &Path) -> [PathBuf; 2] {
        [channel_dir.join(ACCOUNTS), channel_dir.join(SETTINGS)]
    }

    /// Where an older release kept a channel, as the manifest names it.
    pub fn legacy_dir(&self, home_dir: &str) -> PathBuf {
        self.0.join(home_dir)
    }

    /// Every file of one account.
    pub(crate) fn account(&self, channel: &ChannelId, account: &AccountName) -> AccountFiles {
        AccountFiles::in_dir(self.channel_dir(channel), account)
    }
}

const ACCOUNTS: &str = "accounts";
const SETTINGS: &str = "settings";

/// Every file of one account.
#[derive(Debug, Clone)]
pub(crate) struct AccountFiles {
    dir: PathBuf,
    json: String,
    account: String,
}

impl AccountFiles {
    pub(crate) fn in_dir(dir: PathBuf, account: &AccountName) -> Self {
        Self { dir, json: format!("{account}.json"), account: account.to_string() }
    }

    pub(crate) fn credentials(&self) -> PathBuf {
        self.dir.join(ACCOUNTS).join(&self.json)
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.dir.join(SETTINGS).join(&self.json)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.join("state").join(&self.json)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.dir.join("journal").join(format!("{}.log", self.account))
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.dir.join("journal").join(format!("{}.keys", self.account))
    }

    pub(crate) fn lifetime_lock(&self) -> PathBuf {
        self.dir.join("locks").join(&self.json)
    }

    pub(crate) fn transaction_lock(&self) -> PathBuf {
        self.dir.join("transactions").join(&self.json)
    }
}
