//! A connection's writer queue, bounded by frames and by bytes.
//!
//! Frames are encoded straight into batches that the reader takes as a whole, so frames that are
//! ready together leave in one write, and none is copied or allocated by itself. A full batch never
//! grows again: what waits for a client that does not read takes little more than its size.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::pending,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use scv_protocol::{ServerEvent, limits};
use tokio::sync::Notify;

use crate::limits::{OUTBOX_BATCH_BYTES, OUTBOX_SPARE_BYTES};

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

/// Lines with their newlines.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    count: usize,
}

#[derive(Debug, Default)]
struct State {
    /// What waits; only the last one grows, and none is empty.
    waiting: VecDeque<Batch>,
    waiting_bytes: usize,
    waiting_frames: usize,
    /// An empty buffer for the next batch.
    spare: Vec<u8>,
    writing_bytes: usize,
    writing_frames: usize,
    closed: bool,
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
        let frames = state.waiting_frames + state.writing_frames;
        let bytes = state.waiting_bytes + state.writing_bytes;
        frames < self.limits.frames && bytes + self.limits.max_frame_bytes < self.limits.bytes
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

impl State {
    /// Adds the event and a newline to the last batch or to a new one, or adds nothing.
    fn append(&mut self, event: &ServerEvent, limit: usize) -> Result<(), OutboxError> {
        let last = self.waiting.back();
        let mut batch = match last.is_some_and(|last| last.bytes.len() < OUTBOX_BATCH_BYTES) {
            true => self.waiting.pop_back().unwrap_or_default(),
            false => Batch { bytes: std::mem::take(&mut self.spare), count: 0 },
        };
        let before = batch.bytes.len();
        let result = append_line(&mut batch.bytes, event, limit);
        let added = usize::from(result.is_ok());
        batch.count += added;
        self.waiting_frames += added;
        self.waiting_bytes += batch.bytes.len() - before;
        if batch.count > 0 {
            self.waiting.push_back(batch);
        }
        result
    }

    fn begin_writing(&mut self) -> Option<Batch> {
        let batch = self.waiting.pop_front()?;
        self.waiting_bytes -= batch.bytes.len();
        self.waiting_frames -= batch.count;
        self.writing_bytes += batch.bytes.len();
        self.writing_frames += batch.count;
        Some(batch)
    }

    fn end_writing(&mut self, batch: Batch) {
        self.writing_bytes -= batch.bytes.len();
        self.writing_frames -= batch.count;
        if batch.bytes.capacity() <= OUTBOX_SPARE_BYTES && self.spare.capacity() == 0 {
            self.spare = batch.bytes;
            self.spare.clear();
        }
    }
}

/// Adds the event and a newline, or nothing.
fn append_line(buffer: &mut Vec<u8>, event: &ServerEvent, limit: usize) -> Result<(), OutboxError> {
    let start = buffer.len();
    let writer = Bounded { buffer: &mut *buffer, end: start + limit };
    if serde_json::to_writer(writer, event).is_err() {
        buffer.truncate(start);
        return Err(OutboxError::TooLarge { limit });
    }
    buffer.push(b'\n');
    Ok(())
}

struct Bounded<'a> {
    buffer: &'a mut Vec<u8>,
    end: usize,
}

impl io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    /// JSON comes in many small pieces: each is copied at once or not at all.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > self.end {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
