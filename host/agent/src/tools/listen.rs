//! The reading end of a command's output: read as it comes, kept within its limit, told of while
//! the command runs.

use std::{convert::Infallible, io, os::fd::OwnedFd, time::Duration};

use tokio::{
    net::unix::pipe,
    time::{Instant, sleep_until, timeout},
};

use super::{Reporter, output::Capture, progress::Progress};
use crate::limits::{PIPE_DRAIN_MS, PIPE_READ_BYTES};

/// Reads a command's output.
pub(super) struct Listener {
    pipe: pipe::Receiver,
    has_ended: bool,
    capture: Capture,
    start: Instant,
    progress: Progress,
    reporter: Reporter,
}

impl Listener {
    pub(super) fn new(pipe: OwnedFd, capture: Capture, reporter: Reporter) -> io::Result<Self> {
        Ok(Self {
            pipe: pipe::Receiver::from_owned_fd(pipe)?,
            has_ended: false,
            capture,
            start: Instant::now(),
            progress: Progress::default(),
            reporter,
        })
    }

    /// Reads and reports while something else is awaited, so that a full pipe stops nobody.
    pub(super) async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            result = other => result,
            never = self.listen() => match never {},
        }
    }

    /// Reads what is left. Whoever still holds the pipe could not be ended, and is not waited for.
    pub(super) async fn finish(mut self) -> Capture {
        let limit = Duration::from_millis(PIPE_DRAIN_MS);
        let _ = timeout(limit, async {
            while !self.has_ended {
                self.read().await;
            }
        })
        .await;
        self.capture
    }

    async fn listen(&mut self) -> Infallible {
        loop {
            let due = self.progress.due().map(|due| self.start + due);
            tokio::select! {
                () = room(&self.reporter, due) => self.report(),
                () = ready(&self.pipe, self.has_ended) => self.take(),
            }
        }
    }

    fn report(&mut self) {
        if let Some(text) = self.progress.take(self.start.elapsed()) {
            let _ = self.reporter.try_send(text);
        }
    }

    async fn read(&mut self) {
        ready(&self.pipe, self.has_ended).await;
        self.take();
    }

    /// Takes what is there.
    fn take(&mut self) {
        let mut buffer = [0; PIPE_READ_BYTES];
        match self.pipe.try_read(&mut buffer) {
            Ok(0) => self.has_ended = true,
            Ok(count) => {
                self.capture.push(&buffer[..count]);
                self.progress.push(&buffer[..count]);
            }
            Err(error) => self.has_ended = error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

/// Waits until it is time to report and somebody has taken the last report; for ever when nothing
/// is due or nobody listens.
async fn room(reporter: &Reporter, due: Option<Instant>) {
    if let Some(due) = due {
        sleep_until(due).await;
        if reporter.reserve().await.is_ok() {
            return;
        }
    }
    std::future::pending().await
}

/// Waits for bytes or the end, and for ever after that. A pipe that fails is read once more, which
/// fails, too.
async fn ready(pipe: &pipe::Receiver, has_ended: bool) {
    if has_ended {
        return std::future::pending().await;
    }
    let _ = pipe.readable().await;
}
