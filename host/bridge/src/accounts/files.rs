//! Small JSON files of an account, read whole and replaced atomically.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use super::{AccountsError, error::What, identity::sha256_hex};
use crate::{fs::FileSystem, limits::MAX_SMALL_FILE_BYTES};

/// A file's content and the hash of its bytes.
pub(super) struct Loaded<T> {
    pub(super) value: T,
    pub(super) hash: String,
}

pub(super) fn load<T: DeserializeOwned>(
    fs: &dyn FileSystem,
    path: &Path,
    what: What,
) -> Result<Option<Loaded<T>>, AccountsError> {
    let bytes = match fs.read(path, MAX_SMALL_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(damaged(what, "it is too large".into()));
        }
        Err(error) => return Err(AccountsError::io(what, &error)),
    };
    // serde_json's own text may quote the content, which may be a secret.
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        damaged(what, format!("not as expected at {place}"))
    })?;
    Ok(Some(Loaded { value, hash: sha256_hex(&bytes) }))
}

/// Replaces a file: a temporary one beside it, synced, renamed, folder synced.
pub(crate) fn replace(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = write_beside(fs, path, bytes)?;
    fs.rename(&temporary, path)?;
    sync_parent(fs, path)
}

/// Writes and syncs the temporary file that [`replace`] renames. Its name is fixed, so that
/// one left behind by a crash is found and replaced.
pub(crate) fn write_beside(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let temporary = beside(path);
    let mut file = match fs.create(&temporary) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs.remove(&temporary)?;
            fs.create(&temporary)?
        }
        other => other?,
    };
    file.write(bytes)?;
    file.sync_data()?;
    Ok(temporary)
}

/// The temporary file of a file.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".tmp");
    path.with_file_name(name)
}

/// The name of the file whose temporary file has this name.
pub(super) fn of_temporary(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".tmp")
}

/// Removes a file if it is there, durably.
pub(crate) fn remove(fs: &dyn FileSystem, path: &Path) -> io::Result<()> {
    match fs.remove(path) {
        Ok(()) => sync_parent(fs, path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

pub(crate) fn sync_parent(fs: &dyn FileSystem, path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| fs.sync_dir(parent))
}

/// Makes sure that a private folder is there, durably.
pub(super) fn private_dir(fs: &dyn FileSystem, path: &Path) -> Result<(), AccountsError> {
    let made = fs.private_dir(path);
    let synced = made.and_then(|made| if made { sync_parent(fs, path) } else { Ok(()) });
    synced.map_err(|error| AccountsError::io(What::Folder, &error))
}

fn damaged(what: What, problem: String) -> AccountsError {
    let file = match what {
        What::Settings => "settings",
        _ => "credentials",
    };
    AccountsError::Damaged { file, problem }
}
