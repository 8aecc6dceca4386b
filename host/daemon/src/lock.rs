//! One daemon a home: `server.lock`, held by flock and naming its owner.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use fs4::{FileExt, TryLockError};
use rustix::fs::OFlags;

use crate::DaemonError;

/// The right to serve a home. The kernel takes it back when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct InstanceLock {
    file: File,
}

impl InstanceLock {
    /// Takes the lock and writes this process's id into it.
    pub(crate) fn acquire(home: &Path) -> Result<Self, DaemonError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(home.join("server.lock"))
            .map_err(DaemonError::io("opening server.lock"))?;
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(DaemonError::AlreadyRunning { pid: read_pid(&mut file) });
            }
            Err(TryLockError::Error(error)) => {
                return Err(DaemonError::io("locking server.lock")(error));
            }
        }
        write_pid(&mut file).map_err(DaemonError::io("writing server.lock"))?;
        Ok(Self { file })
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

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_learns_who_is_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = InstanceLock::acquire(dir.path()).unwrap();
        let text = InstanceLock::acquire(dir.path()).unwrap_err().to_string();
        assert!(text.contains(&format!("(pid {})", std::process::id())), "{text}");

        drop(first);
        let left = std::fs::read_to_string(dir.path().join("server.lock")).unwrap();
        assert_eq!(left, "", "a daemon that ended names no process");
        InstanceLock::acquire(dir.path()).unwrap();
    }
}
