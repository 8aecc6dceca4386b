//! What the commands share: the home, the configuration, the way to the daemon.

use std::{env, io, path::PathBuf};

use anyhow::{Context as _, bail};
use scv_daemon::{ApprovalPolicy, Config, ConfigSources, Overrides, socket_path};
use scv_plugin_host::{SearchOptions, SearchPath};
use scv_protocol::{
    ClientInfo, ControlCommand, DaemonStatus,
    client::{self, ClientError},
};

use crate::{
    args::{Global, PluginDirs, Policy},
    exit,
};

/// What the commands share.
pub(crate) struct Context {
    /// `$SCV_HOME`, absolute.
    pub(crate) home: PathBuf,
    /// The global options.
    pub(crate) global: Global,
}

impl Context {
    pub(crate) fn new(global: Global) -> anyhow::Result<Self> {
        let home = match &global.scv_home {
            Some(home) => home.clone(),
            None => env::home_dir()
                .context("HOME is not set; name scv's folder with --scv-home")?
                .join(".scv"),
        };
        let home = std::path::absolute(home).context("the current folder cannot be read")?;
        Ok(Self { home, global })
    }

    /// How this program names itself to a server.
    pub(crate) fn client(&self) -> ClientInfo {
        ClientInfo { name: "scv".into(), version: env!("CARGO_PKG_VERSION").into() }
    }

    /// Every layer of configuration.
    pub(crate) fn config(&self) -> anyhow::Result<Config> {
        let sources = ConfigSources {
            home: self.home.clone(),
            file: self.global.config.clone(),
            overrides: Overrides {
                provider: self.global.provider.clone(),
                model: self.global.model.clone(),
                base_url: self.global.base_url.clone(),
                approval_policy: self.global.approval_policy.map(ApprovalPolicy::from),
            },
        };
        Config::load(&sources, |name| env::var(name).ok())
            .map_err(|error| exit::usage(error.to_string()))
    }

    /// Where plugins are looked for.
    pub(crate) fn search(&self, plugins: &PluginDirs, config: &Config) -> SearchPath {
        SearchPath::resolve(SearchOptions {
            cli_dirs: plugins.dirs.clone(),
            env: env::var_os("SCV_PLUGIN_DIR"),
            config_dirs: config.plugins.dirs.clone(),
            exe: env::current_exe().and_then(|exe| exe.canonicalize()).ok(),
        })
    }

    /// Asks the daemon; none when no daemon runs.
    pub(crate) async fn ask(
        &self,
        command: ControlCommand,
    ) -> anyhow::Result<Option<DaemonStatus>> {
        match client::control(&socket_path(&self.home), self.client(), command).await {
            Ok(status) => Ok(Some(status)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks the daemon, which must run.
    pub(crate) async fn demand(&self, command: ControlCommand) -> anyhow::Result<DaemonStatus> {
        match self.ask(command).await? {
            Some(status) => Ok(status),
            None => bail!("no daemon is running; start it with `scv run`"),
        }
    }
}

/// Whether the error means that nobody listens, rather than that something is wrong.
pub(crate) fn is_absent(error: &ClientError) -> bool {
    let ClientError::Io(error) = error else {
        return false;
    };
    // Invalid: a path too long for a socket, so that no daemon can listen there.
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::InvalidInput
    )
}

impl From<Policy> for ApprovalPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::OnRisk => Self::OnRisk,
            Policy::Always => Self::Always,
            Policy::Never => Self::Never,
        }
    }
}
