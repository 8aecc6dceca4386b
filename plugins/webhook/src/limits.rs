//! Every limit of the endpoint.

/// The body of one request.
pub(crate) const MAX_BODY_BYTES: usize = 512 * 1024;
/// Messages in one request.
pub(crate) const MAX_MESSAGES_COUNT: usize = 1_000;
/// The text of one message.
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1024;
/// A name in a message: sender, group, and the sender's name for people.
pub(crate) const MAX_NAME_BYTES: usize = 128;
/// A secret is at least this long: less could be guessed.
pub(crate) const MIN_SECRET_BYTES: usize = 16;
/// A nonce is at least this long.
pub(crate) const MIN_NONCE_BYTES: usize = 8;
/// The longest nonce.
pub(crate) const MAX_NONCE_BYTES: usize = 64;
/// How far a request's time may be from ours, both ways.
pub(crate) const WINDOW_SECONDS: u64 = 300;
/// Nonces that are remembered; a request beyond them is refused.
pub(crate) const MAX_NONCES_COUNT: usize = 65_536;
/// Connections at one time; more wait in the system's queue.
pub(crate) const MAX_CONNECTIONS_COUNT: usize = 64;
/// The head of a request.
pub(crate) const HEAD_MS: u64 = 10_000;
/// The body of a request.
pub(crate) const BODY_MS: u64 = 10_000;
/// How long a request waits until its messages are on disk.
pub(crate) const TAKE_MS: u64 = 30_000;
/// One read of the host; the manifest's `max_wait_ms`.
pub(crate) const MAX_WAIT_MS: u64 = 10_000;
/// The longest that somebody who fetches may wait.
pub(crate) const MAX_FETCH_SECONDS: u64 = 30;
/// Texts, ids and names in one batch, so that the document stays under its limit.
pub(crate) const MAX_BATCH_TEXT_BYTES: usize = 128 * 1024;
/// Replies that wait to be fetched; more are tried again by the host.
pub(crate) const MAX_REPLIES_COUNT: usize = 1_000;
/// Text of replies that wait to be fetched.
pub(crate) const MAX_REPLIES_BYTES: usize = 4 * 1024 * 1024;
/// Replies in one answer.
pub(crate) const MAX_FETCHED_COUNT: usize = 100;
/// One post to a callback, from connecting to its answer.
pub(crate) const CALLBACK_MS: u64 = 20_000;
/// Asked of the host when a callback or a reader is not there.
pub(crate) const RETRY_AFTER_MS: u64 = 5_000;

const _: () = assert!(MIN_SECRET_BYTES <= MAX_NAME_BYTES);
// A JSON text takes at most six bytes for one (`\u0000`).
const _: () = assert!(MAX_BATCH_TEXT_BYTES * 6 < scv_plugin_api::limits::MAX_DOCUMENT_BYTES);
// A text with its id and its three names.
const _: () = assert!(
    MAX_TEXT_BYTES + scv_plugin_api::limits::MAX_MESSAGE_ID_BYTES + 3 * MAX_NAME_BYTES
        <= MAX_BATCH_TEXT_BYTES
);
const _: () = assert!(CALLBACK_MS < scv_plugin_api::limits::SEND_DEADLINE_MS);
