//! What the commands share: the home, the configuration, the way to the daemon.

use std::{
    env, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use scv_daemon::{
    ApprovalPolicy, Config, ConfigError, ConfigSources, Given, Overrides, PluginsConfig,
    config_path, socket_path,
};
use scv_plugin_host::{SearchOptions, SearchPath};
use scv_protocol::{
    ClientInfo, ControlCommand, DaemonStatus,
    client::{self, Client, ClientError},
    limits::CONTROL_TIMEOUT_MS,
};
use tokio::time::timeout;

use crate::{
    args::{Global, PluginDirs, Policy},
    exit,
};

/// What is so and what to do when [`Context::config_is_newer_than_daemon`].
pub(crate) const STALE_CONFIG: (&str, &str) = (
    "the configuration has changed since the daemon read it",
    "restart the daemon for that to take effect",
);

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

    /// Every layer of configuration, with the keys that the environment holds.
    pub(crate) fn config(&self) -> anyhow::Result<Config> {
        Config::load(&self.sources(), |name| env::var(name).ok()).map_err(wrong)
    }

    /// Whether the configuration is right, wherever its keys come from.
    pub(crate) fn check_config(&self) -> anyhow::Result<()> {
        let any_key = |_: &str| Some("known to the daemon".to_owned());
        Config::load(&self.sources(), any_key).map(drop).map_err(wrong)
    }

    /// What the configuration says about plugins.
    pub(crate) fn plugins_config(&self) -> anyhow::Result<PluginsConfig> {
        PluginsConfig::load(&self.sources()).map_err(wrong)
    }

    /// Every layer of configuration.
    pub(crate) fn sources(&self) -> ConfigSources {
        let Global { provider, model, base_url, approval_policy, .. } = &self.global;
        let policy = approval_policy.map(ApprovalPolicy::from);
        ConfigSources {
            home: self.home.clone(),
            file: self.global.config.clone(),
            overrides: Overrides {
                provider: given(provider, "--provider", "SCV_PROVIDER"),
                model: given(model, "--model", "SCV_MODEL"),
                base_url: given(base_url, "--base-url", "SCV_BASE_URL"),
                approval_policy: policy.map(|value| Given { value, by: "--approval-policy" }),
            },
        }
    }

    /// Whether a configuration file was written after the daemon made its socket.
    pub(crate) fn config_is_newer_than_daemon(&self) -> bool {
        let written = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
        let Some(start) = written(&socket_path(&self.home)) else {
            return false;
        };
        let files = [Some(config_path(&self.home)), self.global.config.clone()];
        files.iter().flatten().filter_map(|file| written(file)).any(|at| at > start)
    }

    /// Whether the command line itself names a configuration file, not only the environment.
    pub(crate) fn names_config(&self) -> bool {
        let exported = env::var_os("SCV_CONFIG");
        self.global.config.as_ref().is_some_and(|file| exported.is_none_or(|e| e != **file))
    }

    /// Where plugins are looked for.
    pub(crate) fn search(
        &self,
        plugins: &PluginDirs,
        config: &PluginsConfig,
    ) -> anyhow::Result<SearchPath> {
        if let Some(absent) = plugins.dirs.iter().find(|dir| !dir.is_dir()) {
            return Err(exit::usage(format!(
                "the plugin folder {} is not a folder that can be opened; name another with --plugin-dir",
                absent.display()
            )));
        }
        Ok(SearchPath::resolve(SearchOptions {
            cli_dirs: plugins.dirs.clone(),
            env: env::var_os("SCV_PLUGIN_DIR"),
            config_dirs: config.dirs.clone(),
            home: Some(self.home.clone()),
            exe: env::current_exe().and_then(|exe| exe.canonicalize()).ok(),
        }))
    }

    /// Connects to the daemon, which may have been stopped in the middle of anything.
    pub(crate) async fn dial(&self) -> Result<Client, ClientError> {
        let limit = Duration::from_millis(CONTROL_TIMEOUT_MS);
        let socket = socket_path(&self.home);
        match timeout(limit, Client::connect(&socket, self.client())).await {
            Ok(result) => result,
            Err(_) => Err(ClientError::Timeout { seconds: limit.as_secs() }),
        }
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

/// A value of the command line, and whether it is there by the flag or by its variable.
fn given(
    value: &Option<String>,
    flag: &'static str,
    variable: &'static str,
) -> Option<Given<String>> {
    let value = value.clone()?;
    let by = if env::var(variable).is_ok_and(|set| set == value) { variable } else { flag };
    Some(Given { value, by })
}

pub(crate) fn wrong(error: ConfigError) -> anyhow::Error {
    exit::usage(format!("{:#}", anyhow::Error::from(error)))
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
