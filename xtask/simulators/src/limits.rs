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
/// A CONNECT request with its headers.
pub(crate) const CONNECT_HEAD_BYTES: usize = 16 * 1024;
/// Within this an event is acknowledged, or its delivery has failed (Feishu's documents).
pub(crate) const ACKNOWLEDGE_WITHIN_SECONDS: u64 = 3;
/// After a failed delivery, from one try to the next (Feishu's documents).
pub(crate) const REDELIVERY_GAPS_SECONDS: [u64; 4] = [15, 300, 3600, 21_600];
/// The `content` of one text message (Feishu's documents).
pub(crate) const SEND_CONTENT_BYTES: usize = 150 * 1024;
/// The `uuid` of a message (Feishu's documents).
pub(crate) const UUID_BYTES: usize = 50;
/// A page of a chat's history, when nothing is said (Feishu's documents).
pub(crate) const PAGE_DEFAULT_COUNT: u64 = 20;
/// The largest such page (Feishu's documents).
pub(crate) const PAGE_MAX_COUNT: u64 = 50;
/// How long a tenant token lives.
pub(crate) const TOKEN_LIFE_SECONDS: u64 = 7200;
/// With less than this left, a new tenant token is handed out.
pub(crate) const TOKEN_RENEWAL_SECONDS: u64 = 1800;
/// Messages that may wait to go out on one websocket.
pub(crate) const SOCKET_QUEUE_COUNT: usize = 65_536;
