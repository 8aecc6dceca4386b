//! A connection's writer queue, bounded by frames and by bytes.
//!
//! Frames are encoded straight into batches that the reader takes as a whole, so frames that are
//! ready together leave in one write, and none is copied or allocated by itself. A full batch never
//! grows again: what waits for a client that does not read takes little more than its size.

mod batches;

use std::{
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use scv_protocol::{ServerEvent, limits};
use tokio::sync::Notify;

use batches::{Batch, State};

/// How much may wait for a client that does not read.
#[derive(Debug, Clone, Copy)]
pub struct OutboxLimits {
    /// Frames, those being written included.
    pub frames: usize,
    /// Bytes, those being written included. Room for one whole frame is kept free, so this must
    /// be at least `2 * max_frame_bytes`; less counts as that.
    pub bytes: usize,
    /// One frame, without its newline.
    pub max_frame_bytes: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self {
            frames: limits::WRITER_QUEUE_FRAMES_COUNT,
            bytes: limits::WRITER_QUEUE_MIN_BYTES,
            max_frame_bytes: limits::MAX_SERVER_FRAME_BYTES,
        }
    }
}

/// Why an event was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutboxError {
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
    /// The frame is larger than the limit; nothing was queued.
    #[error("a server frame would be larger than {limit} bytes")]
    TooLarge {
        /// In bytes.
        limit: usize,
    },
    /// The client did not read in time; nothing was queued.
    #[error("the client does not read")]
    Backpressure,
}

/// The sending end; its clones feed the same connection.
#[derive(Debug, Clone)]
pub struct Outbox {
    sender: Arc<Sender>,
}

/// The writing end.
#[derive(Debug)]
pub struct OutboxReader {
    shared: Arc<Shared>,
}

/// Frames to write, lines with their newlines. Their capacity is free again when this is dropped.
#[derive(Debug)]
pub struct Frames {
    batch: Batch,
    shared: Arc<Shared>,
}

/// Closes the queue when the last [`Outbox`] goes.
#[derive(Debug)]
struct Sender {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: OutboxLimits,
    state: Mutex<State>,
    space: Notify,
    ready: Notify,
}

impl Outbox {
    /// A queue for one connection.
    pub fn channel(limits: OutboxLimits) -> (Self, OutboxReader) {
        let bytes = limits.bytes.max(2 * (limits.max_frame_bytes + 1));
        let shared = Arc::new(Shared {
            limits: OutboxLimits { bytes, ..limits },
            state: Mutex::default(),
            space: Notify::new(),
            ready: Notify::new(),
        });
        let sender = Arc::new(Sender { shared: Arc::clone(&shared) });
        (Self { sender }, OutboxReader { shared })
    }

    /// Queues an event as one line; waits for capacity as long as it takes. Safe to cancel: a
    /// cancelled send has queued nothing.
    ///
    /// # Errors
    /// [`OutboxError::Closed`], [`OutboxError::TooLarge`].
    pub async fn send(&self, event: &ServerEvent) -> Result<(), OutboxError> {
        let shared = &self.sender.shared;
        loop {
            // Made before the look at the state, so that no release in between is missed.
            let space = shared.space.notified();
            if let Some(result) = shared.push(event) {
                shared.ready.notify_one();
                return result;
            }
            space.await;
        }
    }

    /// As [`Outbox::send`], for answers that belong to no turn: waits `limit` at most.
    ///
    /// # Errors
    /// As [`Outbox::send`]; [`OutboxError::Backpressure`] when the time is over.
    pub async fn send_within(
        &self,
        event: &ServerEvent,
        limit: Duration,
    ) -> Result<(), OutboxError> {
        tokio::time::timeout(limit, self.send(event))
            .await
            .unwrap_or(Err(OutboxError::Backpressure))
    }

    /// Ends the queue: what waits is still written, nothing more is taken.
    pub fn close(&self) {
        self.sender.shared.close();
    }

    /// Whether nothing more is taken.
    pub fn is_closed(&self) -> bool {
        self.sender.shared.lock().closed
    }

    /// Queues the event if there is room now; none when there is not. The writer is told by
    /// [`Outbox::wake`]: one who hears of each frame writes each by itself.
    pub(crate) fn send_later(&self, event: &ServerEvent) -> Option<Result<(), OutboxError>> {
        self.sender.shared.push(event)
    }

    /// Tells the writer that frames may be ready, and never ends: the last branch of a `select`,
    /// for one who has nothing more to queue before something else happens.
    pub(crate) async fn wake(&self) -> Infallible {
        self.sender.shared.ready.notify_one();
        pending().await
    }
}

impl OutboxReader {
    /// Waits for frames and takes all that are ready; none when the queue has ended. Safe to
    /// cancel.
    pub async fn next(&mut self) -> Option<Frames> {
        loop {
            let ready = self.shared.ready.notified();
            {
                let mut state = self.shared.lock();
                if let Some(batch) = state.begin_writing() {
                    return Some(Frames { batch, shared: Arc::clone(&self.shared) });
                }
                if state.closed {
                    return None;
                }
            }
            ready.await;
        }
    }
}

impl Frames {
    /// All lines, to be written in order.
    pub fn bytes(&self) -> &[u8] {
        &self.batch.bytes
    }

    /// How many lines these are.
    pub const fn count(&self) -> usize {
        self.batch.count
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None when there is no room now.
    fn push(&self, event: &ServerEvent) -> Option<Result<(), OutboxError>> {
        let mut state = self.lock();
        if state.closed {
            return Some(Err(OutboxError::Closed));
        }
        if !self.has_room(&state) {
            return None;
        }
        Some(state.append(event, self.limits.max_frame_bytes))
    }

    /// Whether a frame of any allowed size may be added.
    fn has_room(&self, state: &State) -> bool {
        state.frames() < self.limits.frames
            && state.bytes() + self.limits.max_frame_bytes < self.limits.bytes
    }

    fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_one();
        self.space.notify_waiters();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Drop for OutboxReader {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.shared.lock().end_writing(std::mem::take(&mut self.batch));
        self.shared.space.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
