//! The writing half of the socket between host and child.

use std::{
    io::ErrorKind,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{net::unix::OwnedWriteHalf, sync::Notify};

use super::frame::Frame;

/// Takes frames from any thread without waiting: what the socket does not take at once is
/// written by [`Outlet::drain`].
pub(super) struct Outlet {
    socket: OwnedWriteHalf,
    backlog: Mutex<Vec<u8>>,
    more: Notify,
}

impl Outlet {
    pub(super) fn new(socket: OwnedWriteHalf) -> Arc<Self> {
        Arc::new(Self { socket, backlog: Mutex::default(), more: Notify::new() })
    }

    /// Writes a frame, or puts it behind those that wait. What the other side does not read any
    /// more is nobody's trouble here: whoever reads from it notices its end.
    pub(super) fn send(&self, frame: &Frame) {
        let bytes = frame.to_bytes();
        let mut backlog = self.backlog();
        let written = if backlog.is_empty() { self.socket.try_write(&bytes) } else { Ok(0) };
        let written = match written {
            Ok(written) => written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(_) => return,
        };
        if written < bytes.len() {
            backlog.extend_from_slice(&bytes[written..]);
            drop(backlog);
            self.more.notify_one();
        }
    }

    /// How much waits to be written.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.backlog().len()
    }

    /// Writes what waits until the other side is gone.
    pub(super) async fn drain(self: Arc<Self>) {
        loop {
            self.more.notified().await;
            if !self.flush().await {
                return;
            }
        }
    }

    /// Writes all that waits now; false when the other side is gone.
    pub(super) async fn flush(&self) -> bool {
        while self.waiting_bytes() > 0 {
            if self.socket.writable().await.is_err() {
                return false;
            }
            let mut backlog = self.backlog();
            match self.socket.try_write(&backlog) {
                Ok(written) => drop(backlog.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
        true
    }

    fn backlog(&self) -> MutexGuard<'_, Vec<u8>> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
