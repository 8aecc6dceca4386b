//! Today's daemon and a plugin from another time.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt,
    path::Path,
    time::Duration,
};

use anyhow::{Result, ensure};
use scv_protocol::ComponentState;

use crate::harness::{Built, Daemon, Home, Options, Scv};

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(120);

/// The daemon loads it, its account is connected, and its message is answered.
pub(super) fn daemon_and(
    built: &Built,
    plugin: &Path,
    channel: &str,
    credentials: &str,
) -> Result<()> {
    let home = Home::new(built)?;
    home.add_plugin(plugin)?;
    let accounts = home.scv_home().join("channels").join(channel).join("accounts");
    DirBuilder::new().recursive(true).mode(0o700).create(&accounts)?;
    let account = accounts.join("default.json");
    fs::write(&account, credentials)?;
    fs::set_permissions(&account, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    runtime()?.block_on(async {
        let mut daemon = Daemon::spawn(&home, &Options::default()).await?;
        let id = format!("{channel}:default");
        let answered = daemon.component(&id, SOON, |component| {
            component.state == ComponentState::Connected
                && component.last_out_unix_seconds.is_some()
        });
        answered.await.map_err(|error| error.context(daemon.log()))?;
        let status = daemon.terminate().await?;
        ensure!(status.success(), "the daemon ended with {status}\n{}", daemon.log());
        Ok(())
    })
}

/// A sign-in whose events today's program does not know all.
pub(super) fn sign_in(built: &Built, plugin: &Path, channel: &str) -> Result<()> {
    let home = Home::new(built)?;
    home.add_plugin(plugin)?;
    let plugins = home.plugins();
    let arguments = ["channels".as_ref(), "login".as_ref(), "--plugin-dir".as_ref()];
    let arguments = arguments.into_iter().chain([plugins.as_os_str(), channel.as_ref()]);
    let output = runtime()?.block_on(Scv::on(&home).run_with_input(arguments, "ann\n"))?;
    output.success().map(drop)
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
