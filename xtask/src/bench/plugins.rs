//! What the bundled plugins cost a daemon.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use scv_protocol::{ControlCommand, PluginState};

use super::{
    median, row,
    start::{echo, without_plugins},
};
use crate::harness::{Built, Daemon, Home, Options, until};

/// Starts that are measured.
const RUNS: usize = 9;
const SOON: Duration = Duration::from_secs(20);

/// From starting the process to the last plugin that serves: on a new home each one is tried in
/// a child first, on one that has been used before it is not.
pub(super) async fn load(built: &Built) -> Result<()> {
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let home = Home::new(built)?;
        for times in [&mut first, &mut again] {
            let begin = Instant::now();
            let mut daemon = Daemon::spawn(&home, &echo()).await?;
            all_loaded(&daemon).await?;
            times.push(begin.elapsed());
            daemon.terminate().await?;
        }
    }
    let ms = |times| -> Result<f64> {
        Ok(median::<Duration>(times).context("there were runs")?.as_secs_f64() * 1e3)
    };
    row(
        "start to all plugins loaded",
        &format!("{:.1} ms", ms(again)?),
        &format!("{:.1} ms on a new home, with probes", ms(first)?),
    );
    Ok(())
}

/// Plugins that are loaded and serve no account.
pub(super) async fn memory(built: &Built) -> Result<()> {
    let with = resident_kib(built, &echo()).await?;
    let without = resident_kib(built, &without_plugins()).await?;
    row(
        "RSS of all plugins, loaded and not connected",
        &format!("{:.1} MiB", with.saturating_sub(without) as f64 / 1024.0),
        &format!("{:.1} MiB without them", without as f64 / 1024.0),
    );
    Ok(())
}

/// On a home where the plugins have been loaded before.
async fn resident_kib(built: &Built, options: &Options) -> Result<u64> {
    let home = Home::new(built)?;
    let mut daemon = Daemon::spawn(&home, &echo()).await?;
    all_loaded(&daemon).await?;
    daemon.terminate().await?;
    let mut daemon = Daemon::spawn(&home, options).await?;
    all_loaded(&daemon).await?;
    let pid = daemon.pid().as_raw_nonzero();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    daemon.terminate().await?;
    kib.context("the kernel tells the RSS")
}

/// Waits until every plugin that there is serves.
async fn all_loaded(daemon: &Daemon) -> Result<()> {
    until("all plugins are loaded", SOON, async || {
        let status = daemon.control(ControlCommand::Plugins).await?;
        let plugins = status.plugins.unwrap_or_default();
        let is_loaded = plugins.iter().all(|plugin| plugin.state == PluginState::Loaded);
        Ok(is_loaded.then_some(()))
    })
    .await
}
