//! The two locks of an account. Both are advisory (flock) and never waited for; the lock files
//! stay for ever, so that two holders can never have locked different files.

use std::{fs::File, io, path::Path, sync::Arc, time::Duration};

use fs4::{FileExt, TryLockError};
use scv_plugin_api::wire::Secret;
use serde_json::Value;

use super::{AccountsError, Saved, Settings, error::What, files};
use crate::{
    fs::FileSystem,
    home::AccountFiles,
    limits::{BUSY_RETRY_MS, BUSY_STEP_MS},
};

/// Held by the one running bridge of an account; dropping it releases it.
#[derive(Debug)]
pub struct LifetimeLock(#[expect(dead_code, reason = "holds the lock while it is open")] File);

pub(super) fn lifetime(fs: &dyn FileSystem, path: &Path) -> Result<LifetimeLock, AccountsError> {
    match try_lock(fs, path)? {
        Some(file) => Ok(LifetimeLock(file)),
        None => Err(AccountsError::Running),
    }
}

/// The short lock under which credentials, settings and state files are read and replaced.
/// No network I/O happens while it is held.
pub(crate) struct Transaction {
    fs: Arc<dyn FileSystem>,
    files: AccountFiles,
    _lock: File,
}

impl Transaction {
    pub(super) fn begin(
        fs: Arc<dyn FileSystem>,
        files: AccountFiles,
    ) -> Result<Self, AccountsError> {
        let lock = try_lock(&*fs, &files.transaction_lock())?.ok_or(AccountsError::Busy)?;
        Ok(Self { fs, files, _lock: lock })
    }

    pub(super) fn credentials(&self) -> Result<Option<Saved>, AccountsError> {
        let loaded = files::load::<Value>(&*self.fs, &self.files.credentials(), What::Credentials)?;
        let Some(loaded) = loaded else {
            return Ok(None);
        };
        if !loaded.value.is_object() {
            return Err(AccountsError::Damaged {
                file: "credentials",
                problem: "not a JSON object".into(),
            });
        }
        Ok(Some(Saved { credentials: Secret::new(loaded.value), revision: loaded.hash }))
    }

    /// The settings and the hash of their bytes; defaults and an empty hash without a file.
    pub(super) fn settings(&self) -> Result<(Settings, String), AccountsError> {
        let loaded = files::load::<Settings>(&*self.fs, &self.files.settings(), What::Settings)?;
        Ok(loaded.map_or_else(Default::default, |loaded| (loaded.value, loaded.hash)))
    }

    pub(super) fn write_settings(&self, settings: &Settings) -> Result<(), AccountsError> {
        let bytes = serde_json::to_vec(settings).map_err(|_| AccountsError::Workspace)?;
        files::replace(&*self.fs, &self.files.settings(), &bytes)
            .map_err(|error| AccountsError::io(What::Settings, &error))
    }

    pub(super) fn write_credentials(&self, value: &Secret<Value>) -> Result<(), AccountsError> {
        let bytes = serde_json::to_vec(value).expect("a JSON value is always JSON");
        files::replace(&*self.fs, &self.files.credentials(), &bytes)
            .map_err(|error| AccountsError::io(What::Credentials, &error))
    }

    /// Removes a file, and first what a write of it that was cut off has left beside it.
    pub(super) fn remove(&self, path: &Path) -> Result<(), AccountsError> {
        self.remove_temporary(path)?;
        files::remove(&*self.fs, path).map_err(|error| AccountsError::io(What::Account, &error))
    }

    pub(super) fn remove_temporary(&self, path: &Path) -> Result<(), AccountsError> {
        files::remove(&*self.fs, &files::beside(path))
            .map_err(|error| AccountsError::io(What::Account, &error))
    }

    pub(super) fn files(&self) -> &AccountFiles {
        &self.files
    }
}

/// Locks a file, or answers `None` when somebody else holds it.
pub(super) fn try_lock(fs: &dyn FileSystem, path: &Path) -> Result<Option<File>, AccountsError> {
    let lock = || -> io::Result<Option<File>> {
        let file = fs.open_lock(path)?;
        match FileExt::try_lock(&file) {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    };
    lock().map_err(|error| AccountsError::io(What::Lock, &error))
}

/// Repeats an account command while the account is busy, for up to five seconds, so that it
/// waits out a running bridge's commit instead of failing.
///
/// # Errors
/// Those of the command; [`AccountsError::Busy`] when it was busy all the time.
pub async fn retry_busy<T>(
    mut command: impl FnMut() -> Result<T, AccountsError>,
) -> Result<T, AccountsError> {
    let give_up = tokio::time::Instant::now() + Duration::from_millis(BUSY_RETRY_MS);
    loop {
        match command() {
            Err(error) if error.is_busy() && tokio::time::Instant::now() < give_up => {
                tokio::time::sleep(Duration::from_millis(BUSY_STEP_MS)).await;
            }
            result => return result,
        }
    }
}
