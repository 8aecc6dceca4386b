//! A person's machine, the platform and the model, ready for a daemon.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use scv_protocol::{Component, ComponentState};
use scv_simulators::{Ilink, Model};
use serde_json::{Value, json};
use xtask::harness::{Built, Daemon, Home, Options};

/// Longer than anything that a test waits for takes on a busy machine.
pub const SOON: Duration = Duration::from_secs(90);
/// The component of the account that scenes sign in.
pub const COMPONENT: &str = "wechat:default";

/// One home with a signed-in WeChat account, against simulators.
pub struct Scene {
    /// The machine.
    pub home: Home,
    /// The platform.
    pub ilink: Ilink,
    /// The model.
    pub model: Model,
}

impl Scene {
    /// A home that uses the model, and where nobody has signed in yet.
    ///
    /// # Errors
    /// When a file or a port is not to be had.
    pub fn new() -> Result<Self> {
        let scene =
            Self { home: Home::new(Built::get())?, ilink: Ilink::start()?, model: Model::start()? };
        scene.write("config.toml", &config(&scene.model))?;
        Ok(scene)
    }

    /// The same, with credentials as a sign-in would have left them.
    ///
    /// # Errors
    /// As [`Scene::new`].
    pub fn signed_in() -> Result<Self> {
        let scene = Self::new()?;
        let credentials = scene.ilink.credentials().to_json();
        scene.write("channels/wechat/accounts/default.json", &credentials)?;
        Ok(scene)
    }

    /// Writes a private file under the home; folders are made on the way.
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
        self.write("channels/wechat/settings/default.json", settings).map(drop)
    }

    /// A daemon whose socket answers; its accounts may still be starting.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn daemon(&self) -> Result<Daemon> {
        Daemon::spawn(&self.home, &Options::default()).await
    }

    /// A daemon whose account has been answered by the platform.
    ///
    /// # Errors
    /// When it is not within [`SOON`].
    pub async fn connected(&self) -> Result<Daemon> {
        // Without it the first sign of life is the end of a poll that is held for 35 s.
        self.ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
        let daemon = self.daemon().await?;
        account(&daemon, |component| component.state == ComponentState::Connected).await?;
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
        ensure!(!self.journal().exists(), "a journal is left after a clean stop");
        self.state()
    }

    /// The account's base state.
    ///
    /// # Errors
    /// When there is none.
    pub fn state(&self) -> Result<Value> {
        let path = self.home.scv_home().join("channels/wechat/state/default.json");
        let text = fs::read(&path).with_context(|| format!("no {}", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Where the account's journal is.
    pub fn journal(&self) -> PathBuf {
        self.home.scv_home().join("channels/wechat/journal/default.log")
    }
}

/// Writes a private file under `SCV_HOME`; folders are made on the way.
///
/// # Errors
/// When it cannot be written.
pub fn write(home: &Home, name: &str, text: &str) -> Result<PathBuf> {
    let path = home.scv_home().join(name);
    let folder = path.parent().context("a file has a folder")?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&path)?.write_all(text.as_bytes())?;
    Ok(path)
}

/// Waits until the scene's account is as wanted.
///
/// # Errors
/// When it is not within [`SOON`].
pub async fn account(daemon: &Daemon, wanted: impl FnMut(&Component) -> bool) -> Result<Component> {
    daemon.component(COMPONENT, SOON, wanted).await
}

/// A state document of the scene's account, unbound, with these ids already answered.
pub fn state_with(seen: &[&str], cursor: &str) -> String {
    json!({
        "credential_fingerprint": null,
        "cursor": cursor,
        "seen": seen,
        "pending": null,
        "in_flight": null,
    })
    .to_string()
}

/// A configuration whose one provider is this model.
pub fn config(model: &Model) -> String {
    format!(
        "[provider]\nactive = \"simulator\"\n\n[providers.simulator]\nwire_api = \"chat\"\n\
         model = \"simulated\"\nbase_url = \"{}\"\napi_key = \"test-key-not-secret\"\n",
        model.base_url()
    )
}

/// The first answer that the model gives by itself.
pub fn answer_to(prompt: &str) -> String {
    format!("answer to: {prompt}")
}

/// Copies a file with another mode.
///
/// # Errors
/// When it cannot be copied.
pub fn copy_with_mode(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let bytes = fs::read(from)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    options.open(to)?.write_all(&bytes)?;
    // The mode that a file is created with passes through the umask; this one does not.
    fs::set_permissions(to, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    Ok(())
}
