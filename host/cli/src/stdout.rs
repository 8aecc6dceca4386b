//! Stdout: what a command prints there is its result, so a failed write is its failure.

use std::{
    io::{self, Write},
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
};

use tokio::io::AsyncWrite;

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

/// The first failed write: a command does its work to the end all the same.
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

/// Stdout for the frames of a server: a failed write is the command's failure here, too.
pub(crate) struct Frames(tokio::io::Stdout);

impl Frames {
    pub(crate) fn new() -> Self {
        Self(tokio::io::stdout())
    }
}

impl AsyncWrite for Frames {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        noticed(Pin::new(&mut self.0).poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        noticed(Pin::new(&mut self.0).poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        noticed(Pin::new(&mut self.0).poll_shutdown(context))
    }
}

fn noticed<T>(done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    if let Poll::Ready(Err(error)) = &done {
        let _ = FAILURE.set(error.kind().into());
    }
    done
}

/// Whether all that was said has been written.
pub(crate) fn check() -> Result<(), OutputError> {
    match FAILURE.get() {
        Some(error) => Err(OutputError(error.kind().into())),
        None => Ok(()),
    }
}
