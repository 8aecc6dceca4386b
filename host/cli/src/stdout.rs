//! Stdout: what a command prints there is its result, so a failed write is its failure.

use std::{
    io::{self, Write},
    sync::OnceLock,
};

/// Why stdout took no more.
#[derive(Debug, thiserror::Error)]
#[error("the output could not be written; see that there is room where it goes")]
pub(crate) struct OutputError(#[from] io::Error);

impl OutputError {
    /// Whether whoever read it has seen enough, which is no trouble.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// The first failure of [`say`]: a command does its work to the end all the same.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

/// Prints a line.
pub(crate) fn say(text: &str) {
    if let Err(OutputError(error)) = write(format!("{text}\n").as_bytes()) {
        // A later failure says nothing new.
        let _ = FAILURE.set(error);
    }
}

/// Writes bytes at once, without waiting for the end of the line.
pub(crate) fn write(bytes: &[u8]) -> Result<(), OutputError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    Ok(stdout.flush()?)
}

/// Whether all that was said has been written.
pub(crate) fn check() -> Result<(), OutputError> {
    match FAILURE.get() {
        Some(error) => Err(OutputError(error.kind().into())),
        None => Ok(()),
    }
}
