//! Every limit of this room.

use scv_plugin_api::limits::{MAX_BATCH_MESSAGES_COUNT, MAX_CHECKPOINT_BYTES, SEND_DEADLINE_MS};

/// An account's name.
pub const MAX_ACCOUNT_NAME_BYTES: usize = 64;
/// A channel's id.
pub const MAX_CHANNEL_ID_BYTES: usize = 32;
/// Accounts of one channel; beyond it discovery fails rather than leave some out.
pub const MAX_ACCOUNTS_COUNT: usize = 128;
/// Entries of any folder that is listed.
pub const MAX_DIR_ENTRIES_COUNT: usize = 1024;
/// A credentials or settings file.
pub const MAX_SMALL_FILE_BYTES: u64 = 256 * 1024;
/// How long a command waits for a busy account.
pub const BUSY_RETRY_MS: u64 = 5_000;
/// Between two tries for a busy account.
pub const BUSY_STEP_MS: u64 = 25;

/// A file that did not change for so long cannot change any more without another stamp: far
/// above the resolution of any file system's time.
pub const SETTLED_SECONDS: i64 = 3;

/// A state file; a hundred times what the limits below add up to in practice.
pub const MAX_BASE_BYTES: u64 = 64 * 1024 * 1024;
/// A journal: an account whose folds keep failing stops here rather than fill the disk.
pub const MAX_JOURNAL_BYTES: u64 = 64 * 1024 * 1024;
/// What a full journal still has room for: the record that folds it.
pub const FOLD_RECORD_BYTES: u64 = 128;
/// A journal of this size is folded into the base.
pub const FOLD_JOURNAL_BYTES: u64 = 1024 * 1024;
/// The payload of one record.
pub const MAX_RECORD_BYTES: usize = 32 * 1024 * 1024;
/// The header of a record.
pub const RECORD_HEADER_BYTES: usize = 16;
/// Message ids that are remembered.
pub const MAX_SEEN_COUNT: usize = 4096;
/// Second de-duplication keys that are remembered.
pub const MAX_KEYS_COUNT: usize = 65_536;
/// How long a second de-duplication key is remembered.
pub const KEY_AGE_MS: u64 = 25 * 3_600_000;
/// Held replies of one conversation.
pub const MAX_HELD_PER_CONVERSATION_COUNT: usize = 4;
/// Held text of one conversation.
pub const MAX_HELD_PER_CONVERSATION_BYTES: usize = 32 * 1024;
/// Held replies of one account.
pub const MAX_HELD_COUNT: usize = 128;
/// How long a held reply is kept.
pub const HELD_AGE_SECONDS: u64 = 7 * 24 * 3600;

/// Conversations whose turns run at the same time.
pub const RUNNING_CONVERSATIONS_COUNT: usize = 4;
/// Claimed messages of one conversation.
pub const MAX_CLAIMS_PER_CONVERSATION_COUNT: usize = 8;
/// Claimed messages of one account.
pub const MAX_CLAIMS_COUNT: usize = 64;
/// Replies that wait for the platform; while there are as many, nothing more is read.
pub const MAX_PENDING_COUNT: usize = 256;
/// Requests from outside the chat that wait for an account to take them.
pub const DESK_REQUESTS_COUNT: usize = 8;
/// How long a turn that was cancelled may take to end; then its session is given up.
pub const CANCEL_MS: u64 = 10_000;
/// Messages sent at the same time by one account.
pub const SENDS_IN_FLIGHT_COUNT: usize = 4;
/// A turn's answer.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// Between two notices about unreadable messages in one conversation.
pub const UNREADABLE_NOTICE_MS: u64 = 10 * 60_000;
/// First wait after something failed.
pub const RETRY_FIRST_MS: u64 = 1_000;
/// Longest wait after something failed, where the platform asks for nothing else.
pub const RETRY_MAX_MS: u64 = 60_000;
/// Shortest wait that a platform may ask for.
pub const PLATFORM_PAUSE_MIN_MS: u64 = 100;
/// Longest wait that a platform may ask for.
pub const PLATFORM_PAUSE_MAX_MS: u64 = 3_600_000;
/// Longest wait before a failed commit is tried again.
pub const COMMIT_RETRY_MAX_MS: u64 = 30_000;
/// First wait before a try that succeeds only after a person has acted.
pub const SLOW_FIRST_MS: u64 = 30_000;
/// Longest wait before a try that succeeds only after a person has acted.
pub const SLOW_MAX_MS: u64 = 600_000;
/// How long an account waits after another one with the same bot has ended.
pub const SAME_BOT_PAUSE_MS: u64 = 1_000;
/// Accepted sends without a receipt, in a row, that status speaks of.
pub const UNCONFIRMED_ROW_COUNT: u64 = 3;

/// Sessions of conversations that are kept open.
pub const MAX_SESSIONS_COUNT: usize = 32;
/// How long a session stays open after its last turn.
pub const SESSION_IDLE_SECONDS: u64 = 30 * 60;
/// A turn without tools.
pub const TURN_LIMIT_SECONDS: u64 = 5 * 60;

/// What a session of a plugin is given to close.
pub const CLOSE_GRACE_MS: u32 = 2_000;
/// How long an account may take to stop, folding aside.
pub const STOP_MS: u64 = 6_000;

const _: () = assert!(MAX_CLAIMS_COUNT >= MAX_CLAIMS_PER_CONVERSATION_COUNT);
const _: () = assert!(MAX_SESSIONS_COUNT >= RUNNING_CONVERSATIONS_COUNT);
// One batch can at most answer each of its messages with a notice.
const _: () = assert!(MAX_SEEN_COUNT >= MAX_BATCH_MESSAGES_COUNT + MAX_PENDING_COUNT);
const _: () = assert!(MAX_RECORD_BYTES > 8 * MAX_CHECKPOINT_BYTES);
const _: () =
    assert!(MAX_RECORD_BYTES as u64 + FOLD_JOURNAL_BYTES + FOLD_RECORD_BYTES < MAX_JOURNAL_BYTES);
const _: () = assert!(RETRY_FIRST_MS <= COMMIT_RETRY_MAX_MS && COMMIT_RETRY_MAX_MS <= RETRY_MAX_MS);
const _: () = assert!(SLOW_FIRST_MS <= SLOW_MAX_MS);
const _: () = assert!(STOP_MS > CLOSE_GRACE_MS as u64 && STOP_MS < SEND_DEADLINE_MS);
