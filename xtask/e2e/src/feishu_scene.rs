//! A person's machine with a Feishu account, the platform and the model, ready for a daemon.

use std::{ffi::OsString, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use scv_protocol::{Component, ComponentState};
use scv_simulators::{Feishu, Model};
use serde_json::Value;
use xtask::harness::{Built, Daemon, Home, Options};

use crate::scene::{SOON, config, write};

/// The component of the account that scenes sign in.
pub const COMPONENT: &str = "feishu:default";

/// One home with a signed-in Feishu account, against simulators.
pub struct FeishuScene {
    /// The machine.
    pub home: Home,
    /// The platform.
    pub feishu: Feishu,
    /// The model.
    pub model: Model,
}

impl FeishuScene {
    /// A home that uses the model, and where nobody has signed in yet.
    ///
    /// # Errors
    /// When a file or a port is not to be had.
    pub fn new() -> Result<Self> {
        let home = Home::new(Built::get())?;
        let scene = Self { home, feishu: Feishu::start()?, model: Model::start()? };
        scene.write("config.toml", &config(&scene.model))?;
        Ok(scene)
    }

    /// The same, with credentials as a sign-in would have left them.
    ///
    /// # Errors
    /// As [`FeishuScene::new`].
    pub fn signed_in() -> Result<Self> {
        let scene = Self::new()?;
        let credentials = scene.feishu.credentials().to_json();
        scene.write("channels/feishu/accounts/default.json", &credentials)?;
        Ok(scene)
    }

    /// Writes a private file under `SCV_HOME`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        write(&self.home, name, text)
    }

    /// Lets the owner use tools.
    ///
    /// # Errors
    /// When the settings cannot be written.
    pub fn grant_tools(&self) -> Result<()> {
        let settings = r#"{"enabled":true,"workspace":null,"remote_tools":"owner"}"#;
        self.write("channels/feishu/settings/default.json", settings).map(drop)
    }

    /// How its daemons are started: with the way to the platform in their environment.
    pub fn options(&self, more: impl IntoIterator<Item = (OsString, OsString)>) -> Options {
        let environment = self.feishu.environment().into_iter().chain(more).collect();
        Options { environment, ..Options::default() }
    }

    /// A daemon whose socket answers; its account may still be starting.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn daemon(&self) -> Result<Daemon> {
        Daemon::spawn(&self.home, &self.options([])).await
    }

    /// A daemon with an open connection to the platform.
    ///
    /// # Errors
    /// When it is not within [`SOON`].
    pub async fn connected(&self) -> Result<Daemon> {
        let daemon = self.daemon().await?;
        let connected = |component: &Component| component.state == ComponentState::Connected;
        daemon.component(COMPONENT, SOON, connected).await?;
        self.feishu.wait_open(SOON).await.with_context(|| daemon.log())?;
        Ok(daemon)
    }

    /// Stops a daemon in the orderly way and reads the account's state, of which no journal is
    /// left then.
    ///
    /// # Errors
    /// When it fails, or leaves a journal.
    pub async fn stop(&self, daemon: &mut Daemon) -> Result<Value> {
        let status = daemon.terminate().await?;
        ensure!(status.success(), "the daemon ended with {status}\n{}", daemon.log());
        let journal = self.home.scv_home().join("channels/feishu/journal/default.log");
        ensure!(!journal.exists(), "a journal is left after a clean stop");
        self.state()
    }

    /// The account's base state.
    ///
    /// # Errors
    /// When there is none.
    pub fn state(&self) -> Result<Value> {
        let path = self.home.scv_home().join("channels/feishu/state/default.json");
        let text = fs::read(&path).with_context(|| format!("no {}", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// Waits until nothing is being answered, waits or is to be sent.
///
/// # Errors
/// When it is not so within [`SOON`].
pub async fn settled(daemon: &Daemon) -> Result<Component> {
    let none = |count: Option<u64>| count.unwrap_or(0) == 0;
    let settled = |account: &Component| {
        none(account.running) && none(account.waiting) && none(account.pending)
    };
    daemon.component(COMPONENT, SOON, settled).await
}
