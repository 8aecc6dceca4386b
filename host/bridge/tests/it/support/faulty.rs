//! A file system that fails or stops at its n-th durable operation, and counts them.

use std::{
    ffi::OsString,
    fs::File,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use scv_bridge::fs::{DurableFile, Entry, FileSystem, RealFileSystem};

/// What happens at the n-th operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: operations are only counted.
    Never,
    /// It fails, later ones succeed.
    Once(io::ErrorKind),
    /// It fails, and so do all later ones.
    Always(io::ErrorKind),
    /// A write stops half way and fails; anything else fails.
    Short,
    /// It is the last one that is done.
    StopAfter,
}

/// Counts, and fails as it is told.
#[derive(Clone)]
pub(crate) struct FaultyFileSystem(Arc<Plan>);

struct Plan {
    at: usize,
    fault: Fault,
    done: AtomicUsize,
    syncs: AtomicUsize,
    bytes: AtomicU64,
}

impl FaultyFileSystem {
    pub(crate) fn new(at: usize, fault: Fault) -> Self {
        Self(Arc::new(Plan {
            at,
            fault,
            done: AtomicUsize::new(0),
            syncs: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
        }))
    }

    pub(crate) fn counting() -> Self {
        Self::new(usize::MAX, Fault::Never)
    }

    /// Durable operations so far.
    pub(crate) fn operations(&self) -> usize {
        self.0.done.load(Ordering::SeqCst)
    }

    /// Syncs of files and folders so far.
    pub(crate) fn syncs(&self) -> usize {
        self.0.syncs.load(Ordering::SeqCst)
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::SeqCst)
    }
}

impl Plan {
    /// Counts an operation, and does it unless it is to fail.
    fn run<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let n = self.done.fetch_add(1, Ordering::SeqCst);
        let kind = match self.fault {
            Fault::Once(kind) if n == self.at => kind,
            Fault::Always(kind) if n >= self.at => kind,
            Fault::Short if n == self.at => io::ErrorKind::StorageFull,
            Fault::StopAfter if n > self.at => io::ErrorKind::Other,
            _ => return work(),
        };
        Err(kind.into())
    }

    fn sync<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        self.run(work)
    }
}

impl FileSystem for FaultyFileSystem {
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        RealFileSystem.read(path, limit)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DurableFile>> {
        let file = self.0.run(|| RealFileSystem.create(path))?;
        Ok(self.wrap(file))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn DurableFile>> {
        Ok(self.wrap(RealFileSystem.append(path)?))
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        RealFileSystem.open_lock(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.run(|| RealFileSystem.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match RealFileSystem.entry(path)? {
            Some(_) => self.0.run(|| RealFileSystem.remove(path)),
            None => RealFileSystem.remove(path),
        }
    }

    fn private_dir(&self, path: &Path) -> io::Result<bool> {
        match RealFileSystem.entry(path)? {
            Some(_) => RealFileSystem.private_dir(path),
            None => self.0.run(|| RealFileSystem.private_dir(path)),
        }
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync(|| RealFileSystem.sync_dir(path))
    }

    fn list(&self, path: &Path, limit: usize) -> io::Result<Vec<OsString>> {
        RealFileSystem.list(path, limit)
    }

    fn entry(&self, path: &Path) -> io::Result<Option<Entry>> {
        RealFileSystem.entry(path)
    }
}

impl FaultyFileSystem {
    fn wrap(&self, file: Box<dyn DurableFile>) -> Box<dyn DurableFile> {
        Box::new(FaultyFile { plan: Arc::clone(&self.0), file })
    }
}

struct FaultyFile {
    plan: Arc<Plan>,
    file: Box<dyn DurableFile>,
}

impl DurableFile for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.plan.bytes.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        let is_short = self.plan.fault == Fault::Short
            && self.plan.done.load(Ordering::SeqCst) == self.plan.at;
        if is_short {
            self.file.write(&bytes[..bytes.len() / 2])?;
        }
        self.plan.run(|| self.file.write(bytes))
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.plan.sync(|| self.file.sync_data())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.plan.run(|| self.file.set_len(len))
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(path)
    }
}
