//! Every limit of the client protocol. Frame limits count JSON bytes without the newline.

/// A frame from a client.
pub const MAX_CLIENT_FRAME_BYTES: usize = 1024 * 1024;
/// A prompt.
pub const MAX_PROMPT_BYTES: usize = 256 * 1024;
/// A frame from the server: a capped assistant message, escaped at its worst, and its envelope.
pub const MAX_SERVER_FRAME_BYTES: usize = 8 * 1024 * 1024;
/// The most that a server can be configured to take or to send as one frame.
pub const MAX_CONFIGURED_FRAME_BYTES: usize = 64 * 1024 * 1024;
/// Assistant text of one response.
pub const MAX_ASSISTANT_TEXT_BYTES: usize = 1024 * 1024;
/// Frames that may wait for a client that does not read.
pub const WRITER_QUEUE_FRAMES_COUNT: usize = 256;
/// Bytes that may wait for a client that does not read, at least.
pub const WRITER_QUEUE_MIN_BYTES: usize = 16 * 1024 * 1024;
/// How long a connection-level send waits for a client that does not read.
pub const BACKPRESSURE_MS: u64 = 3_000;
/// How long a closing connection's tasks may go on before they are aborted.
pub const CLEANUP_GRACE_MS: u64 = 3_000;
/// How long the control helper waits for an answer.
pub const CONTROL_TIMEOUT_MS: u64 = 20_000;
/// What a client of this crate shows of its transcript.
pub const MAX_TRANSCRIPT_BYTES: usize = 8 * 1024 * 1024;
/// Entries of a client's transcript.
pub const MAX_TRANSCRIPT_ITEMS_COUNT: usize = 10_000;
/// A client's prompt history.
pub const MAX_PROMPT_HISTORY_BYTES: usize = 1024 * 1024;
/// Entries of a client's prompt history.
pub const MAX_PROMPT_HISTORY_ITEMS_COUNT: usize = 200;

const _: () = assert!(MAX_PROMPT_BYTES < MAX_CLIENT_FRAME_BYTES);
const _: () = assert!(MAX_SERVER_FRAME_BYTES > 6 * MAX_ASSISTANT_TEXT_BYTES);
const _: () = assert!(WRITER_QUEUE_MIN_BYTES >= 2 * MAX_SERVER_FRAME_BYTES);
const _: () = assert!(MAX_CONFIGURED_FRAME_BYTES >= MAX_SERVER_FRAME_BYTES);
