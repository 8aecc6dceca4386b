//! Configuration: `$SCV_HOME/config.toml`, then the file of `--config`, then flags.

mod agent;
mod file;
mod layers;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
};

use scv_agent::AgentConfig;
use scv_plugin_host::Isolation;
use serde_json::Value;

pub use file::ApprovalPolicy;

/// Where configuration comes from, weakest first: the home's file, `file`, `overrides`.
#[derive(Debug, Default)]
pub struct ConfigSources {
    /// The home; its `config.toml` may be absent.
    pub home: PathBuf,
    /// A file that the person named; it must exist.
    pub file: Option<PathBuf>,
    /// What flags and their environment variables say.
    pub overrides: Overrides,
}

/// Values of flags, or of the environment variables in their place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `provider.active`.
    pub provider: Option<String>,
    /// The active provider's model.
    pub model: Option<String>,
    /// The active provider's API base URL.
    pub base_url: Option<String>,
    /// `tools.approval_policy`.
    pub approval_policy: Option<ApprovalPolicy>,
}

/// What the daemon runs with.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// For the agent.
    pub(crate) agent: AgentConfig,
    /// For the plugin host.
    pub plugins: PluginsConfig,
}

/// What is configured about plugins.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginsConfig {
    /// `plugins.dirs`.
    pub dirs: Vec<PathBuf>,
    /// Plugins with `enabled = false`.
    pub disabled: BTreeSet<String>,
    /// `[plugins.NAME] isolation`, where it is said.
    pub isolation: BTreeMap<String, Isolation>,
    /// `[plugins.NAME.settings]`.
    pub settings: BTreeMap<String, BTreeMap<String, Value>>,
}

/// Why the configuration cannot be used. Names files and keys, never a value.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that was named is not there.
    #[error("the configuration file {} does not exist; name another with --config", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("the configuration file {} cannot be read; check the file, or name another with --config", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A key is unknown, or its value of another kind.
    #[error("{}:{line}: {problem}", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// Others can read a file that holds keys.
    #[error("{} holds keys and has mode {mode:04o}; run `chmod 600 {}`", path.display(), path.display())]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Values that cannot stand together, or alone.
    #[error("the configuration is wrong: {problem}")]
    Value {
        /// What is wrong, with the keys' names.
        problem: String,
    },
}

impl Config {
    /// Reads and checks every source. `env` looks up environment variables that hold API keys.
    ///
    /// # Errors
    /// [`ConfigError`], with file and line where there is one.
    pub fn load(
        sources: &ConfigSources,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let file = merged(sources)?;
        let plugins = PluginsConfig::from(&file.plugins);
        let agent = agent::config(file, &sources.overrides, env)?;
        Ok(Self { agent, plugins })
    }
}

impl PluginsConfig {
    /// As [`Config::load`], but only what concerns plugins: for commands in an environment that
    /// may lack the keys which the daemon has.
    ///
    /// # Errors
    /// [`ConfigError`], with file and line where there is one.
    pub fn load(sources: &ConfigSources) -> Result<Self, ConfigError> {
        Ok(Self::from(&merged(sources)?.plugins))
    }
}

/// The files, one over the other.
fn merged(sources: &ConfigSources) -> Result<file::ConfigFile, ConfigError> {
    let mut merged = layers::read(&sources.home.join("config.toml"))?.unwrap_or_default();
    if let Some(path) = &sources.file {
        let missing = || ConfigError::Missing { path: path.clone() };
        layers::merge(&mut merged, layers::read(path)?.ok_or_else(missing)?);
    }
    layers::typed(merged)
}

impl From<&file::PluginsTable> for PluginsConfig {
    fn from(table: &file::PluginsTable) -> Self {
        let disabled = table.by_name.iter().filter(|(_, plugin)| plugin.enabled == Some(false));
        let isolation = table
            .by_name
            .iter()
            .filter_map(|(name, plugin)| Some((name.clone(), plugin.isolation?)));
        let settings = table.by_name.iter().filter(|(_, plugin)| !plugin.settings.is_empty());
        Self {
            dirs: table.dirs.clone(),
            disabled: disabled.map(|(name, _)| name.clone()).collect(),
            isolation: isolation.collect(),
            settings: settings
                .map(|(name, plugin)| (name.clone(), plugin.settings.clone()))
                .collect(),
        }
    }
}
