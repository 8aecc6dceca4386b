//! The file system as this room needs it: every durable change of accounts and state is one
//! call of this trait, so that a test can fail, stop or kill at the n-th of them.

mod real;

use std::{ffi::OsString, io, path::Path};

pub use real::RealFileSystem;

/// The error kind for what stands at a path and is not ours to use: a symlink, an entry of
/// another kind, another user's. The system itself never reports it.
pub const NOT_OURS: io::ErrorKind = io::ErrorKind::InvalidData;

/// What accounts and state ask of a file system. Nothing here but [`FileSystem::sync_dir`]
/// follows a symlink in the last part of a path, and everything that is created is private from birth (0600, folders 0700).
///
/// All calls block.
pub trait FileSystem: Send + Sync {
    /// Reads a whole file of ours; one with a wider mode is first made private.
    ///
    /// # Errors
    /// `NotFound`; `FileTooLarge` when it has more than `limit` bytes; [`NOT_OURS`] for a symlink,
    /// anything but a regular file, or a file of another user.
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>>;

    /// Creates a file that does not exist yet, for writing.
    ///
    /// # Errors
    /// `AlreadyExists`, also for a symlink.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DurableFile>>;

    /// Opens an existing file of ours; writes go to its end.
    ///
    /// # Errors
    /// As [`FileSystem::read`].
    fn append(&self, path: &Path) -> io::Result<Box<dyn DurableFile>>;

    /// Opens a lock file, and creates it when it is missing. Only its lock is used.
    ///
    /// # Errors
    /// As [`FileSystem::read`].
    fn open_lock(&self, path: &Path) -> io::Result<std::fs::File>;

    /// Gives a file or folder another name, replacing a file of that name.
    ///
    /// # Errors
    /// Those of the system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes sure that a private folder of ours is there; true when it was made.
    ///
    /// # Errors
    /// [`NOT_OURS`] for a symlink, anything but a folder, or a folder of another user.
    fn private_dir(&self, path: &Path) -> io::Result<bool>;

    /// Makes creations, renames and removals in a folder durable.
    ///
    /// # Errors
    /// Those of the system.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder, sorted; an entry that cannot be read fails the whole call.
    ///
    /// # Errors
    /// `NotFound`; `FileTooLarge` beyond `limit` entries; [`NOT_OURS`] for anything but a folder.
    fn list(&self, path: &Path, limit: usize) -> io::Result<Vec<OsString>>;

    /// What stands at a path, without following it.
    ///
    /// # Errors
    /// Those of the system; a missing entry is `Ok(None)`.
    fn entry(&self, path: &Path) -> io::Result<Option<Entry>>;
}

/// A file that is being written.
pub trait DurableFile: Send {
    /// Writes everything at the end.
    ///
    /// # Errors
    /// Those of the system; a part may have been written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes the content durable (`fdatasync`).
    ///
    /// # Errors
    /// Those of the system; nothing is known about what was written since the last sync.
    fn sync_data(&mut self) -> io::Result<()>;

    /// Cuts the file to `len` bytes.
    ///
    /// # Errors
    /// Those of the system.
    fn set_len(&mut self, len: u64) -> io::Result<()>;

    /// Whether `path` still names this very file.
    ///
    /// # Errors
    /// Those of the system; a missing path is `Ok(false)`.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// A regular file, a folder, or something else.
    pub kind: EntryKind,
    /// The permission bits.
    pub mode: u32,
    /// The owner's user id.
    pub owner: u32,
    /// Size in bytes.
    pub len: u64,
    /// Tells a file from one that took its name.
    pub inode: u64,
    /// When content, mode or name last changed: Unix seconds and nanoseconds.
    pub changed: (i64, i64),
}

/// The kinds of entries that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symlink, a socket, a device.
    Other,
}
