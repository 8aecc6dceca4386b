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
/// The size of each message of the case that watches the memory.
pub(super) const LARGE_TEXT_BYTES: usize = 4 * 1024;
/// Of those messages, how many the person writes at a time: a platform may bound a request.
pub(super) const LARGE_TEXTS_COUNT: usize = 50;
/// What the process may need meanwhile, the fake platform included. The texts are 4 MiB, and a
/// plugin holds at most as much of what the host did not take.
pub(super) const FLOOD_MEMORY_BYTES: u64 = 64 * 1024 * 1024;
/// A jump of the platform's clock: a day.
pub(super) const CLOCK_JUMP_MS: i64 = 24 * 60 * 60 * 1000;
/// Lives of a plugin that must leave nothing behind.
pub(super) const LIVES_COUNT: usize = 3;
/// Between two looks at something that ends soon.
pub(super) const LOOK_AGAIN_MS: u64 = 10;
