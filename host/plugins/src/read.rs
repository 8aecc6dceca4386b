//! Step 3: the whole file in memory through one handle, so that what is checked is what runs.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use memmap2::MmapMut;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::{Refusal, Step, limits::MAX_FILE_BYTES, trust};

/// A file's bytes, and their hash in hex.
pub(crate) struct Contents {
    /// In pages of their own: a heap keeps what was as large as this for good.
    pub(crate) bytes: MmapMut,
    pub(crate) sha256: String,
}

impl Contents {
    /// As much as the file holds now; its caller has judged that.
    pub(crate) fn read(mut file: &File) -> io::Result<Self> {
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let mut bytes = MmapMut::map_anon(len)?;
        file.read_exact(&mut bytes)?;
        let sha256 = hex(Sha256::digest(&bytes));
        Ok(Self { bytes, sha256 })
    }
}

/// Reads a file for the second time, when it is loaded: it must be what was looked at.
pub(crate) fn read_again(path: &Path, sha256: &str) -> Result<Contents, Refusal> {
    let contents = read(path)?;
    if contents.sha256 == sha256 {
        return Ok(contents);
    }
    Err(Refusal::new(
        Step::Read,
        "the file changed while it was being loaded",
        "wait until it is written, then run `scv reload`",
    )
    .transient())
}

/// Opens without following a link, judges owner and mode (step 2), reads at most 64 MiB.
pub(crate) fn read(path: &Path) -> Result<Contents, Refusal> {
    let file = match open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(trust::is_a_link(path));
        }
        opened => opened.map_err(|error| unreadable(path, &error))?,
    };
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    trust::file(path, &metadata)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(Refusal::new(
            Step::Read,
            format!("it is larger than {MAX_FILE_BYTES} bytes"),
            "build the plugin with the profile for distribution",
        ));
    }
    Contents::read(&file).map_err(|error| unreadable(path, &error))
}

/// The hash of a file that may hold at most 64 MiB; what is longer has another one.
pub(crate) fn sha256_of(file: &File) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut file.take(MAX_FILE_BYTES), &mut hash)?;
    Ok(hex(hash.finalize()))
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Never waits (a FIFO would) and never follows a link in the last component.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(
        Step::Read,
        format!("{} cannot be read: {error}", path.display()),
        "make it readable for the user that runs scv",
    )
    .transient()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_file_that_changes_between_the_looks_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plugin");
        fs::write(&path, "code").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let looked_at = read(&path).unwrap().sha256;
        assert_eq!(read_again(&path, &looked_at).unwrap().sha256, looked_at);
        fs::write(&path, "cod3").unwrap();
        let refusal = read_again(&path, &looked_at).err().expect("it is another file");
        assert_eq!(refusal.step, Step::Read);
        assert!(refusal.is_transient() && refusal.reason.contains("changed"), "{refusal}");
    }
}
