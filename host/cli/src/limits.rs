//! Every limit of this room.

/// How long a cancelled turn may take to say that it ended.
pub(crate) const CANCEL_WAIT_MS: u64 = 5_000;
/// Between two looks at the daemon's log with `--follow`.
pub(crate) const FOLLOW_MS: u64 = 500;
/// How long the plugin of a sign-in may take to end.
pub(crate) const PLUGIN_SHUTDOWN_MS: u64 = 2_000;
/// How long a command waits for an account that it started to name its owner.
pub(crate) const GRANT_WAIT_MS: u64 = 3_000;
/// Between two looks at that account.
pub(crate) const GRANT_STEP_MS: u64 = 100;
/// Log lines that wait for a stderr that does not take them; more are dropped.
pub(crate) const LOG_QUEUE_LINES_COUNT: usize = 4096;
/// Between two looks of `channels status --watch`.
pub(crate) const WATCH_STEP_MS: u64 = 1_000;
/// What `channels send` takes: as much as an answer may be.
pub(crate) const SEND_TEXT_BYTES: usize = 64 * 1024;
/// Files and folders whose modes `scv doctor` looks at.
pub(crate) const MAX_DOCTOR_ENTRIES_COUNT: usize = 10_000;
