//! What the simulators bound, and the platform's own numbers.

/// A request body; more is answered with 413.
pub(crate) const REQUEST_BODY_BYTES: usize = 32 * 1024 * 1024;
/// The text of one outbound message; above it the platform refuses (reports of 2026).
pub(crate) const SEND_TEXT_BYTES: usize = 16_384;
/// How long the platform holds a poll (reports of 2026).
pub(crate) const POLL_HOLD_MS: u64 = 35_000;
/// How many old messages an empty cursor brings back, when it does.
pub(crate) const HISTORY_COUNT: usize = 10;
/// Pieces of a streamed answer that may wait for the reader.
pub(crate) const STREAM_PIECES_COUNT: usize = 1;
