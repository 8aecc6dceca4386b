//! Step 3: the whole file in memory through one handle, so that what is checked is what runs.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::{Refusal, Step, limits::MAX_FILE_BYTES, trust};

/// A file's bytes, and their hash in hex.
pub(crate) struct Contents {
    pub(crate) bytes: Vec<u8>,
    pub(crate) sha256: String,
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
        "Wait until it is written, then run: scv reload",
    ))
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
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Refusal::new(
            Step::Read,
            format!("larger than {MAX_FILE_BYTES} bytes"),
            "Build the plugin with the profile for distribution.",
        ));
    }
    let sha256 = sha256_hex(&bytes);
    Ok(Contents { bytes, sha256 })
}

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
        "Make it readable for the user that runs scv.",
    )
}
