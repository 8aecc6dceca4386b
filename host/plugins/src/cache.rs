//! Step 6: the private copy that is loaded, named by its hash.
//!
//! The original may be overwritten while it serves, which would end a process that has it
//! mapped; and the system's loader answers a known path with old code. A copy whose name is
//! its hash has neither trouble.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::process::geteuid;

use crate::{
    Refusal, Step,
    limits::MAX_FILE_BYTES,
    read::{Contents, open, sha256_hex},
};

/// Puts the bytes into `<cache_dir>/plugins/<sha256>.so` unless they are there already.
pub(crate) fn store(cache_dir: &Path, contents: &Contents) -> Result<PathBuf, Refusal> {
    try_store(cache_dir, contents).map_err(|error| {
        Refusal::new(
            Step::Copy,
            format!("its private copy cannot be made in {}: {error}", cache_dir.display()),
            "Make room there, or make the folder yours with mode 0700.",
        )
    })
}

fn try_store(cache_dir: &Path, contents: &Contents) -> io::Result<PathBuf> {
    let dir = cache_dir.join("plugins");
    private_dir(cache_dir)?;
    private_dir(&dir)?;
    let path = dir.join(format!("{}.so", contents.sha256));
    if is_intact(&path, &contents.sha256) {
        return Ok(path);
    }
    write(&dir, &path, &contents.bytes)?;
    Ok(path)
}

fn private_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
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
fn is_intact(path: &Path, sha256: &str) -> bool {
    let Ok(file) = open(path) else { return false };
    let private = |metadata: fs::Metadata| {
        metadata.is_file() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o077 == 0
    };
    if !file.metadata().is_ok_and(private) {
        return false;
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.is_ok() && sha256_hex(&bytes) == sha256
}

fn write(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!("{}-{number}.tmp", std::process::id()));
    // What an earlier process with this id left behind.
    let _ = fs::remove_file(&temporary);
    let written = write_through(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    File::open(dir)?.sync_all()
}

fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o500).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn contents(bytes: &[u8]) -> Contents {
        Contents { bytes: bytes.to_vec(), sha256: sha256_hex(bytes) }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_copy_is_private_and_made_once() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let path = store(&cache, &contents(b"code")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"code");
        assert_eq!(
            (mode(&path), mode(path.parent().unwrap()), mode(&cache)),
            (0o500, 0o700, 0o700)
        );
        let inode = fs::metadata(&path).unwrap().ino();
        assert_eq!(store(&cache, &contents(b"code")).unwrap(), path);
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_copy_with_other_bytes_or_modes_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let path = store(&cache, &contents(b"code")).unwrap();
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
        let path = store(&cache, &contents(b"code")).unwrap();
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
    }
}
