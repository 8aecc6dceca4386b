//! The real file system, by handles that never follow a symlink in the last part.

use std::{
    ffi::OsString,
    fs::{DirBuilder, File, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use rustix::fs::OFlags;

use super::{DurableFile, Entry, EntryKind, FileSystem, NOT_OURS};

const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;
const OPEN_FLAGS: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();

/// The machine's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFileSystem;

impl FileSystem for RealFileSystem {
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let file = open_ours(path, OpenOptions::new().read(true))?;
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DurableFile>> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(FILE_MODE)
            .custom_flags(OPEN_FLAGS)
            .open(path)?;
        Ok(Box::new(file))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn DurableFile>> {
        Ok(Box::new(open_ours(path, OpenOptions::new().append(true))?))
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        open_ours(path, &mut options)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn private_dir(&self, path: &Path) -> io::Result<bool> {
        match DirBuilder::new().mode(DIR_MODE).create(path) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let dir = OpenOptions::new()
            .read(true)
            .custom_flags(OPEN_FLAGS | OFlags::DIRECTORY.bits().cast_signed())
            .open(path)
            .map_err(|error| unless_other(error, path, EntryKind::Dir))?;
        make_private(&dir, &dir.metadata()?, DIR_MODE)?;
        Ok(false)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn list(&self, path: &Path, limit: usize) -> io::Result<Vec<OsString>> {
        if !std::fs::symlink_metadata(path)?.is_dir() {
            return Err(NOT_OURS.into());
        }
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)? {
            names.push(entry?.file_name());
            if names.len() > limit {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        names.sort();
        Ok(names)
    }

    fn entry(&self, path: &Path) -> io::Result<Option<Entry>> {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Some(Entry {
                kind: kind(&metadata),
                mode: metadata.mode() & 0o7777,
                owner: metadata.uid(),
                len: metadata.len(),
                inode: metadata.ino(),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl DurableFile for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        Self::sync_data(self)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let ours = self.metadata()?;
        match std::fs::symlink_metadata(path) {
            Ok(there) => Ok(there.dev() == ours.dev() && there.ino() == ours.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn open_ours(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options
        .mode(FILE_MODE)
        .custom_flags(OPEN_FLAGS)
        .open(path)
        .map_err(|error| unless_other(error, path, EntryKind::File))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(NOT_OURS.into());
    }
    make_private(&file, &metadata, FILE_MODE)?;
    Ok(file)
}

/// A file that a person wrote with an editor may have a wider mode: narrowed rather than
/// refused. Somebody else's is refused.
fn make_private(file: &File, metadata: &Metadata, mode: u32) -> io::Result<()> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(NOT_OURS.into());
    }
    if metadata.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Why a path could not be opened, in one word for whatever is not of this kind: each of them
/// fails in a way of its own.
fn unless_other(error: io::Error, path: &Path, expected: EntryKind) -> io::Error {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if kind(&metadata) != expected => NOT_OURS.into(),
        _ => error,
    }
}

fn kind(metadata: &Metadata) -> EntryKind {
    match metadata {
        m if m.is_file() => EntryKind::File,
        m if m.is_dir() => EntryKind::Dir,
        _ => EntryKind::Other,
    }
}
