//! What a distribution may weigh.

/// One plugin: 3 MiB.
pub(super) const MAX_PLUGIN_BYTES: usize = 3 * 1024 * 1024;
