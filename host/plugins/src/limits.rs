//! Every limit of loading and speaking to plugins; those of the boundary are in the SDK.

use scv_plugin_api::limits::MAX_DOCUMENT_BYTES;

/// Plugin files that are looked at, over all folders; further ones are refused by name.
pub(crate) const MAX_FILES_COUNT: usize = 64;
/// A plugin file is read into memory as a whole.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Another process needs the cache's lock for as long as it writes one copy.
pub(crate) const CACHE_LOCK_MS: u64 = 10_000;
/// Between two looks at that lock.
pub(crate) const CACHE_LOCK_POLL_MS: u64 = 10;
/// Loading a library in a child: the system's loader and the checks of its ABI.
pub(crate) const PROBE_MS: u64 = 5_000;
/// Starting that child, on a machine however busy.
pub(crate) const CHILD_START_MS: u64 = 30_000;
/// How long a child whose connection has ended may take to end itself.
pub(crate) const CHILD_END_MS: u64 = 1_000;
/// The first wait before a child that ended is started again; it doubles.
pub(crate) const CHILD_BACKOFF_MS: u64 = 1_000;
/// The longest such wait.
pub(crate) const CHILD_MAX_BACKOFF_MS: u64 = 60_000;
/// A child that lived this long had a good start: the next wait is the first one again.
pub(crate) const CHILD_HEALTHY_MS: u64 = 60_000;
/// Address space of a child. The threads of a plugin reserve most of what they never use.
pub(crate) const CHILD_MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Files that a child may have open.
pub(crate) const CHILD_FILES_COUNT: u64 = 1_024;
/// Processes and threads that a child may add to those that run already.
pub(crate) const CHILD_PROCESSES_COUNT: u64 = 256;
/// A frame between host and child: a document with its body, and a prefix.
pub(crate) const MAX_FRAME_BYTES: usize = 2 * MAX_DOCUMENT_BYTES + 128 * 1024;
/// A record of a child's log on its way; the line that becomes of it is shorter.
pub(crate) const MAX_LOG_RECORD_BYTES: usize = 16 * 1024;
/// What may wait for a host that does not read, before log lines are dropped.
pub(crate) const MAX_LOG_BACKLOG_BYTES: usize = 1024 * 1024;
/// Another process needs the lock of the pins for as long as it writes them.
pub(crate) const PINS_LOCK_MS: u64 = 5_000;
/// The file of pins.
pub(crate) const MAX_PINS_BYTES: u64 = 1024 * 1024;
/// What a process leaves behind that dies while it loads a plugin.
pub(crate) const MAX_SENTINEL_BYTES: u64 = 4 * 1024;
/// Loads of one file that may end with the process's death, though the file seems harmless.
pub(crate) const MAX_LOAD_ATTEMPTS_COUNT: u32 = 3;
/// How long another process may take to load the same file.
pub(crate) const SENTINEL_WAIT_MS: u64 = 20_000;
/// `/etc/passwd` and `/etc/group`: a larger one counts as unreadable.
pub(crate) const MAX_ACCOUNTS_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Added to the grace of `close` and `shutdown` before the host calls the plugin wedged.
pub(crate) const CLOSE_MARGIN_MS: u64 = 1_000;
/// A line of a plugin's log.
pub(crate) const MAX_LOG_LINE_CHARS_COUNT: usize = 4_096;
/// Lines that a plugin may log at once.
pub(crate) const LOG_BURST_COUNT: u32 = 1_000;
/// Lines a second that it may log for ever.
pub(crate) const LOG_LINES_A_SECOND_COUNT: u32 = 200;
/// A UUID as text.
pub(crate) const UUID_CHARS_COUNT: usize = 36;
/// A word of this many letters and digits looks like a secret.
pub(crate) const SECRET_WORD_CHARS_COUNT: usize = 32;

const _: () = assert!(LOG_BURST_COUNT >= LOG_LINES_A_SECOND_COUNT);
