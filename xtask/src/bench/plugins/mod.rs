//! What plugins cost: loading them, calling them, having them.

mod call;
mod load;
mod memory;
mod stage;

use std::{ffi::OsStr, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use scv_protocol::{ControlCommand, PluginState};
use serde::de::DeserializeOwned;
use tokio::process::Command;

use crate::harness::{Built, Daemon, until};

pub(super) use call::call;
pub(super) use load::load;
pub(super) use memory::memory;
pub(super) use stage::Accounts;

const SOON: Duration = Duration::from_secs(60);

/// Waits until every plugin that there is serves.
async fn all_loaded(daemon: &Daemon) -> Result<()> {
    until("all plugins are loaded", SOON, async || {
        let status = daemon.control(ControlCommand::Plugins).await?;
        for plugin in status.plugins.unwrap_or_default() {
            match plugin.state {
                PluginState::Loaded => {}
                PluginState::Ready => return Ok(None),
                state => bail!("{} is {state:?}: {:?}", plugin.name, plugin.reason),
            }
        }
        Ok(Some(()))
    })
    .await
}

/// Runs the program that measures inside one process, and gives what it found.
async fn cost<T: DeserializeOwned>(
    built: &Built,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<T> {
    let program = built.program("scv-plugin-cost");
    let output = Command::new(program).args(arguments).output().await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "scv-plugin-cost failed: {errors}");
    serde_json::from_slice(&output.stdout).context("scv-plugin-cost prints something else")
}
