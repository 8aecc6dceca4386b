//! Step 6: the private copy that is loaded, named by its hash.
//!
//! The original may be overwritten while it serves, which would end a process that has it
//! mapped; and the system's loader answers a known path with old code. A copy whose name is
//! its hash has neither trouble.
//!
//! Several processes of one user share the folder. Whoever changes it holds the folder's lock,
//! and whoever uses a copy holds a shared lock on that; so all else was left behind.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock},
    process::geteuid,
};
use tokio::time::{Instant, sleep};

use crate::{
    Refusal, Step,
    limits::{CACHE_LOCK_MS, CACHE_LOCK_POLL_MS},
    read::{Contents, open, sha256_of},
    sentinel,
};

const LOCK: &str = "lock";
/// One name for all: what a killed process left behind is replaced by the next.
pub(crate) const UNFINISHED: &str = "new.tmp";

/// A private copy, which no scv process removes while this is held.
#[derive(Debug)]
pub(crate) struct HeldCopy {
    pub(crate) path: PathBuf,
    _lock: File,
}

/// The folder of copies, which nobody else changes while this is held.
pub(crate) struct Cache {
    pub(crate) dir: PathBuf,
    _lock: File,
}

impl HeldCopy {
    /// Holds a copy that another process of scv has made and checked.
    pub(crate) fn open(path: &Path) -> Result<Self, Refusal> {
        let held = open(path).and_then(|copy| hold(path.to_owned(), copy));
        held.map_err(|error| refuse(path.parent().unwrap_or(path), &error))
    }
}

impl Cache {
    /// Makes the folder where it is missing, and waits for its lock a limited time.
    pub(crate) async fn lock(cache_dir: &Path) -> Result<Self, Refusal> {
        let deadline = Instant::now() + Duration::from_millis(CACHE_LOCK_MS);
        loop {
            match Self::make(cache_dir) {
                Ok(cache) => return Ok(cache),
                Err(error) if error.kind() != ErrorKind::WouldBlock => {
                    return Err(refuse(cache_dir, &error));
                }
                Err(_) if Instant::now() > deadline => {
                    let dir = cache_dir.display();
                    return Err(Refusal::new(
                        Step::Copy,
                        format!("another scv process does not leave {dir} to this one"),
                        "end it, then run `scv reload`",
                    )
                    .transient());
                }
                Err(_) => sleep(Duration::from_millis(CACHE_LOCK_POLL_MS)).await,
            }
        }
    }

    fn make(cache_dir: &Path) -> io::Result<Self> {
        let dir = cache_dir.join("plugins");
        make_private(cache_dir)?;
        make_private(&dir)?;
        Self::try_lock(dir)
    }

    fn try_lock(dir: PathBuf) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::open(dir.join(LOCK), flags, Mode::RUSR | Mode::WUSR)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { dir, _lock: lock.into() })
    }

    /// The copy of these bytes that an earlier load made, if it is still what its name says.
    pub(crate) fn find(&self, sha256: &str) -> Result<Option<HeldCopy>, Refusal> {
        let path = self.path(sha256);
        let held = intact(&path, sha256).map(|copy| hold(path, copy)).transpose();
        held.map_err(|error| refuse(&self.dir, &error))
    }

    /// Puts the bytes into `<sha256>.so` unless they are there already.
    pub(crate) fn store(&self, contents: &Contents) -> Result<HeldCopy, Refusal> {
        if let Some(copy) = self.find(&contents.sha256)? {
            return Ok(copy);
        }
        let path = self.path(&contents.sha256);
        let written = write(&self.dir, &path, &contents.bytes).and_then(|copy| hold(path, copy));
        written.map_err(|error| refuse(&self.dir, &error))
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.dir.join(format!("{sha256}.so"))
    }
}

fn hold(path: PathBuf, copy: File) -> io::Result<HeldCopy> {
    flock(&copy, FlockOperation::NonBlockingLockShared)?;
    Ok(HeldCopy { path, _lock: copy })
}

fn refuse(dir: &Path, error: &io::Error) -> Refusal {
    let refusal = Refusal::new(
        Step::Copy,
        format!("its private copy cannot be made in {}: {error}", dir.display()),
        "make room there, or make the folder yours with mode 0700",
    );
    // What is judged here, and not by the system, stays as it is.
    if error.kind() == ErrorKind::Other { refusal } else { refusal.transient() }
}

/// Removes what was never finished, and every copy that nobody holds and that is not of a file
/// in `found`. What cannot be removed now is looked at again the next time.
pub(crate) fn sweep(cache_dir: &Path, found: &BTreeSet<String>) {
    if let Err(error) = try_sweep(cache_dir.join("plugins"), found) {
        tracing::debug!(%error, "the private copies of plugins were not tidied up");
    }
}

fn try_sweep(dir: PathBuf, found: &BTreeSet<String>) -> io::Result<()> {
    check_private(&dir)?;
    let cache = Cache::try_lock(dir)?;
    for entry in fs::read_dir(&cache.dir)? {
        let path = entry?.path();
        if is_left_behind(&path, found) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn is_left_behind(path: &Path, found: &BTreeSet<String>) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.rsplit_once('.') {
        Some((sha256, "so")) => !found.contains(sha256) && !is_held(path),
        Some((sha256, "probed")) => !found.contains(sha256),
        Some((sha256, "loading")) => !found.contains(sha256) && !sentinel::is_held(path),
        _ => name == UNFINISHED,
    }
}

fn is_held(path: &Path) -> bool {
    let exclusive = |file| flock(&file, FlockOperation::NonBlockingLockExclusive);
    !open(path).is_ok_and(|file| exclusive(file).is_ok())
}

fn make_private(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => check_private(dir),
        made => made,
    }
}

fn check_private(dir: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(dir)?;
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
        return Err(io::Error::other("it is not a folder of this user"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(io::Error::other("others have access to it"));
    }
    Ok(())
}

/// An earlier copy is used only when its bytes are still what its name says.
fn intact(path: &Path, sha256: &str) -> Option<File> {
    let private = |metadata: Metadata| {
        metadata.is_file() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o077 == 0
    };
    let copy = open(path).ok()?;
    let intact = copy.metadata().is_ok_and(private) && sha256_of(&copy).ok()? == sha256;
    intact.then_some(copy)
}

fn write(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<File> {
    let unfinished = dir.join(UNFINISHED);
    let _ = fs::remove_file(&unfinished);
    let written = write_through(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    File::open(dir)?.sync_all()?;
    open(path)
}

fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o500).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::{io::Seek, os::unix::fs::PermissionsExt};

    use super::*;

    fn contents(bytes: &[u8]) -> Contents {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        Contents::read(&file).unwrap()
    }

    fn store(cache: &Path, contents: &Contents) -> Result<HeldCopy, Refusal> {
        Cache::make(cache).map_err(|error| refuse(cache, &error))?.store(contents)
    }

    /// Names in the cache, but for the lock's.
    fn names(cache: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(cache.join("plugins")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != LOCK).collect()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_copy_is_private_and_made_once() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let path = store(&cache, &contents(b"code")).unwrap().path;
        assert_eq!(fs::read(&path).unwrap(), b"code");
        assert_eq!(
            (mode(&path), mode(path.parent().unwrap()), mode(&cache)),
            (0o500, 0o700, 0o700)
        );
        let inode = fs::metadata(&path).unwrap().ino();
        assert_eq!(store(&cache, &contents(b"code")).unwrap().path, path);
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        assert_eq!(names(&cache).len(), 1);
    }

    #[test]
    fn a_copy_with_other_bytes_or_modes_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let path = store(&cache, &contents(b"code")).unwrap().path;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(&path, b"evil").unwrap();
        store(&cache, &contents(b"code")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"code");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        store(&cache, &contents(b"code")).unwrap();
        assert_eq!(mode(&path), 0o500);
    }

    #[test]
    fn a_copy_that_is_a_link_is_replaced_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let path = store(&cache, &contents(b"code")).unwrap().path;
        let elsewhere = home.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        store(&cache, &contents(b"code")).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        fs::create_dir(&cache).unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
        let refusal = store(&cache, &contents(b"code")).unwrap_err();
        assert_eq!(refusal.step, Step::Copy);
        assert!(!refusal.is_transient(), "somebody has to change it");
    }

    #[test]
    fn what_a_killed_process_left_is_replaced_and_swept() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let first = store(&cache, &contents(b"code")).unwrap();
        let unfinished = cache.join("plugins").join(UNFINISHED);
        fs::write(&unfinished, b"half").unwrap();
        store(&cache, &contents(b"other code")).unwrap();
        assert!(!unfinished.exists(), "its name was used again");
        fs::write(&unfinished, b"half").unwrap();
        sweep(&cache, &BTreeSet::new());
        let held = first.path.file_name().unwrap().to_str().unwrap();
        assert_eq!(names(&cache), BTreeSet::from([held.to_owned()]));
    }

    #[test]
    fn a_copy_goes_when_its_file_is_gone_and_nobody_holds_it() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let (held, free) = (contents(b"held"), contents(b"free"));
        let (one, two) = (store(&cache, &held).unwrap(), store(&cache, &held).unwrap());
        store(&cache, &free).unwrap();
        let files = |all: &[&Contents]| -> BTreeSet<String> {
            all.iter().map(|contents| format!("{}.so", contents.sha256)).collect()
        };
        sweep(&cache, &BTreeSet::from([free.sha256.clone()]));
        assert_eq!(names(&cache), files(&[&held, &free]));
        drop(one);
        sweep(&cache, &BTreeSet::new());
        assert_eq!(names(&cache), files(&[&held]), "somebody else holds it still");
        drop(two);
        sweep(&cache, &BTreeSet::new());
        assert!(names(&cache).is_empty());
    }

    #[tokio::test]
    async fn a_copy_that_is_handed_out_is_there_whoever_sweeps() {
        let home = tempfile::tempdir().unwrap();
        let cache = &home.path().join("cache");
        let user = async |bytes: &[u8]| {
            let contents = contents(bytes);
            for _ in 0..20 {
                let copy = Cache::lock(cache).await.unwrap().store(&contents).unwrap();
                sweep(cache, &BTreeSet::new());
                tokio::task::yield_now().await;
                assert_eq!(fs::read(&copy.path).unwrap(), bytes);
            }
        };
        tokio::join!(user(b"one"), user(b"one"), user(b"two"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_that_is_not_given_back_is_waited_for_only_so_long() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let held = Cache::lock(&cache).await.unwrap();
        let refusal = Cache::lock(&cache).await.err().expect("it is held");
        assert!(refusal.is_transient() && refusal.reason.contains("another scv"), "{refusal}");
        drop(held);
        assert!(Cache::lock(&cache).await.is_ok());
    }
}
