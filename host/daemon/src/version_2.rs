//! What version 2 clients see: the component names of the one channel that version 2 knew,
//! by the prefix that its manifest gives. Pure.

use scv_plugin_api::wire::{ChannelManifest, Legacy};
use scv_plugin_host::PluginReport;
use scv_protocol::{Component, DaemonStatus};

/// The channel whose accounts version 2 calls by this prefix. The manifest of a plugin that
/// does not serve names it as well: accounts without a plugin can still be stopped and removed.
pub(crate) fn channel_of(plugins: &[PluginReport], prefix: &str) -> Option<String> {
    let mut known = prefixes(plugins);
    Some(known.find(|(_, legacy)| legacy.v2_prefix == prefix)?.0.id.clone())
}

/// The status as a client of version 2 expects it.
pub(crate) fn view(mut status: DaemonStatus, plugins: &[PluginReport]) -> DaemonStatus {
    for (channel, legacy) in prefixes(plugins) {
        let of_channel = |component: &&mut Component| component.channel == channel.id;
        for component in status.components.iter_mut().filter(of_channel) {
            component.id = format!("{}:{}", legacy.v2_prefix, component.account);
        }
    }
    status
}

/// Every channel that version 2 knew under another name.
fn prefixes(plugins: &[PluginReport]) -> impl Iterator<Item = (&ChannelManifest, &Legacy)> {
    let manifests = plugins.iter().filter_map(|plugin| plugin.manifest.as_ref());
    let channels = manifests.flat_map(|manifest| &manifest.channels);
    channels.filter_map(|channel| Some((channel, channel.legacy.as_ref()?)))
}

#[cfg(test)]
mod tests {
    use scv_plugin_api::wire::Manifest;
    use scv_plugin_host::PluginState;
    use serde_json::json;

    use super::*;

    fn plugins() -> [PluginReport; 2] {
        let limits = json!({"max_message_bytes": 100, "max_wait_ms": 1000});
        let manifest: Manifest = serde_json::from_value(json!({
            "scv_plugin": 1, "abi": "1.0", "name": "birds", "version": "1",
            "channels": [
                {"id": "owl", "title": "Owl", "limits": limits},
                {"id": "pigeon", "title": "Pigeon", "limits": limits,
                 "legacy": {"home_dir": "loft", "single_file": "loft.toml", "v2_prefix": "coo"}},
            ],
        }))
        .unwrap();
        let unreadable = PluginReport { state: PluginState::Refused, ..PluginReport::default() };
        [unreadable.clone(), PluginReport { manifest: Some(manifest), ..unreadable }]
    }

    #[test]
    fn the_prefix_is_seen_in_ids_and_only_of_its_channel() {
        let component = |channel: &str| Component {
            id: format!("{channel}:work"),
            channel: channel.into(),
            account: "work".into(),
            ..Component::default()
        };
        let status = DaemonStatus {
            components: vec![component("pigeon"), component("owl")],
            ..DaemonStatus::default()
        };
        let seen = view(status, &plugins()).components;
        assert_eq!(seen[0].channel, "pigeon", "the channel keeps its name");
        let ids: Vec<_> = seen.iter().map(|component| component.id.as_str()).collect();
        assert_eq!(ids, ["coo:work", "owl:work"]);
    }

    #[test]
    fn a_prefix_leads_to_its_channel_though_the_plugin_is_refused() {
        assert_eq!(channel_of(&plugins(), "coo").as_deref(), Some("pigeon"));
        assert_eq!(channel_of(&plugins(), "owl"), None);
    }
}
