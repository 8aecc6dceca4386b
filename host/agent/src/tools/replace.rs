//! Whole files, written so that a reader sees the old one or the new one, and nothing between.

use std::{
    ffi::OsStr,
    io::{self, Read, Write},
};

use cap_std::fs::{
    Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt,
};
use sha2::{Digest, Sha256};

use super::place::{FileFault, open_file};
use crate::id::{IdSource, RandomIds};

/// A file's bytes, and a mark by which a change of it is seen.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    version: Version,
}

#[derive(Debug, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Reads a file as a whole.
pub(super) fn read(folder: &Dir, name: &OsStr, max: usize) -> Result<Content, FileFault> {
    let (file, metadata) = open_file(folder, name)?;
    let mut bytes = Vec::new();
    file.take(max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max {
        return Err(FileFault::TooLarge(max));
    }
    Ok(Content { bytes, version: Version::of(&metadata) })
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Creates a file, or replaces one, which then must still be as it was read in `expected`. A file
/// that is replaced keeps its mode.
pub(super) fn replace(
    folder: &Dir,
    name: &OsStr,
    content: &[u8],
    expected: Option<&Content>,
) -> Result<(), FileFault> {
    let mode = current(folder, name)?.map(|old| old.permissions().mode() & 0o777);
    let (temporary, mut file) = Temporary::create(folder, mode)?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    if let Some(expected) = expected {
        let now = current(folder, name)?.ok_or(FileFault::Changed)?;
        if Version::of(&now) != expected.version {
            return Err(FileFault::Changed);
        }
    }
    Ok(temporary.rename(name)?)
}

/// The regular file of this name, if there is one.
fn current(folder: &Dir, name: &OsStr) -> Result<Option<Metadata>, FileFault> {
    match folder.symlink_metadata(name) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata)),
        // A link was followed before: this one was put there meanwhile.
        Ok(metadata) if metadata.is_symlink() => Err(FileFault::Changed),
        Ok(_) => Err(FileFault::NotAFile),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Version {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A new file under a name of its own, removed unless it is renamed.
struct Temporary<'a> {
    folder: &'a Dir,
    name: String,
    is_renamed: bool,
}

impl<'a> Temporary<'a> {
    fn create(folder: &'a Dir, mode: Option<u32>) -> Result<(Self, File), FileFault> {
        let name = format!(".scv-{}.tmp", RandomIds.next());
        let mut options = OpenOptions::new();
        // As any program's new file in a workspace, the umask decides.
        options.write(true).create_new(true).mode(mode.unwrap_or(0o666));
        let file = folder.open_with(&name, &options)?;
        let temporary = Self { folder, name, is_renamed: false };
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok((temporary, file))
    }

    fn rename(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}
