//! Every limit of loading and speaking to plugins; those of the boundary are in the SDK.

/// Plugin files that are looked at, over all folders; further ones are refused by name.
pub(crate) const MAX_FILES_COUNT: usize = 64;
/// A plugin file is read into memory as a whole.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Another process needs the cache's lock for as long as it writes one copy.
pub(crate) const CACHE_LOCK_MS: u64 = 10_000;
/// Between two looks at that lock.
pub(crate) const CACHE_LOCK_POLL_MS: u64 = 10;
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
/// A word of this many letters and digits looks like a secret.
pub(crate) const SECRET_WORD_CHARS_COUNT: usize = 32;

const _: () = assert!(LOG_BURST_COUNT >= LOG_LINES_A_SECOND_COUNT);
