//! The shape of a configuration file, with what holds for each key that is absent. An unknown
//! key is an error.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
};

use scv_agent::{
    AgentConfig,
    config::{ContextConfig, HistoryConfig, OpenAiConfig, ToolsConfig},
};
use scv_plugin_api::wire::Secret;
use scv_plugin_host::Isolation;
use scv_protocol::limits::{MAX_CLIENT_FRAME_BYTES, MAX_SERVER_FRAME_BYTES};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::limits::AGENT_TIMEOUT_SECONDS;

/// What stands in the place of a secret where values are shown.
pub(super) const MASK: &str = "[secret]";
/// A plugin's setting with one of these in its name is taken for a secret.
const SECRET_NAMES: [&str; 4] = ["key", "password", "secret", "token"];

/// One file, or several merged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ConfigFile {
    pub(super) agent: AgentTable,
    pub(super) tools: ToolsTable,
    pub(super) context: ContextTable,
    pub(super) session: SessionTable,
    pub(super) protocol: ProtocolTable,
    pub(super) provider: ProviderTable,
    pub(super) providers: BTreeMap<String, NamedProvider>,
    pub(super) agents: BTreeMap<String, DelegateTable>,
    pub(super) plugins: PluginsTable,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AgentTable {
    #[serde(deserialize_with = "positive")]
    pub(super) max_steps: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ToolsTable {
    pub(super) approval_policy: ApprovalPolicy,
    #[serde(deserialize_with = "positive")]
    pub(super) command_timeout_seconds: u64,
    #[serde(deserialize_with = "positive")]
    pub(super) agent_timeout_seconds: u64,
    #[serde(deserialize_with = "positive")]
    pub(super) max_timeout_seconds: u64,
    #[serde(deserialize_with = "positive")]
    pub(super) output_limit_bytes: usize,
    #[serde(deserialize_with = "positive")]
    pub(super) max_read_bytes: usize,
    #[serde(deserialize_with = "positive")]
    pub(super) max_write_bytes: usize,
}

/// When a tool call needs a person's approval; the later, the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// For none.
    Never,
    /// For everything but reading.
    OnRisk,
    /// For every call.
    Always,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ContextTable {
    #[serde(deserialize_with = "positive")]
    pub(super) max_tokens: u64,
    pub(super) reserve_output_tokens: u64,
    pub(super) safety_margin_tokens: u64,
    #[serde(deserialize_with = "positive")]
    pub(super) bytes_per_token: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SessionTable {
    #[serde(deserialize_with = "positive")]
    pub(super) max_history_bytes: usize,
    #[serde(deserialize_with = "positive")]
    pub(super) max_messages: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProtocolTable {
    pub(super) max_client_frame_bytes: usize,
    pub(super) max_server_frame_bytes: usize,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProviderTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) active: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NamedProvider {
    pub(super) kind: ProviderKind,
    pub(super) wire_api: WireApi,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    pub(super) base_url: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "masked")]
    pub(super) api_key: Option<Secret>,
    pub(super) api_key_env: String,
    #[serde(serialize_with = "all_masked")]
    pub(super) headers: BTreeMap<String, Secret>,
    #[serde(deserialize_with = "positive")]
    pub(super) timeout_seconds: u64,
    #[serde(deserialize_with = "positive")]
    pub(super) connect_timeout_seconds: u64,
    #[serde(deserialize_with = "positive")]
    pub(super) first_event_timeout_seconds: u64,
    #[serde(deserialize_with = "positive")]
    pub(super) idle_timeout_seconds: u64,
    pub(super) max_retries: u32,
    pub(super) strip_think: bool,
    pub(super) omit: BTreeSet<Omit>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ProviderKind {
    #[default]
    OpenaiCompatible,
    Echo,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WireApi {
    #[default]
    Responses,
    Chat,
}

/// A request field that a server rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Omit {
    StreamOptions,
    MaxTokens,
    Temperature,
}

/// Another agent that work can be handed to. Checked; nothing is handed to it yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DelegateTable {
    pub(super) enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<PathBuf>,
    pub(super) args: Vec<String>,
}

/// `plugins.dirs` beside one table for each plugin.
#[derive(Debug, Clone, Default)]
pub(super) struct PluginsTable {
    pub(super) dirs: Vec<PathBuf>,
    pub(super) by_name: BTreeMap<String, PluginTable>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PluginTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) isolation: Option<Isolation>,
    #[serde(serialize_with = "secrets_masked")]
    pub(super) settings: BTreeMap<String, serde_json::Value>,
}

impl ConfigFile {
    /// Whether the file holds something that must stay private.
    pub(super) fn holds_keys(&self) -> bool {
        let in_provider =
            |provider: &NamedProvider| provider.api_key.is_some() || !provider.headers.is_empty();
        let in_plugin = |plugin: &PluginTable| plugin.settings.keys().any(|name| is_secret(name));
        self.providers.values().any(in_provider) || self.plugins.by_name.values().any(in_plugin)
    }
}

fn positive<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    let value = T::deserialize(deserializer)?;
    match value == T::default() {
        true => Err(D::Error::custom("it is 0 and must be more")),
        false => Ok(value),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

fn masked<S: Serializer>(_: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(MASK)
}

fn all_masked<S: Serializer>(
    headers: &BTreeMap<String, Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(headers.keys().map(|name| (name, MASK)))
}

fn secrets_masked<S: Serializer>(
    settings: &BTreeMap<String, serde_json::Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(settings.iter().map(|(name, value)| match is_secret(name) {
        true => (name, MASK.into()),
        false => (name, value.clone()),
    }))
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

impl Serialize for PluginsTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("dirs", &self.dirs)?;
        for (name, plugin) in &self.by_name {
            map.serialize_entry(name, plugin)?;
        }
        map.end()
    }
}

// What holds for an absent key: the rooms' own defaults, so that no number stands twice.

impl Default for AgentTable {
    fn default() -> Self {
        Self { max_steps: AgentConfig::default().max_steps }
    }
}

impl Default for ToolsTable {
    fn default() -> Self {
        let tools = ToolsConfig::default();
        Self {
            approval_policy: ApprovalPolicy::OnRisk,
            command_timeout_seconds: tools.command_timeout.as_secs(),
            agent_timeout_seconds: AGENT_TIMEOUT_SECONDS,
            max_timeout_seconds: tools.max_timeout.as_secs(),
            output_limit_bytes: tools.output_limit_bytes,
            max_read_bytes: tools.max_read_bytes,
            max_write_bytes: tools.max_write_bytes,
        }
    }
}

impl Default for ContextTable {
    fn default() -> Self {
        let context = ContextConfig::default();
        Self {
            max_tokens: context.max_tokens,
            reserve_output_tokens: context.reserve_output_tokens,
            safety_margin_tokens: context.safety_margin_tokens,
            bytes_per_token: context.bytes_per_token,
        }
    }
}

impl Default for SessionTable {
    fn default() -> Self {
        let history = HistoryConfig::default();
        Self { max_history_bytes: history.max_bytes, max_messages: history.max_messages }
    }
}

impl Default for ProtocolTable {
    fn default() -> Self {
        Self {
            max_client_frame_bytes: MAX_CLIENT_FRAME_BYTES,
            max_server_frame_bytes: MAX_SERVER_FRAME_BYTES,
        }
    }
}

impl Default for NamedProvider {
    fn default() -> Self {
        let server = OpenAiConfig::default();
        Self {
            kind: ProviderKind::OpenaiCompatible,
            wire_api: WireApi::Responses,
            model: None,
            base_url: server.base_url,
            api_key: None,
            api_key_env: super::agent::DEFAULT_KEY_VARIABLE.to_owned(),
            headers: BTreeMap::new(),
            timeout_seconds: server.timeout.as_secs(),
            connect_timeout_seconds: server.connect_timeout.as_secs(),
            first_event_timeout_seconds: server.first_event_timeout.as_secs(),
            idle_timeout_seconds: server.idle_timeout.as_secs(),
            max_retries: server.max_retries,
            strip_think: server.strip_think,
            omit: BTreeSet::new(),
        }
    }
}

impl Default for DelegateTable {
    fn default() -> Self {
        Self { enabled: true, command: None, args: Vec::new() }
    }
}
