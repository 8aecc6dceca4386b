//! Whether what is saved may have changed, told without reading it.

use scv_bridge::{Accounts, Clock, SystemClock, accounts::Glance};
use scv_plugin_host::LoadedChannel;

/// The stamps of everything that a survey reads; none when they cannot be relied on.
pub(super) fn take(accounts: &Accounts, channels: &[LoadedChannel]) -> Option<Glance> {
    let home = accounts.home();
    let legacy = channels.iter().filter_map(|channel| channel.manifest.legacy.as_ref());
    let others = legacy.flat_map(|legacy| {
        [home.legacy_dir(&legacy.home_dir), home.root().join(&legacy.single_file)]
    });
    let glance = accounts.glance(others).ok()?;
    glance.is_settled(SystemClock.unix_ms() / 1_000).then_some(glance)
}
