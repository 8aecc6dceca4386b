//! Accounts as supervised components: what is saved decides what runs.

mod change;
mod entry;
mod glance;
mod hint;
mod make;
mod plan;
mod serving;
mod supervise;
mod survey;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use scv_bridge::{Accounts, ChannelId, Desk, Dialer, Health, accounts::Glance};
use scv_plugin_host::{PluginHost, Refusal};
use scv_protocol::{Component, ComponentState, DaemonStatus};
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    LogRing,
    limits::{PLUGIN_SHUTDOWN_MS, PLUGINS_RETRY_MS, PLUGINS_WAIT_MS, RECONCILE_MS},
};
use change::Changing;
use entry::{Body, Entry};
use serving::{Serving, serving};

pub(crate) use plan::Key;
pub(crate) use survey::{NO_PLUGIN, revision};

/// What components are made of.
pub(crate) struct Parts {
    /// What is saved.
    pub(crate) accounts: Arc<Accounts>,
    /// The plugins; without any, every account is an orphan.
    pub(crate) plugins: Arc<PluginHost>,
    /// Whether plugins are loaded at all.
    pub(crate) no_plugins: bool,
    /// How conversations reach the agent.
    pub(crate) dialer: Arc<dyn Dialer>,
    /// For accounts that name no workspace.
    pub(crate) workspace: PathBuf,
    /// How long an owner's turn may take.
    pub(crate) owner_turn_limit: Duration,
    /// The last lines of this process's log.
    pub(crate) logs: LogRing,
    /// Everything spawned here, to be joined at the end.
    pub(crate) tasks: TaskTracker,
}

/// All components of a daemon.
pub(crate) struct Components {
    pub(crate) parts: Parts,
    /// Becomes true once all plugins were looked for.
    complete: watch::Sender<bool>,
    /// The component lock: one change at a time. Never held while a client is written to.
    changing: AsyncMutex<()>,
    /// What stands. Held for moments only, so that status never waits for a change.
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: BTreeMap<Key, Entry>,
    /// What stands in the way of whole channels.
    faults: BTreeMap<String, String>,
    /// The stamps of what was saved when everything stood as it should; none: look closely.
    glance: Option<Glance>,
    /// Channels whose old single credentials file is being imported, or could not be.
    importing: BTreeSet<ChannelId>,
    /// What the latest run of each account told: the next one goes on from it.
    reports: BTreeMap<Key, Arc<Health>>,
    /// The daemon ends: nothing starts any more, whatever a client still asks for.
    closed: bool,
}

enum Wake {
    Tick,
    /// One of them has settled; others may hang for a while yet.
    PluginsChanged,
    PluginsLoaded,
    Stop,
}

impl Components {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self {
            parts,
            complete: watch::Sender::new(false),
            changing: AsyncMutex::default(),
            table: Mutex::default(),
        })
    }

    /// Loads the plugins and keeps components as they should be until `stop`.
    pub(crate) async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let plugins = Arc::clone(&self.parts.plugins);
        let mut changes = plugins.changes();
        let mut loading = self.look();
        let mut is_loading = true;
        let mut look_again = Instant::now();
        let mut is_told = false;
        let mut tick = tokio::time::interval(Duration::from_millis(RECONCILE_MS));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let wake = tokio::select! {
                _ = &mut loading, if is_loading => Wake::PluginsLoaded,
                Ok(()) = changes.changed() => Wake::PluginsChanged,
                _ = tick.tick() => Wake::Tick,
                () = stop.cancelled() => Wake::Stop,
            };
            match wake {
                Wake::Tick if !is_loading && look_again <= Instant::now() && self.may_recover() => {
                    loading = self.look();
                    is_loading = true;
                }
                Wake::Tick if is_told && self.stands_as_saved() => continue,
                Wake::Tick | Wake::PluginsChanged => {}
                Wake::PluginsLoaded => {
                    is_loading = false;
                    look_again = Instant::now() + Duration::from_millis(PLUGINS_RETRY_MS);
                    self.complete.send_replace(true);
                }
                Wake::Stop => return,
            }
            self.change().await.reconcile().await;
            if !is_loading && !is_told {
                is_told = true;
                self.tell_serving();
            }
        }
    }

    /// Whether nothing that is saved has changed since everything stood as it should, and
    /// every task still runs. An idle daemon does only this.
    fn stands_as_saved(&self) -> bool {
        let Some(before) = self.table().glance.clone() else {
            return false;
        };
        let channels = self.parts.plugins.channels();
        glance::take(&self.parts.accounts, &channels) == Some(before) && self.notice()
    }

    /// Takes notice of what the accounts' tasks did by themselves since the last pass; false
    /// when one has ended and must be replaced.
    fn notice(&self) -> bool {
        let mut table = self.table();
        table.entries.iter_mut().fold(true, |all_run, (key, entry)| entry.notice(key) && all_run)
    }

    /// Tells the log what this daemon serves.
    fn tell_serving(&self) {
        let channels = self.parts.plugins.channels();
        let Serving { plugins, accounts, next } =
            serving(&channels, &self.status().components, self.parts.no_plugins);
        tracing::info!(plugins, accounts, next, "serving");
    }

    /// Looks for plugins, beside everything else.
    fn look(&self) -> JoinHandle<()> {
        let plugins = Arc::clone(&self.parts.plugins);
        let load = !self.parts.no_plugins;
        self.parts.tasks.spawn(async move {
            if load {
                plugins.load_all().await;
            }
        })
    }

    /// Whether a plugin was refused for a reason that may pass, such as a full disk.
    fn may_recover(&self) -> bool {
        let reports = self.parts.plugins.reports();
        reports.iter().filter_map(|report| report.refusal.as_ref()).any(Refusal::is_transient)
    }

    /// Waits for the component lock.
    pub(crate) async fn change(self: &Arc<Self>) -> Changing<'_> {
        Changing::new(self, self.changing.lock().await)
    }

    fn is_complete(&self) -> bool {
        *self.complete.borrow()
    }

    /// Waits until all plugins were looked for; a command right after the start would miss them.
    /// False when one of them hangs for longer than a client should wait.
    pub(crate) async fn until_complete(&self) -> bool {
        let limit = Duration::from_millis(PLUGINS_WAIT_MS);
        let mut complete = self.complete.subscribe();
        let waited = tokio::time::timeout(limit, complete.wait_for(|complete| *complete)).await;
        waited.is_ok_and(|waited| waited.is_ok())
    }

    /// How everything is. Does not wait.
    pub(crate) fn status(&self) -> DaemonStatus {
        let table = self.table();
        let faults =
            table.faults.iter().map(|(channel, error)| channel_fault(channel, error.clone()));
        let accounts = table.entries.values().map(Entry::component);
        DaemonStatus {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            components: faults.chain(accounts).collect(),
            plugins: None,
            held: None,
            logs: None,
        }
    }

    /// Where an account takes requests, if it is one that runs.
    pub(crate) fn desk(&self, key: &Key) -> Option<Arc<Desk>> {
        match &self.table().entries.get(key)?.body {
            Body::Running(task) => Some(Arc::clone(&task.desk)),
            Body::Still | Body::Resting(_) => None,
        }
    }

    /// Whether there is such an account, however it is.
    pub(crate) fn is_listed(&self, key: &Key) -> bool {
        self.table().entries.contains_key(key)
    }

    /// Stops everything: accounts first, then the plugins that served them.
    pub(crate) async fn shutdown(self: &Arc<Self>) {
        let changing = self.change().await;
        let keys: Vec<Key> = {
            let mut table = self.table();
            table.closed = true;
            table.entries.keys().cloned().collect()
        };
        changing.stop(&keys).await;
        let grace = Duration::from_millis(PLUGIN_SHUTDOWN_MS);
        for plugin in self.parts.plugins.shutdown(grace).await {
            tracing::warn!(plugin, "did not stop in time");
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What stands in the way of a whole channel, as status shows it.
pub fn channel_fault(channel: &str, error: String) -> Component {
    hint::with_hint(Component {
        id: format!("{channel}:discovery-error"),
        channel: channel.to_owned(),
        account: "discovery-error".into(),
        enabled: true,
        state: ComponentState::Failed,
        error: Some(error),
        ..Component::default()
    })
}
