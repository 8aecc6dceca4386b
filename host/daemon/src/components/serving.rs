//! What a daemon says that it serves, once all plugins were looked for. Pure.

use std::collections::BTreeSet;

use scv_plugin_host::LoadedChannel;
use scv_protocol::Component;

/// For the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Serving {
    /// Each with its version.
    pub(super) plugins: String,
    /// The accounts that are switched on.
    pub(super) accounts: String,
    /// What to do when there is nothing to serve.
    pub(super) next: Option<String>,
}

pub(super) fn serving(
    channels: &[LoadedChannel],
    components: &[Component],
    no_plugins: bool,
) -> Serving {
    let plugins: BTreeSet<_> =
        channels.iter().map(|channel| format!("{} {}", channel.plugin, channel.version)).collect();
    let served = components.iter().filter(|component| component.plugin.is_some());
    let (on, off): (Vec<_>, Vec<_>) = served.partition(|component| component.enabled);
    let next = match channels {
        _ if !on.is_empty() => None,
        _ if no_plugins => {
            Some("plugins are off; start without --no-plugins to serve chats".into())
        }
        [] => Some("no plugin is loaded; see `scv plugins list`".into()),
        _ if !off.is_empty() => {
            Some("every account is switched off; `scv channels run` switches one on".into())
        }
        [first, ..] => {
            let channel = &first.manifest.id;
            Some(format!("no account is signed in; run `scv channels login {channel}`"))
        }
    };
    Serving {
        plugins: list(plugins),
        accounts: list(on.iter().map(|component| component.id.clone())),
        next,
    }
}

fn list(names: impl IntoIterator<Item = String>) -> String {
    let names = Vec::from_iter(names);
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
