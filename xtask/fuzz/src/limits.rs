//! How far the driver goes.

/// An input; larger ones are cut.
pub(crate) const MAX_INPUT_BYTES: usize = 16 * 1024;
/// One input may take this long; more is a finding, because every target is linear.
pub(crate) const MAX_RUN_MS: u64 = 1_000;
/// Inputs that led to something new and are mutated further.
pub(crate) const MAX_POOL_COUNT: usize = 4_096;
/// Changes made to an input at once.
pub(crate) const MAX_CHANGES_COUNT: usize = 6;
