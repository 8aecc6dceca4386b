//! Every limit of the agent, with its reason. Protocol limits stand in `scv_protocol::limits`.

use scv_protocol::limits::{MAX_ASSISTANT_TEXT_BYTES, MAX_PROMPT_BYTES};

/// Prompts that wait in a session's queue.
pub const MAX_QUEUE_ENTRIES_COUNT: usize = 64;
/// Text of all prompts that wait in a session's queue.
pub const MAX_QUEUE_BYTES: usize = 4 * 1024 * 1024;

/// One event of a provider's stream.
pub const MAX_SSE_EVENT_BYTES: usize = 1024 * 1024;
/// The body of one provider response.
pub const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;
/// Blanks at the start of an answer that are held back in case a thought block follows.
pub const MAX_HELD_BLANKS_BYTES: usize = 4096;
/// How long a stream may stay open after its finish reason, for usage and the end mark.
pub const AFTER_FINISH_MS: u64 = 5_000;
/// Tool calls of one response.
pub const MAX_CALLS_COUNT: usize = 32;
/// Arguments of one tool call.
pub const MAX_ARGUMENTS_BYTES: usize = 256 * 1024;
/// A tool's name; longer ones cannot be any tool's.
pub const MAX_TOOL_NAME_BYTES: usize = 256;
/// A call's id; longer ones are replaced.
pub const MAX_CALL_ID_BYTES: usize = 256;
/// The body of an answer with an error status, of which only the message is used.
pub const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// Characters of a provider's error in `turn.failed`.
pub const MAX_ERROR_CHARS_COUNT: usize = 300;
/// Shorter secrets are not redacted: they would eat ordinary text.
pub const MIN_REDACTED_SECRET_BYTES: usize = 8;

/// Everything of a frame beside its text: names, ids, a folder, a request id at its worst.
pub const FRAME_ENVELOPE_BYTES: usize = 16 * 1024;
/// The most that JSON makes of one byte.
pub const WORST_ESCAPE_BYTES: usize = 6;
/// A client's request id; it comes back in every event of the turn.
pub const MAX_REQUEST_ID_BYTES: usize = 1024;

/// The first retry's delay; the second waits twice as long.
pub const RETRY_DELAY_MS: u64 = 1_000;
/// A longer `Retry-After` is not honoured.
pub const MAX_RETRY_AFTER_SECONDS: u64 = 60;
/// Retries that a configuration may ask for.
pub const MAX_RETRIES_COUNT: u32 = 2;

/// Calls that one echo prompt can make.
pub const MAX_ECHO_CALLS_COUNT: usize = 8;
/// One `wait` of an echo prompt.
pub const MAX_ECHO_WAIT_SECONDS: f64 = 3600.0;

/// Client messages that wait for the session's task.
pub const INBOX_COUNT: usize = 64;
/// Events that a session holds back for a client that does not read, beyond the outbox. At this
/// number the session takes no further client message.
pub const MAX_HELD_EVENTS_COUNT: usize = 16;

/// A batch of waiting frames that has reached this size takes no more of them.
pub const OUTBOX_BATCH_BYTES: usize = 32 * 1024;
/// Room behind each text for the rest of a usual frame.
pub const OUTBOX_SLACK_BYTES: usize = 512;
/// Buffers up to this size are kept for the next frames.
pub const OUTBOX_SPARE_BYTES: usize = 64 * 1024;

/// A shell command; Linux takes no argument of more than 128 KiB.
pub const MAX_COMMAND_BYTES: usize = 96 * 1024;
/// Between TERM and KILL for a command's processes.
pub const TERM_GRACE_MS: u64 = 2_000;
/// How long processes that come up after KILL are killed again.
pub const KILL_GRACE_MS: u64 = 3_000;
/// How often a command's dying processes are looked at, at first.
pub const MIN_POLL_MS: u64 = 5;
/// How often a command's dying processes are looked at, in the end.
pub const MAX_POLL_MS: u64 = 80;
/// How often orphans of a running command that have ended are looked for.
pub const TEND_MS: u64 = 500;
/// A process's line in /proc: 52 numbers and a short name.
pub const MAX_STAT_BYTES: usize = 2048;
/// As much of a process's environment is searched for the mark of its call; Linux allows more,
/// ordinary ones have less.
pub const MAX_ENVIRON_BYTES: u64 = 256 * 1024;
/// How long output is still read after a command's processes are gone: whoever holds the pipe
/// then could not be ended.
pub const PIPE_DRAIN_MS: u64 = 200;
/// Kept free in a command's output for the notes about its end and about what was left out.
pub const NOTE_BYTES: usize = 128;
/// One read from a tool's pipe.
pub const PIPE_READ_BYTES: usize = 16 * 1024;
/// Bytes that `read` passes over to reach its first line.
pub const MAX_READ_SKIP_BYTES: u64 = 256 * 1024 * 1024;
/// One line of an approval request.
pub const MAX_SUMMARY_CHARS_COUNT: usize = 300;
/// What a call's refusal says; it may quote the model.
pub const MAX_REFUSAL_BYTES: usize = 1024;
/// The longest path that a tool takes.
pub const MAX_PATH_BYTES: usize = 4096;
/// Parts of a path that a tool takes.
pub const MAX_PATH_PARTS_COUNT: usize = 128;
/// Lines that `edit` names in its answer.
pub const MAX_TOLD_LINES_COUNT: usize = 10;

/// Text of one `tool.progress`.
pub const MAX_PROGRESS_BYTES: usize = 512;
/// One line of a `tool.progress`.
pub const MAX_PROGRESS_LINE_BYTES: usize = 200;
/// Between two `tool.progress` of one call, and from its start to the first.
pub const PROGRESS_INTERVAL_MS: u64 = 500;
/// The end of a command's output from which the next `tool.progress` is made.
pub const PROGRESS_WINDOW_BYTES: usize = 1024;

/// How long `list` or `search` may go through folders.
pub const WALK_MS: u64 = 20_000;
/// Levels of folders that `list` and `search` go down; each holds a file open.
pub const MAX_WALK_DEPTH_COUNT: usize = 64;
/// Names that are read of one folder.
pub const MAX_FOLDER_NAMES_COUNT: usize = 100_000;
/// One `.gitignore` file.
pub const MAX_IGNORE_FILE_BYTES: u64 = 64 * 1024;
/// Entries that `list` gives.
pub const MAX_LIST_COUNT: usize = 2_000;
/// Lines that `search` gives.
pub const MAX_HITS_COUNT: usize = 500;
/// The part of a found line that is shown.
pub const MAX_HIT_BYTES: usize = 240;
/// What `search` looks for.
pub const MAX_PATTERN_BYTES: usize = 4096;
/// Memory of a regular expression.
pub const MAX_REGEX_BYTES: usize = 4 * 1024 * 1024;
/// Larger files are not searched.
pub const MAX_SEARCHED_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The start of a file in which a NUL makes it binary.
pub const BINARY_SAMPLE_BYTES: usize = 8 * 1024;

const _: () = assert!(MAX_PROGRESS_LINE_BYTES < MAX_PROGRESS_BYTES);
const _: () = assert!(MAX_PROGRESS_BYTES < PROGRESS_WINDOW_BYTES);
const _: () = assert!(MAX_REQUEST_ID_BYTES * WORST_ESCAPE_BYTES < FRAME_ENVELOPE_BYTES / 2);
const _: () = assert!(MAX_ARGUMENTS_BYTES < MAX_SSE_EVENT_BYTES);
const _: () = assert!(MAX_ASSISTANT_TEXT_BYTES < MAX_RESPONSE_BYTES);
const _: () = assert!(MAX_SSE_EVENT_BYTES < MAX_RESPONSE_BYTES);
const _: () = assert!(MAX_PROMPT_BYTES < MAX_QUEUE_BYTES);
