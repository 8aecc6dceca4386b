//! One connection, with the two facts that tell a dead idle connection from a dead server.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::{fmt, io};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A byte stream, whatever it is made of.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Shared by a connection and the exchanges that run over it.
#[derive(Clone, Default)]
pub(crate) struct LinkState(Arc<Facts>);

#[derive(Default)]
struct Facts {
    /// A response has come over this connection before.
    served: AtomicBool,
    /// A byte was read since the last write.
    heard: AtomicBool,
}

impl LinkState {
    /// Remembers that a response came.
    pub(crate) fn mark_served(&self) {
        self.0.served.store(true, Ordering::Relaxed);
    }

    /// True for a kept connection on which the last request met silence.
    pub(crate) fn is_stale(&self) -> bool {
        self.0.served.load(Ordering::Relaxed) && !self.0.heard.load(Ordering::Relaxed)
    }
}

/// A connection as the pool keeps it.
pub(crate) struct Link {
    io: Box<dyn Io>,
    /// Requests go to a forwarding proxy, in absolute form.
    forwarded: bool,
    state: LinkState,
}

impl Link {
    pub(crate) fn new(io: Box<dyn Io>, forwarded: bool) -> Self {
        Self { io, forwarded, state: LinkState::default() }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.forwarded).extra(self.state.clone())
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.io).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.state.0.heard.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.state.0.heard.store(false, Ordering::Relaxed);
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.state.0.heard.store(false, Ordering::Relaxed);
        Pin::new(&mut self.io).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
