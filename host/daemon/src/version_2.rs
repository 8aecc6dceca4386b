//! What version 2 clients see: the component names of the one channel that version 2 knew,
//! by the prefix that its manifest gives. Pure.

use scv_plugin_api::wire::ChannelManifest;
use scv_plugin_host::LoadedChannel;
use scv_protocol::{Component, DaemonStatus};

/// The channel whose accounts version 2 calls by this prefix.
pub(crate) fn channel_of(channels: &[LoadedChannel], prefix: &str) -> Option<String> {
    let has_prefix =
        |manifest: &ChannelManifest| prefix_of(manifest).is_some_and(|known| known == prefix);
    let mut manifests = channels.iter().map(|channel| &channel.manifest);
    Some(manifests.find(|manifest| has_prefix(manifest))?.id.clone())
}

/// The status as a client of this version expects it.
pub(crate) fn view(
    mut status: DaemonStatus,
    channels: &[LoadedChannel],
    version: u32,
) -> DaemonStatus {
    if version > 2 {
        return status;
    }
    for channel in channels {
        let Some(prefix) = prefix_of(&channel.manifest) else {
            continue;
        };
        let of_channel = |component: &&mut Component| component.channel == channel.manifest.id;
        for component in status.components.iter_mut().filter(of_channel) {
            component.id = format!("{prefix}:{}", component.account);
        }
    }
    status
}

fn prefix_of(manifest: &ChannelManifest) -> Option<&str> {
    manifest.legacy.as_ref().map(|legacy| legacy.v2_prefix.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use scv_plugin_api::wire::Manifest;
    use scv_plugin_host::fake::Fake;
    use serde_json::json;

    use super::*;

    fn channels() -> Vec<LoadedChannel> {
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
        let transport = Arc::new(Fake::new(manifest.clone()));
        let channel = |manifest| LoadedChannel {
            manifest,
            plugin: "birds".into(),
            version: "1".into(),
            isolation: "in_process",
            transport: transport.clone(),
        };
        manifest.channels.into_iter().map(channel).collect()
    }

    fn ids(version: u32) -> Vec<String> {
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
        let seen = view(status, &channels(), version).components;
        assert_eq!(seen[0].channel, "pigeon", "the channel keeps its name");
        seen.into_iter().map(|component| component.id).collect()
    }

    #[test]
    fn only_version_2_sees_the_prefix_and_only_of_its_channel() {
        assert_eq!(ids(2), ["coo:work", "owl:work"]);
        assert_eq!(ids(3), ["pigeon:work", "owl:work"]);
    }

    #[test]
    fn a_prefix_leads_to_its_channel() {
        assert_eq!(channel_of(&channels(), "coo").as_deref(), Some("pigeon"));
        assert_eq!(channel_of(&channels(), "owl"), None);
    }
}
