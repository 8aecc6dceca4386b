//! Turns what is wanted of an account into an entry, with its task running.

use std::sync::{Arc, OnceLock};

use scv_bridge::{AccountContext, Desk, Health, SystemClock};
use scv_plugin_api::wire::{Identity, InspectRequest};
use scv_plugin_host::LoadedChannel;
use scv_protocol::{Component, ComponentState};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    Parts,
    entry::{Body, Cell, Entry, Task},
    plan::Key,
    supervise::supervise,
    survey::{Mode, Served},
};

/// Makes an entry and starts what it runs; `earlier` is what its latest run told.
pub(super) fn entry(
    parts: &Parts,
    key: &Key,
    revision: String,
    mode: Mode,
    earlier: Option<&Health>,
) -> Entry {
    let bare = Component {
        id: key.to_string(),
        channel: key.channel.clone(),
        account: key.account.clone(),
        enabled: true,
        ..Component::default()
    };
    let (base, body) = match mode {
        Mode::Orphan { enabled } => (orphan(bare, enabled), Body::Still),
        Mode::Broken { channel, error } => (broken(served_by(&channel, bare), error), Body::Still),
        Mode::Served(served) if served.snapshot.settings.enabled => {
            let base = served_by(&served.channel, bare);
            (base, Body::Running(run(parts, *served, earlier)))
        }
        Mode::Served(served) => {
            let base = served_by(&served.channel, bare);
            (disabled(base), Body::Resting(identify(parts, *served)))
        }
    };
    Entry { revision, base, body }
}

fn orphan(bare: Component, enabled: bool) -> Component {
    let state = if enabled { ComponentState::Stopped } else { ComponentState::Disabled };
    Component { enabled, state, ..bare }
}

fn broken(base: Component, error: String) -> Component {
    Component { state: ComponentState::Failed, error: Some(error), ..base }
}

fn disabled(base: Component) -> Component {
    Component { enabled: false, state: ComponentState::Disabled, ..base }
}

fn served_by(channel: &LoadedChannel, bare: Component) -> Component {
    Component {
        plugin: Some(channel.plugin.clone()),
        plugin_version: Some(channel.version.clone()),
        isolation: Some(channel.isolation.to_string()),
        ..bare
    }
}

fn run(parts: &Parts, served: Served, earlier: Option<&Health>) -> Task {
    let workspace = served.snapshot.settings.workspace.clone();
    let ticket = parts.accounts.ticket(&served.channel.manifest.id, &served.account);
    let desk = Arc::<Desk>::default();
    let context = AccountContext {
        channel: served.channel.manifest,
        account: served.account,
        transport: served.channel.transport,
        dialer: Arc::clone(&parts.dialer),
        accounts: Arc::clone(&parts.accounts),
        ticket,
        desk: Arc::clone(&desk),
        snapshot: served.snapshot,
        workspace: workspace.unwrap_or_else(|| parts.workspace.clone()),
        owner_turn_limit: parts.owner_turn_limit,
        clock: Arc::new(SystemClock),
    };
    let health = earlier.map_or_else(Health::default, Health::go_on);
    let (cell, stop) = (Cell::new(health), CancellationToken::new());
    let work = supervise(context, Arc::clone(&cell), stop.clone());
    let handle = Some(AbortOnDropHandle::new(parts.tasks.spawn(work)));
    Task { cell, stop, desk, handle, told_connected: None }
}

/// Asks the plugin whose account this is, beside everything else.
fn identify(parts: &Parts, served: Served) -> Arc<OnceLock<Identity>> {
    let found = Arc::new(OnceLock::new());
    let answer = Arc::clone(&found);
    parts.tasks.spawn(async move {
        let request = InspectRequest {
            channel: served.channel.manifest.id.clone(),
            account: served.account.to_string(),
            credentials: served.snapshot.credentials,
        };
        if let Ok(identity) = served.channel.transport.inspect(request).await {
            let _ = answer.set(identity);
        }
    });
    found
}
