//! What the bundled plugins add to a daemon's memory.

use anyhow::{Context, Result};

use super::{
    super::{
        engine::process::status_kib,
        median, row,
        start::{echo, without_plugins},
    },
    Accounts, all_loaded,
};
use crate::harness::{Built, Daemon, Home, Options};

/// Daemons of each kind that are measured.
const RUNS: usize = 7;

/// Without plugins, with all of them, and with an account connected at each; on homes that have
/// been used before.
pub(in crate::bench) async fn memory(built: &Built) -> Result<()> {
    let (home, accounts) = (Home::installed(built)?, Accounts::sign_in(built).await?);
    let (mut without, mut with, mut connected) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..=RUNS {
        let figures = [
            resident(&home, &without_plugins(), async |_| Ok(())).await?,
            resident(&home, &echo(), async |daemon| all_loaded(daemon).await).await?,
            resident(&accounts.home, &accounts.options(), async |daemon| {
                accounts.all_connected(daemon).await
            })
            .await?,
        ];
        // The first ones made the private copies and tried them.
        if number > 0 {
            without.push(figures[0]);
            with.push(figures[1]);
            connected.push(figures[2]);
        }
    }
    let without = median(without).context("there were runs")?;
    let with = median(with).context("there were runs")?;
    let connected = median(connected).context("there were runs")?;
    let mib = |kib: u64| kib as f64 / 1024.0;
    row(
        "RSS of all plugins, loaded and not connected",
        &format!("{:.1} MiB", mib(with.saturating_sub(without))),
        &format!("{:.1} MiB without them", mib(without)),
    );
    row(
        "RSS of all plugins, with an account connected at each",
        &format!("{:.1} MiB", mib(connected.saturating_sub(without))),
        "beside the same, the accounts themselves included",
    );
    Ok(())
}

/// The memory of a daemon once it is as wanted, in KiB.
async fn resident(
    home: &Home,
    options: &Options,
    wanted: impl AsyncFnOnce(&Daemon) -> Result<()>,
) -> Result<u64> {
    let mut daemon = Daemon::spawn(home, options).await?;
    wanted(&daemon).await?;
    let kib = status_kib(daemon.pid().as_raw_nonzero().get().unsigned_abs(), "VmRSS:")?;
    daemon.terminate().await?;
    Ok(kib)
}
