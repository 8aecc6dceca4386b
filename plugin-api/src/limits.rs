//! Every limit of the plugin boundary, checked on both sides.

/// One document (line and body together not counted: each may be this large).
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;
/// Messages in one batch that a plugin may return.
pub const MAX_BATCH_MESSAGES_COUNT: usize = 256;
/// A checkpoint, stored by the host exactly as it is.
pub const MAX_CHECKPOINT_BYTES: usize = 64 * 1024;
/// A platform message id.
pub const MAX_MESSAGE_ID_BYTES: usize = 256;
/// The second de-duplication key of a message.
pub const MAX_DEDUP_KEY_BYTES: usize = 128;
/// The handle that a reply gives back to the platform.
pub const MAX_REPLY_TOKEN_BYTES: usize = 4 * 1024;
/// The text of a fault: one line, sanitized by the plugin and again by the host.
pub const MAX_FAULT_MESSAGE_CHARS_COUNT: usize = 200;
/// The platform's code in a fault.
pub const MAX_FAULT_CODE_CHARS_COUNT: usize = 64;
/// The name of a plugin, a channel or an alias.
pub const MAX_NAME_BYTES: usize = 32;
/// Worker threads that a manifest may ask for.
pub const MAX_THREADS_COUNT: u32 = 2;
/// The longest that `next_batch` may wait before it returns an empty batch.
pub const MAX_WAIT_MS: u32 = 60_000;
/// `create`: no network, so anything longer is a hang.
pub const CREATE_DEADLINE_MS: u64 = 5_000;
/// `inspect`: pure.
pub const INSPECT_DEADLINE_MS: u64 = 1_000;
/// `connect`: endpoint, socket and identity checks.
pub const CONNECT_DEADLINE_MS: u64 = 60_000;
/// Added to `max_wait_ms` before the host calls `next_batch` hung.
pub const NEXT_BATCH_MARGIN_MS: u64 = 10_000;
/// `send`, from the call.
pub const SEND_DEADLINE_MS: u64 = 30_000;
/// A call from the plugin to the host, prompts aside.
pub const HOST_CALL_DEADLINE_MS: u64 = 10_000;
/// Added to the greatest `expires_ms` that a sign-in has shown.
pub const LOGIN_MARGIN_MS: u64 = 60_000;
/// A sign-in never lasts longer.
pub const LOGIN_MAX_MS: u64 = 65 * 60_000;
/// How long an answer that has begun to arrive may go on when a session closes.
pub const CLOSE_READ_MS: u64 = 500;
/// Messages read from the platform and not yet taken by the host: reading stops here.
pub const MAX_UNDELIVERED_MESSAGES_COUNT: usize = 1024;
/// Bytes read from the platform and not yet taken by the host: reading stops here.
pub const MAX_UNDELIVERED_BYTES: usize = 4 * 1024 * 1024;
/// Blocking threads of a plugin's runtime.
pub const BLOCKING_THREADS_COUNT: usize = 4;

const _: () = assert!(MAX_UNDELIVERED_MESSAGES_COUNT >= MAX_BATCH_MESSAGES_COUNT);
const _: () = assert!(MAX_UNDELIVERED_BYTES >= MAX_DOCUMENT_BYTES);
const _: () = assert!(CLOSE_READ_MS < SEND_DEADLINE_MS);
