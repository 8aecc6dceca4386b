//! Ctrl+C and SIGTERM as something to wait for.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask the process to end.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From here on neither signal ends the process by itself.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for Ctrl+C or SIGTERM.
    pub(crate) async fn end(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for Ctrl+C.
    pub(crate) async fn interrupt(&mut self) {
        self.interrupt.recv().await;
    }
}
