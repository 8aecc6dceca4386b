//! The frames of a writer queue: encoded into batches, counted until they are written. Pure.

use std::{collections::VecDeque, io};

use scv_protocol::ServerEvent;

use super::OutboxError;
use crate::limits::{OUTBOX_BATCH_BYTES, OUTBOX_SLACK_BYTES, OUTBOX_SPARE_BYTES};

/// Lines with their newlines.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) count: usize,
}

/// What waits and what is being written.
#[derive(Debug, Default)]
pub(super) struct State {
    /// What waits; only the last one grows, and none is empty.
    waiting: VecDeque<Batch>,
    waiting_bytes: usize,
    waiting_frames: usize,
    /// An empty buffer for the next batch.
    spare: Vec<u8>,
    writing_bytes: usize,
    writing_frames: usize,
    pub(super) closed: bool,
}

impl State {
    /// Adds the event and a newline to the last batch or to a new one, or adds nothing.
    pub(super) fn append(&mut self, event: &ServerEvent, limit: usize) -> Result<(), OutboxError> {
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
        if batch.bytes.len() >= OUTBOX_BATCH_BYTES {
            batch.bytes.shrink_to_fit();
        }
        if batch.count > 0 {
            self.waiting.push_back(batch);
        }
        result
    }

    /// Frames that are not written yet.
    pub(super) const fn frames(&self) -> usize {
        self.waiting_frames + self.writing_frames
    }

    /// Their bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.waiting_bytes + self.writing_bytes
    }

    pub(super) fn begin_writing(&mut self) -> Option<Batch> {
        let batch = self.waiting.pop_front()?;
        self.waiting_bytes -= batch.bytes.len();
        self.waiting_frames -= batch.count;
        self.writing_bytes += batch.bytes.len();
        self.writing_frames += batch.count;
        Some(batch)
    }

    pub(super) fn end_writing(&mut self, batch: Batch) {
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
        // What follows a large text fits, too, and does not double its buffer.
        self.buffer.reserve(bytes.len() + OUTBOX_SLACK_BYTES);
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
