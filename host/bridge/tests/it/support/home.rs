//! A home in a temporary folder with one signed-in account.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use scv_bridge::{
    AccountName, Accounts, ChannelId, Home,
    accounts::{SavedIdentity, Settings},
    fingerprint,
    fs::{FileSystem, RealFileSystem},
    store::{self, Opened, StoreError},
};
use scv_plugin_api::wire::{Identity, Relogin, Secret};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const BOT: &str = "bot-1";
pub(crate) const OWNER: &str = "olga";

pub(crate) struct TestHome {
    dir: TempDir,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) channel: ChannelId,
    pub(crate) account: AccountName,
}

impl TestHome {
    /// An empty home.
    pub(crate) fn new() -> Self {
        // Thousands of syncs: in memory where there is a file system in memory.
        let memory = Path::new("/dev/shm");
        let dir = match memory.is_dir() {
            true => TempDir::new_in(memory).unwrap(),
            false => TempDir::new().unwrap(),
        };
        let accounts = accounts_at(&dir, Arc::new(RealFileSystem));
        Self {
            dir,
            accounts,
            channel: ChannelId::new("pigeon").unwrap(),
            account: AccountName::default(),
        }
    }

    /// A home with the account `default` of channel `pigeon` signed in.
    pub(crate) fn signed_in() -> Self {
        let home = Self::new();
        home.sign_in(BOT, None).unwrap();
        home
    }

    pub(crate) fn sign_in(
        &self,
        bot: &str,
        saved: Option<&SavedIdentity>,
    ) -> Result<(), scv_bridge::AccountsError> {
        self.sign_in_over(&self.accounts, bot, saved)
    }

    pub(crate) fn sign_in_over(
        &self,
        accounts: &Accounts,
        bot: &str,
        saved: Option<&SavedIdentity>,
    ) -> Result<(), scv_bridge::AccountsError> {
        let credentials = credentials(bot);
        accounts.save_credentials(
            &self.channel,
            &self.account,
            &credentials,
            &fingerprint(&identity(credentials.expose())),
            Relogin::SameIdentity,
            saved,
        )
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// A path under the channel's folder.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join("channels/pigeon").join(relative)
    }

    pub(crate) fn state_path(&self) -> PathBuf {
        self.path("state/default.json")
    }

    pub(crate) fn journal_path(&self) -> PathBuf {
        self.path("journal/default.log")
    }

    /// The same home over another file system.
    pub(crate) fn over(&self, fs: Arc<dyn FileSystem>) -> Arc<Accounts> {
        accounts_at(&self.dir, fs)
    }

    pub(crate) fn open(&self) -> Result<Opened, StoreError> {
        self.open_over(&self.accounts)
    }

    pub(crate) fn open_over(&self, accounts: &Accounts) -> Result<Opened, StoreError> {
        self.open_as(accounts, &fingerprint(&identity(credentials(BOT).expose())))
    }

    pub(crate) fn open_as(
        &self,
        accounts: &Accounts,
        fingerprint: &str,
    ) -> Result<Opened, StoreError> {
        let lifetime = accounts.lifetime(&self.channel, &self.account);
        let lifetime = lifetime.map_err(|_| StoreError::Busy)?;
        store::open(accounts, &self.channel, &self.account, lifetime, fingerprint)
    }

    pub(crate) fn set(&self, change: scv_bridge::SettingsChange) -> Settings {
        self.accounts.set(&self.channel, &self.account, change).unwrap()
    }
}

fn accounts_at(dir: &TempDir, fs: Arc<dyn FileSystem>) -> Arc<Accounts> {
    Arc::new(Accounts::new(Home::new(dir.path()), fs))
}

pub(crate) fn credentials(bot: &str) -> Secret<Value> {
    Secret::new(json!({"token": "tok-fake-1", "bot": bot, "owner": OWNER}))
}

/// What the fake plugin says about credentials.
pub(crate) fn identity(credentials: &Value) -> Identity {
    let part = |name: &str| credentials[name].as_str().map(str::to_owned);
    Identity {
        bot_id: part("bot"),
        owner_id: part("owner"),
        display: None,
        fingerprint: vec![
            Some(Secret::new("pigeon".to_owned())),
            part("bot").map(Secret::new),
            part("owner").map(Secret::new),
        ],
    }
}
