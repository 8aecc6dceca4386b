//! The plugin host as the daemon and the commands set it up, and its reports on the wire.

use std::path::Path;

use scv_plugin_api::wire::{CreateConfig, HostInfo, NetworkConfig, Secret};
use scv_plugin_host::{HostOptions, PluginReport, PluginState, SearchPath};
use scv_protocol::{PluginInfo, PluginState as WireState};

use crate::config::PluginsConfig;

/// What a plugin host of this home works with.
pub fn plugin_options(home: &Path, search: SearchPath, config: &PluginsConfig) -> HostOptions {
    HostOptions {
        search,
        cache_dir: home.join("cache"),
        create: CreateConfig {
            host: HostInfo {
                name: "scv".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                abi: "1.0".into(),
                features: Vec::new(),
            },
            network: network(|name| std::env::var(name).ok()),
            ..CreateConfig::default()
        },
        settings: config.settings.clone(),
        policy: config.policy(),
        ..HostOptions::default()
    }
}

/// The proxies of the environment; each variable may be written in lower case.
fn network(env: impl Fn(&str) -> Option<String>) -> NetworkConfig {
    let either = |name: &str| {
        env(name).or_else(|| env(&name.to_lowercase())).filter(|value| !value.is_empty())
    };
    NetworkConfig {
        https_proxy: either("HTTPS_PROXY").map(Secret::new),
        http_proxy: either("HTTP_PROXY").map(Secret::new),
        no_proxy: either("NO_PROXY"),
        extra_ca_pem: None,
        user_agent: concat!("scv/", env!("CARGO_PKG_VERSION")).into(),
    }
}

/// A plugin file as `daemon.status` and `scv plugins list` show it.
pub fn plugin_info(report: &PluginReport) -> PluginInfo {
    let refusal = report.refusal.as_ref();
    PluginInfo {
        name: report.name.clone(),
        title: report.title.clone(),
        version: report.version.clone(),
        abi: report.abi.clone(),
        plugin_api: report.plugin_api.clone(),
        channels: report.channels.clone(),
        file: report.file.clone(),
        sha256: report.sha256.clone(),
        isolation: report.isolation.to_string(),
        state: match report.state {
            PluginState::Loaded => WireState::Loaded,
            PluginState::Ready => WireState::Ready,
            PluginState::Stale => WireState::Stale,
            PluginState::Disabled => WireState::Disabled,
            PluginState::Unpinned => WireState::Unpinned,
            PluginState::Conflict => WireState::Conflict,
            PluginState::Quarantined => WireState::Quarantined,
            PluginState::Wedged => WireState::Wedged,
            PluginState::Refused => WireState::Refused,
        },
        step: refusal.map(|refusal| refusal.step.to_string()),
        reason: refusal.map(|refusal| refusal.reason.clone()),
        fix: refusal.map(|refusal| refusal.fix.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_come_in_either_spelling_and_blank_is_none() {
        let network = network(|name| match name {
            "https_proxy" => Some("http://p:1".to_owned()),
            "HTTP_PROXY" => Some(String::new()),
            _ => None,
        });
        assert_eq!(network.https_proxy.unwrap().expose(), "http://p:1");
        assert!(network.http_proxy.is_none() && network.no_proxy.is_none());
    }
}
