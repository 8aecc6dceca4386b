//! Every limit of this channel, with its reason; those that bind the host stand in
//! `manifest.json`.

use scv_plugin_api::limits as boundary;

/// Messages in one answer to a poll; more is refused whole.
pub(crate) const POLL_MESSAGES_COUNT: usize = 4096;
/// One answer to a poll: thousands of messages, and still no danger to the host's memory.
pub(crate) const POLL_BODY_BYTES: usize = 16 * 1024 * 1024;
/// How long the platform holds a poll when it does not say.
pub(crate) const DEFAULT_HOLD_MS: u64 = 35_000;
/// A longer hold is not waited for.
pub(crate) const MAX_HOLD_MS: u64 = 40_000;
/// Beyond the hold. The platform takes a batch as delivered once it has answered, so giving up
/// while an answer is on the wire loses messages.
pub(crate) const HOLD_MARGIN_MS: u64 = 10_000;
/// Reading the body of an answer that has begun.
pub(crate) const POLL_BODY_MS: u64 = 10_000;
/// The longest that `next_batch` waits, as the manifest says.
pub(crate) const MAX_WAIT_MS: u32 = 60_000;
/// The last of so many polls in a row without any answer makes the connection count as lost.
pub(crate) const SILENT_POLLS_COUNT: u32 = 3;

/// An answer without messages that comes sooner was not held.
pub(crate) const PROPER_POLL_MS: u64 = 1_000;
/// The pause after the first such answer; it doubles with each one that follows.
pub(crate) const FIRST_PAUSE_MS: u64 = 1_000;
/// The longest pause: what a message may wait at a platform that holds no polls.
pub(crate) const LONGEST_PAUSE_MS: u64 = 10_000;

/// Encoded messages in one part of a batch, and so the largest message, too.
pub(crate) const PART_BYTES: usize = 512 * 1024;
/// User and group ids; real ones have some forty bytes.
pub(crate) const NAME_BYTES: usize = 256;
/// A quoted text; the rest is cut.
pub(crate) const QUOTE_BYTES: usize = 16 * 1024;
/// Files and pictures named in one message; the rest is left out.
pub(crate) const MEDIA_COUNT: usize = 32;
/// The platform's words about a refusal.
pub(crate) const REFUSAL_CHARS_COUNT: usize = 80;
/// An ASCII word longer than this may be a token: it is not repeated in error texts.
pub(crate) const WORD_BYTES: usize = 32;

/// Making a connection: names, TCP, proxy, TLS.
pub(crate) const CONNECT_MS: u64 = 10_000;
/// A whole `sendmessage`.
pub(crate) const SEND_MS: u64 = 20_000;
/// The answer to a `sendmessage`.
pub(crate) const SEND_BODY_BYTES: usize = 64 * 1024;
/// The longest pause that a `Retry-After` can ask for.
pub(crate) const RETRY_AFTER_MS: u64 = 60 * 60 * 1000;
/// After the words "rate limited": reports speak of minutes, and of retries making it longer.
pub(crate) const RATE_LIMIT_PAUSE_MS: u64 = 2 * 60 * 1000;
/// The pause after the first refusal of a burst; it doubles with each one that follows.
pub(crate) const BURST_PAUSE_MS: u64 = 20 * 1000;
/// After so many messages within [`BURST_MS`] the next was refused (report of 2026-08).
pub(crate) const BURST_COUNT: usize = 2;
/// What counts as the same moment.
pub(crate) const BURST_MS: u64 = 2_000;
/// After so many messages within [`MINUTE_MS`] others were refused as well.
pub(crate) const MINUTE_COUNT: usize = 6;
/// The span of the slower burst, and how long sends are remembered.
pub(crate) const MINUTE_MS: u64 = 60_000;
/// How long after a pause messages keep a distance, and the longest pause for a burst.
pub(crate) const PACED_MS: u64 = 10 * 60 * 1000;
/// That distance.
pub(crate) const PACED_GAP_MS: u64 = 1_500;
/// Messages that the platform takes after one of a person's (reports of 2026-03 to 2026-07).
pub(crate) const SENDS_BUDGET_COUNT: u32 = 10;
/// How long after a person's last message the platform takes any.
pub(crate) const WINDOW_MS: u64 = 24 * 60 * 60 * 1000;
/// A text of so many characters was still taken where a longer one was not (reports of 2026).
pub(crate) const LONG_TEXT_CHARS_COUNT: usize = 5_000;
/// People whose last message is remembered.
pub(crate) const CHATS_COUNT: usize = 256;

/// A whole sign-in; the official client gives up then, too.
pub(crate) const LOGIN_MS: u64 = 480_000;
/// Between two status polls.
pub(crate) const BETWEEN_STATUS_POLLS_MS: u64 = 1_000;
/// Drawing a code.
pub(crate) const DRAW_MS: u64 = 10_000;
/// One status poll; the platform holds it for up to 35 s.
pub(crate) const STATUS_POLL_MS: u64 = 45_000;
/// Answers during a sign-in.
pub(crate) const LOGIN_BODY_BYTES: usize = 64 * 1024;
/// New codes after the first one.
pub(crate) const NEW_CODES_COUNT: u32 = 3;
/// The link behind a code: what a QR code can hold.
pub(crate) const LINK_BYTES: usize = 2048;
/// The digits that the phone shows.
pub(crate) const DIGITS_COUNT: usize = 16;
/// The single file of the earliest releases.
pub(crate) const IMPORT_BYTES: usize = 64 * 1024;

const _: () = assert!(DEFAULT_HOLD_MS <= MAX_HOLD_MS);
const _: () = assert!(MAX_HOLD_MS + HOLD_MARGIN_MS + POLL_BODY_MS <= MAX_WAIT_MS as u64);
const _: () = assert!(FIRST_PAUSE_MS <= LONGEST_PAUSE_MS);
const _: () = assert!(PROPER_POLL_MS + LONGEST_PAUSE_MS <= MAX_WAIT_MS as u64);
const _: () = assert!(BURST_MS <= MINUTE_MS && PACED_GAP_MS < MINUTE_MS);
const _: () = assert!(BURST_PAUSE_MS <= PACED_MS);
const _: () = assert!(MAX_WAIT_MS <= boundary::MAX_WAIT_MS);
const _: () = assert!(SEND_MS < boundary::SEND_DEADLINE_MS);
const _: () = assert!(LOGIN_MS < boundary::LOGIN_MAX_MS);
// A full part fits into one document even when every byte of its checkpoint is escaped.
const _: () =
    assert!(PART_BYTES + 6 * boundary::MAX_CHECKPOINT_BYTES < boundary::MAX_DOCUMENT_BYTES);
