//! The shape of a configuration file. Every key may be absent; an unknown one is an error.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
};

use scv_plugin_api::wire::Secret;
use scv_plugin_host::Isolation;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

/// One file, or several merged.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ConfigFile {
    pub(super) agent: AgentTable,
    pub(super) tools: ToolsTable,
    pub(super) provider: ProviderTable,
    pub(super) providers: BTreeMap<String, NamedProvider>,
    pub(super) plugins: PluginsTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AgentTable {
    pub(super) max_steps: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ToolsTable {
    pub(super) approval_policy: Option<ApprovalPolicy>,
    pub(super) command_timeout_seconds: Option<u64>,
    pub(super) max_timeout_seconds: Option<u64>,
    pub(super) output_limit_bytes: Option<usize>,
    pub(super) max_read_bytes: Option<usize>,
    pub(super) max_write_bytes: Option<usize>,
}

/// When a tool call needs a person's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// For everything but reading.
    OnRisk,
    /// For every call.
    Always,
    /// For none.
    Never,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProviderTable {
    pub(super) active: Option<String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NamedProvider {
    pub(super) kind: ProviderKind,
    pub(super) wire_api: WireApi,
    pub(super) model: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<Secret>,
    pub(super) api_key_env: Option<String>,
    pub(super) headers: BTreeMap<String, Secret>,
    pub(super) timeout_seconds: Option<u64>,
    pub(super) connect_timeout_seconds: Option<u64>,
    pub(super) first_event_timeout_seconds: Option<u64>,
    pub(super) idle_timeout_seconds: Option<u64>,
    pub(super) max_retries: Option<u32>,
    pub(super) strip_think: Option<bool>,
    pub(super) omit: BTreeSet<Omit>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ProviderKind {
    #[default]
    OpenaiCompatible,
    Echo,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WireApi {
    #[default]
    Responses,
    Chat,
}

/// A request field that a server rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Omit {
    StreamOptions,
    MaxTokens,
    Temperature,
}

/// `plugins.dirs` beside one table for each plugin.
#[derive(Debug, Default)]
pub(super) struct PluginsTable {
    pub(super) dirs: Vec<PathBuf>,
    pub(super) by_name: BTreeMap<String, PluginTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PluginTable {
    pub(super) enabled: Option<bool>,
    pub(super) isolation: Option<Isolation>,
    pub(super) settings: BTreeMap<String, serde_json::Value>,
}

/// By hand, because serde's `flatten` would lose the place of an unknown key.
impl<'de> Deserialize<'de> for PluginsTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = PluginsTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of plugins")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut table = PluginsTable::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "dirs" {
                        table.dirs = map.next_value()?;
                    } else {
                        table.by_name.insert(key, map.next_value()?);
                    }
                }
                Ok(table)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl ConfigFile {
    /// Whether the file holds something that must stay private.
    pub(super) fn holds_keys(&self) -> bool {
        self.providers
            .values()
            .any(|provider| provider.api_key.is_some() || !provider.headers.is_empty())
    }
}
