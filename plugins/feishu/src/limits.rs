//! Every limit of this channel, with its reason; those that bind the host stand in
//! `manifest.json`.

use scv_plugin_api::limits as boundary;

/// The longest that `next_batch` waits, as the manifest says.
pub(crate) const MAX_WAIT_MS: u32 = 10_000;
/// `next_batch` answers this long before that.
pub(crate) const WAIT_MARGIN_MS: u64 = 5_000;
/// Making a connection: names, TCP, proxy, TLS.
pub(crate) const CONNECT_MS: u64 = 10_000;
/// One REST call.
pub(crate) const CALL_MS: u64 = 12_000;
/// A whole send: token, call, new token, call again.
pub(crate) const SEND_MS: u64 = 25_000;
/// The upgrade to a websocket.
pub(crate) const UPGRADE_MS: u64 = 10_000;
/// Writing one frame.
pub(crate) const WRITE_MS: u64 = 10_000;
/// The answer of a REST call, history aside.
pub(crate) const BODY_BYTES: usize = 256 * 1024;
/// A page of history: fifty messages of 150 KB, escaped.
pub(crate) const PAGE_BODY_BYTES: usize = 16 * 1024 * 1024;
/// A token is renewed this long before its end; the platform gives out a new one from half an
/// hour before.
pub(crate) const TOKEN_MARGIN_SECONDS: u64 = 600;
/// The longest life of a token that is believed.
pub(crate) const TOKEN_MAX_SECONDS: u64 = 24 * 60 * 60;
/// Ids and secrets of an app, ids of people, chats and messages.
pub(crate) const NAME_BYTES: usize = 128;

/// How long a code to scan is good when the platform does not say.
pub(crate) const LOGIN_DEFAULT_SECONDS: u64 = 600;
/// The longest that a sign-in waits, whatever the platform says.
pub(crate) const LOGIN_MAX_SECONDS: u64 = 3_600;
/// Between two polls of a sign-in when the platform does not say.
pub(crate) const LOGIN_POLL_SECONDS: u64 = 5;
/// What each `slow_down` adds.
pub(crate) const LOGIN_SLOWER_SECONDS: u64 = 5;
/// The longest between two polls.
pub(crate) const LOGIN_SLOWEST_SECONDS: u64 = 60;

/// Between two pings when the platform does not say; what official clients do.
pub(crate) const PING_DEFAULT_SECONDS: u64 = 120;
/// Pings never come closer.
pub(crate) const PING_MIN_SECONDS: u64 = 5;
/// Pings never lie further apart: the silence limit depends on it.
pub(crate) const PING_MAX_SECONDS: u64 = 600;
/// Silence is two intervals and this.
pub(crate) const SILENCE_MARGIN_SECONDS: u64 = 30;
/// The widest random wait that the platform may ask for before a lost connection is made anew.
pub(crate) const RECONNECT_SPREAD_MAX_SECONDS: u64 = 30;
/// The least wait when the app has too many connections; the host waits longer and longer.
pub(crate) const CROWDED_MS: u64 = 5_000;

/// One websocket message: the largest event in one part, and its headers.
pub(crate) const FRAME_BYTES: usize = EVENT_BYTES + 64 * 1024;
/// An event, all its parts together.
pub(crate) const EVENT_BYTES: usize = 8 * 1024 * 1024;
/// Parts of an event.
pub(crate) const PARTS_COUNT: usize = 64;
/// How long the parts of an event may take.
pub(crate) const PARTS_MS: u64 = 30_000;
/// Events of which some part is missing; the oldest goes first.
pub(crate) const PARTIAL_EVENTS_COUNT: usize = 16;

/// Encoded messages in one part of a batch, and so the largest message, too.
pub(crate) const BATCH_BYTES: usize = 512 * 1024;
/// Events wait this long for a catch-up to end, so that what was missed comes first. The
/// platform wants its acknowledgement within 3 s.
pub(crate) const LIVE_WAIT_MS: u64 = 1_500;

/// Chats in a checkpoint; the longest silent goes first.
pub(crate) const CHATS_COUNT: usize = 64;
/// Chats whose history is read after connecting: the last active ones.
pub(crate) const CATCHUP_CHATS_COUNT: usize = 32;
/// Pages of one chat and connection; what is left waits for the next connection.
pub(crate) const CATCHUP_PAGES_COUNT: u32 = 4;
/// Messages in a page: the platform's most.
pub(crate) const CATCHUP_PAGE_COUNT: u32 = 50;
/// How far catch-up reaches back.
pub(crate) const CATCHUP_REACH_MS: u64 = 24 * 60 * 60 * 1000;
/// The first wait after a page that could not be read; it doubles.
pub(crate) const CATCHUP_RETRY_MS: u64 = 1_000;
/// The longest such wait.
pub(crate) const CATCHUP_RETRY_MAX_MS: u64 = 60_000;
/// Own messages that are remembered, in case they come back as events.
pub(crate) const OWN_MESSAGES_COUNT: usize = 512;
/// Learning who the bot is: messages wait for it.
pub(crate) const BOT_MS: u64 = 8_000;
/// Between two tries to learn who the bot is.
pub(crate) const BOT_RETRY_MS: u64 = 30_000;

/// How long the connection's task may say goodbye when the session closes.
pub(crate) const GOODBYE_MS: u64 = 500;
/// The longest pause that the platform can ask for.
pub(crate) const PAUSE_MAX_MS: u64 = 60 * 60 * 1000;
/// The longest `uuid` of a message.
pub(crate) const UUID_BYTES: usize = 50;
/// The type of an event in the log.
pub(crate) const EVENT_TYPE_BYTES: usize = 64;

const _: () = assert!(MAX_WAIT_MS <= boundary::MAX_WAIT_MS);
const _: () = assert!(SEND_MS < boundary::SEND_DEADLINE_MS);
const _: () =
    assert!(LOGIN_MAX_SECONDS * 1000 + boundary::LOGIN_MARGIN_MS <= boundary::LOGIN_MAX_MS);
// Identity and endpoint at once, then connection and upgrade.
const _: () = assert!(CALL_MS + CONNECT_MS + UPGRADE_MS < boundary::CONNECT_DEADLINE_MS);
const _: () = assert!(BOT_MS <= CALL_MS && WAIT_MARGIN_MS < MAX_WAIT_MS as u64);
// A batch that waits for the bot's id is no hang.
const _: () = assert!(BOT_MS < WAIT_MARGIN_MS + boundary::NEXT_BATCH_MARGIN_MS);
const _: () =
    assert!(PING_MIN_SECONDS <= PING_DEFAULT_SECONDS && PING_DEFAULT_SECONDS <= PING_MAX_SECONDS);
const _: () =
    assert!(BATCH_BYTES + 6 * boundary::MAX_CHECKPOINT_BYTES < boundary::MAX_DOCUMENT_BYTES);
