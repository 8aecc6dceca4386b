//! How long the kit waits. Generous: a loaded machine must not make a good plugin fail.

/// One operation that must end by itself; longer than any `max_wait_ms` with its margin.
pub(super) const OPERATION_MS: u64 = 90_000;
/// Everything that one case waits for.
pub(super) const CASE_MS: u64 = 300_000;
/// The grace of `close` and `shutdown`.
pub(super) const GRACE_MS: u32 = 10_000;
/// The longest pause before a reader is dropped.
pub(super) const DROP_AFTER_MS: u64 = 20;
/// Readers that are dropped while messages arrive.
pub(super) const DROPPED_READERS_COUNT: usize = 20;
/// Messages of the case that floods.
pub(super) const FLOOD_COUNT: usize = 1_000;
/// Lives of a plugin that must leave nothing behind.
pub(super) const LIVES_COUNT: usize = 3;
/// Between two looks at something that ends soon.
pub(super) const LOOK_AGAIN_MS: u64 = 10;
