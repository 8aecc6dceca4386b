//! One daemon a home: `server.lock`, held by flock and naming its owner.

use std::{
    fs::{self, File, OpenOptions},
    io::{Seek, Write},
    os::unix::fs::{FileExt as _, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use fs4::{FileExt, TryLockError};
use rustix::fs::OFlags;
use tokio::time::Instant;

use crate::{
    DaemonError,
    limits::{OWNER_LOOK_MS, OWNER_WAIT_MS},
};

/// The right to serve a home. The kernel takes it back when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct InstanceLock {
    file: File,
    path: PathBuf,
}

impl InstanceLock {
    /// Takes the lock and writes this process's id into it.
    pub(crate) async fn acquire(home: &Path) -> Result<Self, DaemonError> {
        let path = home.join("server.lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(DaemonError::io("opening server.lock"))?;
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(DaemonError::AlreadyRunning { pid: owner(&file).await });
            }
            Err(TryLockError::Error(error)) => {
                return Err(DaemonError::io("locking server.lock")(error));
            }
        }
        // The lock holds without it; a full disk must not keep a daemon from running.
        if let Err(error) = write_pid(&mut file) {
            tracing::warn!(%error, "server.lock does not name this process");
        }
        Ok(Self { file, path })
    }

    /// Whether another file has its name: then another daemon may serve what is there now.
    pub(crate) fn is_replaced(&self) -> bool {
        let (ours, theirs) = (self.file.metadata(), fs::symlink_metadata(&self.path));
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else {
            return false;
        };
        (ours.dev(), ours.ino()) != (theirs.dev(), theirs.ino())
    }
}

impl Drop for InstanceLock {
    fn drop(&mut self) {
        // The file stays: removing it would let two daemons lock two files of one name.
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, "server.lock keeps the pid of this process");
        }
    }
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// The process that has the lock; it writes its id a moment after it took it.
async fn owner(file: &File) -> Option<u32> {
    let deadline = Instant::now() + Duration::from_millis(OWNER_WAIT_MS);
    loop {
        let pid = read_pid(file);
        if pid.is_some() || Instant::now() >= deadline {
            return pid;
        }
        tokio::time::sleep(Duration::from_millis(OWNER_LOOK_MS)).await;
    }
}

fn read_pid(file: &File) -> Option<u32> {
    let mut bytes = [0; 16];
    let length = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..length]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_second_one_learns_who_is_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = InstanceLock::acquire(dir.path()).await.unwrap();
        let text = InstanceLock::acquire(dir.path()).await.unwrap_err().to_string();
        assert!(text.contains(&format!("(pid {})", std::process::id())), "{text}");

        drop(first);
        let left = fs::read_to_string(dir.path().join("server.lock")).unwrap();
        assert_eq!(left, "", "a daemon that ended names no process");
        InstanceLock::acquire(dir.path()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_that_has_not_written_its_id_yet_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = InstanceLock::acquire(dir.path()).await.unwrap();
        first.file.set_len(0).unwrap();
        let second = async { InstanceLock::acquire(dir.path()).await.unwrap_err().to_string() };
        let write = async {
            tokio::time::sleep(Duration::from_millis(OWNER_WAIT_MS / 2)).await;
            write_pid(&mut first.file).unwrap();
        };
        let (text, ()) = tokio::join!(second, write);
        assert!(text.contains("(pid "), "{text}");

        first.file.set_len(0).unwrap();
        let text = InstanceLock::acquire(dir.path()).await.unwrap_err().to_string();
        assert!(!text.contains("pid"), "not for ever: {text}");
    }
}
