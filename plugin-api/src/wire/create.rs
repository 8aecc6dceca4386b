//! Making a plugin, and asking it who some credentials belong to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Secret;

/// Given to `create`. It holds no path: files belong to the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CreateConfig {
    /// The host that loads the plugin.
    #[serde(default)]
    pub host: HostInfo,
    /// How the plugin reaches the network.
    #[serde(default)]
    pub network: NetworkConfig,
    /// Values for the manifest's settings.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
}

/// The host that loads the plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// `scv`.
    #[serde(default)]
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// The ABI that it serves.
    #[serde(default)]
    pub abi: String,
    /// What it offers beyond 1.0.
    #[serde(default)]
    pub features: Vec<String>,
}

/// How a plugin reaches the network; never applied to loopback addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// Proxy for `https`; may hold a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<Secret>,
    /// Proxy for `http`; may hold a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<Secret>,
    /// Hosts that are reached directly, in the usual comma-separated form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<String>,
    /// Certificates to trust beside the system's, as PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_ca_pem: Option<String>,
    /// `User-Agent`.
    #[serde(default)]
    pub user_agent: String,
}

/// Asks whose credentials these are. Pure: no network, under a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InspectRequest {
    /// The channel's id.
    pub channel: String,
    /// The account's name.
    pub account: String,
    /// The credentials document, as the plugin made it.
    pub credentials: Secret<Value>,
}

/// Whose credentials these are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The bot, as the platform names it.
    #[serde(default)]
    pub bot_id: Option<String>,
    /// The person who may be granted tools; null: nobody.
    #[serde(default)]
    pub owner_id: Option<String>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// The parts that the host hashes to bind state to this identity.
    pub fingerprint: Vec<Option<Secret>>,
}
