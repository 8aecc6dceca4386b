//! Lines in, lines out, both bounded.

use crate::{ErrorCode, ServerEvent};

/// What the decoder found in the bytes it was given.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its newline (and without a CR before it).
    Complete(Vec<u8>),
    /// A line passed the limit. Said once, as soon as it is known; the rest is skipped.
    TooLong,
}

/// Splits a byte stream into lines of at most `limit` bytes, in time linear in the bytes.
///
/// A newline ends a line, and so does the end of the stream ([`LineDecoder::end`]).
#[derive(Debug)]
pub struct LineDecoder {
    limit: usize,
    partial: Vec<u8>,
    skipping: bool,
}

impl LineDecoder {
    /// A decoder for lines of at most `limit` bytes, the newline not counted.
    pub const fn new(limit: usize) -> Self {
        Self { limit, partial: Vec::new(), skipping: false }
    }

    /// Takes the next bytes of the stream and gives each line found to `found`.
    pub fn push(&mut self, mut bytes: &[u8], mut found: impl FnMut(Line)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.take(head, &mut found) {
                let mut line = std::mem::take(&mut self.partial);
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                found(Line::Complete(line));
            }
            self.skipping = false;
        }
        self.take(bytes, &mut found);
    }

    /// The stream has ended: what stands behind its last newline is a line as well.
    pub fn end(&mut self, found: impl FnMut(Line)) {
        if !self.partial.is_empty() {
            self.push(b"\n", found);
        }
    }

    /// Appends to the line under way; false when it is being skipped.
    fn take(&mut self, bytes: &[u8], found: &mut impl FnMut(Line)) -> bool {
        if self.skipping {
            return false;
        }
        if self.partial.len() + bytes.len() > self.limit {
            self.partial = Vec::new();
            self.skipping = true;
            found(Line::TooLong);
            return false;
        }
        self.partial.extend_from_slice(bytes);
        true
    }
}

/// A server frame would be larger than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a server frame would be larger than {limit} bytes")]
pub struct FrameTooLarge {
    /// In bytes, without the newline.
    pub limit: usize,
}

/// Encodes an event as a line, newline included.
///
/// # Errors
/// [`FrameTooLarge`] when its JSON passes `limit` bytes.
pub fn encode_event(event: &ServerEvent, limit: usize) -> Result<Vec<u8>, FrameTooLarge> {
    let mut line = Vec::with_capacity(256);
    if serde_json::to_writer(&mut line, event).is_err() || line.len() > limit {
        return Err(FrameTooLarge { limit });
    }
    line.push(b'\n');
    Ok(line)
}

/// The error for a line that passed the limit.
pub fn line_too_long(limit: usize) -> ServerEvent {
    ServerEvent::error(
        None,
        ErrorCode::InvalidRequest,
        format!("a line is longer than {limit} bytes; the rest of it was skipped"),
    )
}
