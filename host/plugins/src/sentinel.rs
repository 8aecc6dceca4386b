//! The mark of a load that is under way: `<sha256>.loading` beside the private copy.
//!
//! It is there only while plugin code may bring this process down, and its lock is held by the
//! process that loads. One whose lock is free was left behind by a process that died meanwhile.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::{
    Refusal, Step,
    cache::{Cache, UNFINISHED},
    limits::{CACHE_LOCK_POLL_MS, MAX_SENTINEL_BYTES, SENTINEL_WAIT_MS},
    read,
};

/// What a mark says.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    /// Always 1: the mark is ours.
    scv_loading: u32,
    /// Which load in a row this is that may be the last.
    attempt: u32,
}

/// What was found in the place of a mark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LeftBehind {
    /// Nothing: the last load of this file came to its end.
    Nothing,
    /// A process died in this attempt to load the file.
    Attempt(u32),
    /// It is not of our making.
    Foreign,
}

/// A raised mark. Dropping it takes it away.
#[derive(Debug)]
pub(crate) struct Sentinel {
    path: PathBuf,
    _lock: File,
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        // One that stays is looked at again: nothing is lost by it.
        let _ = fs::remove_file(&self.path);
    }
}

/// What the last load of these bytes left behind. Waits while another process loads them.
pub(crate) async fn left_behind(cache_dir: &Path, sha256: &str) -> Result<LeftBehind, Refusal> {
    while_free(cache_dir, |cache| Ok(look(&path(cache, sha256))?.map(|(left, _)| left))).await
}

/// Raises the mark for one more attempt.
pub(crate) async fn raise(
    cache_dir: &Path,
    sha256: &str,
    attempt: u32,
) -> Result<Sentinel, Refusal> {
    let raise = |cache: &Cache| {
        let path = path(cache, sha256);
        if look(&path)?.is_none() {
            return Ok(None);
        }
        write(&cache.dir, &path, attempt).map(Some)
    };
    while_free(cache_dir, raise).await
}

/// Takes away what was left behind, once it was judged.
pub(crate) fn clear(cache_dir: &Path, sha256: &str) {
    let _ = fs::remove_file(cache_dir.join("plugins").join(file_name(sha256)));
}

/// Whether a mark's process still loads.
pub(crate) fn is_held(path: &Path) -> bool {
    !matches!(look(path), Ok(Some(_)))
}

fn file_name(sha256: &str) -> String {
    format!("{sha256}.loading")
}

fn path(cache: &Cache, sha256: &str) -> PathBuf {
    cache.dir.join(file_name(sha256))
}

/// Does something under the folder's lock as soon as nobody holds the mark.
async fn while_free<T>(
    cache_dir: &Path,
    mut work: impl FnMut(&Cache) -> io::Result<Option<T>>,
) -> Result<T, Refusal> {
    let deadline = Instant::now() + Duration::from_millis(SENTINEL_WAIT_MS);
    loop {
        let cache = Cache::lock(cache_dir).await?;
        match work(&cache) {
            Ok(Some(done)) => return Ok(done),
            Ok(None) if Instant::now() > deadline => return Err(busy()),
            Ok(None) => drop(cache),
            Err(error) => return Err(unusable(&error)),
        }
        sleep(Duration::from_millis(CACHE_LOCK_POLL_MS)).await;
    }
}

/// None while another process holds the mark.
fn look(path: &Path) -> io::Result<Option<(LeftBehind, Option<File>)>> {
    let file = match read::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some((LeftBehind::Nothing, None)));
        }
        // Whatever stands there, we did not make it.
        Err(_) => return Ok(Some((LeftBehind::Foreign, None))),
    };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    if file.metadata()?.nlink() == 0 {
        // Its load has ended between the two.
        return Ok(Some((LeftBehind::Nothing, None)));
    }
    let mut bytes = Vec::new();
    let read = (&file).take(MAX_SENTINEL_BYTES).read_to_end(&mut bytes);
    let content = read.ok().and_then(|_| serde_json::from_slice::<Content>(&bytes).ok());
    let left = match content {
        Some(Content { scv_loading: 1, attempt }) => LeftBehind::Attempt(attempt),
        _ => LeftBehind::Foreign,
    };
    Ok(Some((left, Some(file))))
}

/// Whole and locked before it has its name: a mark without its words would be a foreign one.
fn write(dir: &Path, path: &Path, attempt: u32) -> io::Result<Sentinel> {
    let unfinished = dir.join(UNFINISHED);
    let _ = fs::remove_file(&unfinished);
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).create_new(true).mode(0o600).open(&unfinished)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    file.write_all(&serde_json::to_vec(&Content { scv_loading: 1, attempt })?)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    Ok(Sentinel { path: path.to_owned(), _lock: file })
}

fn busy() -> Refusal {
    Refusal::new(
        Step::Load,
        "another scv process is loading the same file and does not come to an end",
        "end it, then run `scv reload`",
    )
    .transient()
}

fn unusable(error: &io::Error) -> Refusal {
    Refusal::new(
        Step::Load,
        format!("the mark of its loading cannot be made: {error}"),
        "make room in the home's `cache` folder, then run `scv reload`",
    )
    .transient()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "0123";

    async fn found(cache: &Path) -> LeftBehind {
        left_behind(cache, SHA).await.unwrap()
    }

    fn mark(cache: &Path) -> PathBuf {
        cache.join("plugins").join(file_name(SHA))
    }

    #[tokio::test]
    async fn a_mark_is_gone_after_a_good_end_and_counts_after_a_death() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        assert_eq!(found(&cache).await, LeftBehind::Nothing);
        drop(raise(&cache, SHA, 1).await.unwrap());
        assert!(!mark(&cache).exists());

        // A process that is killed runs no destructor, and its locks are gone.
        let Sentinel { path, _lock } =
            &*std::mem::ManuallyDrop::new(raise(&cache, SHA, 2).await.unwrap());
        flock(_lock, FlockOperation::Unlock).unwrap();
        assert_eq!(*path, mark(&cache));
        assert_eq!(found(&cache).await, LeftBehind::Attempt(2));
        drop(raise(&cache, SHA, 3).await.unwrap());
        assert_eq!(found(&cache).await, LeftBehind::Nothing);
    }

    #[tokio::test]
    async fn what_is_empty_or_not_ours_is_foreign() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        assert_eq!(found(&cache).await, LeftBehind::Nothing);
        for content in ["", "1", "{}", "{\"scv_loading\":2,\"attempt\":1}"] {
            fs::write(mark(&cache), content).unwrap();
            assert_eq!(found(&cache).await, LeftBehind::Foreign, "{content:?}");
        }
        fs::remove_file(mark(&cache)).unwrap();
        std::os::unix::fs::symlink("elsewhere", mark(&cache)).unwrap();
        assert_eq!(found(&cache).await, LeftBehind::Foreign);
    }

    #[tokio::test(start_paused = true)]
    async fn a_mark_that_is_held_is_waited_for_only_so_long() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let held = raise(&cache, SHA, 1).await.unwrap();
        let refusal = left_behind(&cache, SHA).await.unwrap_err();
        assert!(refusal.is_transient() && is_held(&mark(&cache)), "{refusal}");
        drop(held);
        assert_eq!(found(&cache).await, LeftBehind::Nothing);
    }
}
