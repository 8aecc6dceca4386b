//! Configuration: `$SCV_HOME/config.toml`, the workspace's `.scv/config.toml`, the file of
//! `--config`, the environment and flags, the later over the earlier.

mod agent;
mod error;
mod file;
mod layers;
mod show;
mod starter;
#[cfg(test)]
mod tests;
mod workspace;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use scv_agent::{
    AgentConfig,
    config::{OpenAiConfig, ProviderKind},
};
use scv_plugin_host::{Isolation, Policy};
use scv_protocol::limits::MAX_CLIENT_FRAME_BYTES;
use serde_json::Value;
use toml::Table;

pub use error::ConfigError;
pub use file::ApprovalPolicy;
pub use show::{Setting, Source, effective};
pub use starter::{config_path, init};
pub(crate) use workspace::Bounds;

use layers::Layer;

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
    pub provider: Option<Given<String>>,
    /// The active provider's model.
    pub model: Option<Given<String>>,
    /// The active provider's API base URL.
    pub base_url: Option<Given<String>>,
    /// `tools.approval_policy`.
    pub approval_policy: Option<Given<ApprovalPolicy>>,
}

/// A value from outside of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// The flag or the variable that it comes from.
    pub by: &'static str,
}

/// What the daemon runs with.
#[derive(Debug, Clone)]
pub struct Config {
    /// For the agent.
    pub(crate) agent: AgentConfig,
    /// What a session's folder may tighten of it.
    pub(crate) bounds: Bounds,
    /// A line from a client.
    pub(crate) max_client_frame_bytes: usize,
    /// For the plugin host.
    pub plugins: PluginsConfig,
}

/// Who answers unless a session names another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answering {
    /// The provider's name.
    pub provider: String,
    /// Its model.
    pub model: String,
    /// Its base URL; none for the built-in `echo`.
    pub server: Option<String>,
    /// Whether a key is known.
    pub has_key: bool,
    /// Whether it would cross the network unencrypted.
    pub exposes_key: bool,
}

/// What is configured about plugins.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginsConfig {
    /// `plugins.dirs`.
    pub dirs: Vec<PathBuf>,
    /// Plugins that have a table.
    pub named: BTreeSet<String>,
    /// Plugins with `enabled = false`.
    pub disabled: BTreeSet<String>,
    /// `[plugins.NAME] isolation`, where it is said.
    pub isolation: BTreeMap<String, Isolation>,
    /// `[plugins.NAME.settings]`.
    pub settings: BTreeMap<String, BTreeMap<String, Value>>,
}

/// The files that were read, weakest first, and what flags say about the same keys.
struct Layers {
    home: Option<Layer>,
    named: Option<Layer>,
    overrides: Table,
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
        let layers = Layers::read(sources)?;
        let (below, above) = (layers.below(), layers.above());
        let bounds = Bounds::new(sources.home.clone(), &below, &above);
        let mut file = layers::typed(merged([below, above]))?;
        agent::settle(&mut file, &sources.overrides, &env)?;
        Ok(Self {
            agent: agent::config(&file, env)?,
            bounds,
            max_client_frame_bytes: file.protocol.max_client_frame_bytes,
            plugins: PluginsConfig::from(&file.plugins),
        })
    }
}

impl Config {
    /// Who answers unless a session names another.
    pub fn answering(&self) -> Answering {
        let provider = self.agent.active.clone();
        let active = self.agent.providers.get(&provider);
        let server = active.and_then(|provider| match &provider.kind {
            ProviderKind::OpenAiCompatible(server) => Some(server),
            ProviderKind::Echo => None,
        });
        Answering {
            model: active.map(|provider| provider.model.clone()).unwrap_or_default(),
            server: server.map(|server| server.base_url.clone()),
            has_key: server.is_some_and(|server| server.api_key.is_some()),
            exposes_key: server.is_some_and(OpenAiConfig::exposes_key),
            provider,
        }
    }
}

impl Default for Config {
    /// What holds where nothing is configured and no key is set.
    fn default() -> Self {
        Self {
            agent: AgentConfig::default(),
            bounds: Bounds::default(),
            max_client_frame_bytes: MAX_CLIENT_FRAME_BYTES,
            plugins: PluginsConfig::default(),
        }
    }
}

impl PluginsConfig {
    /// What of it decides whether and where a plugin runs.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy { disabled: self.disabled.clone(), isolation: self.isolation.clone() }
    }

    /// As [`Config::load`], but only what concerns plugins: for commands in an environment that
    /// may lack the keys which the daemon has.
    ///
    /// # Errors
    /// [`ConfigError`], with file and line where there is one.
    pub fn load(sources: &ConfigSources) -> Result<Self, ConfigError> {
        let layers = Layers::read(sources)?;
        let file = layers::typed(merged([layers.below(), layers.above()]))?;
        Ok(Self::from(&file.plugins))
    }
}

impl Layers {
    fn read(sources: &ConfigSources) -> Result<Self, ConfigError> {
        let home = layers::read(&config_path(&sources.home))?;
        let named = match &sources.file {
            Some(path) => {
                let missing = || ConfigError::Missing { path: path.clone() };
                Some(layers::read(path)?.ok_or_else(missing)?)
            }
            None => None,
        };
        Ok(Self { home, named, overrides: sources.overrides.table() })
    }

    /// What a workspace's file stands over.
    fn below(&self) -> Table {
        self.home.as_ref().map(|layer| layer.table.clone()).unwrap_or_default()
    }

    /// What stands over a workspace's file.
    fn above(&self) -> Table {
        let named = self.named.as_ref().map(|layer| layer.table.clone()).unwrap_or_default();
        merged([named, self.overrides.clone()])
    }
}

/// Tables, the later over the earlier.
fn merged<const N: usize>(tables: [Table; N]) -> Table {
    let mut merged = Table::new();
    for table in tables {
        layers::merge(&mut merged, table);
    }
    merged
}

impl Overrides {
    /// As a file would say it. The model and the URL are the active provider's, which is known
    /// later.
    fn table(&self) -> Table {
        let mut table = Table::new();
        if let Some(provider) = &self.provider {
            let active = Table::from_iter([("active".into(), provider.value.clone().into())]);
            table.insert("provider".into(), active.into());
        }
        if let Some(policy) = &self.approval_policy {
            let policy = toml::Value::try_from(policy.value).ok();
            let tools = policy.into_iter().map(|policy| ("approval_policy".into(), policy));
            table.insert("tools".into(), Table::from_iter(tools).into());
        }
        table
    }
}

impl From<&file::PluginsTable> for PluginsConfig {
    fn from(table: &file::PluginsTable) -> Self {
        let plugins = || table.by_name.iter();
        let disabled = plugins().filter(|(_, plugin)| plugin.enabled == Some(false));
        let settings = plugins().filter(|(_, plugin)| !plugin.settings.is_empty());
        Self {
            dirs: table.dirs.clone(),
            named: table.by_name.keys().cloned().collect(),
            disabled: disabled.map(|(name, _)| name.clone()).collect(),
            isolation: plugins()
                .filter_map(|(name, plugin)| Some((name.clone(), plugin.isolation?)))
                .collect(),
            settings: settings
                .map(|(name, plugin)| (name.clone(), plugin.settings.clone()))
                .collect(),
        }
    }
}
