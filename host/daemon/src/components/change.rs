//! Changes to what stands, one at a time: reconciling, stopping, waking.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use scv_bridge::ChannelId;
use scv_plugin_api::wire::Secret;
use scv_plugin_host::LoadedChannel;
use tokio::{sync::MutexGuard, time::Instant};

use super::{
    Components, Key,
    entry::{self, Entry},
    glance, make,
    plan::{self, Change},
    survey::{self, Mode, Survey},
};
use crate::{import::import_single_file, limits::ACCOUNT_STOP_MS};

/// The right to change components; holds the component lock.
pub(crate) struct Changing<'a> {
    components: &'a Arc<Components>,
    _guard: MutexGuard<'a, ()>,
}

impl<'a> Changing<'a> {
    pub(super) const fn new(components: &'a Arc<Components>, guard: MutexGuard<'a, ()>) -> Self {
        Self { components, _guard: guard }
    }

    /// Makes what stands equal to what is saved.
    pub(crate) async fn reconcile(&self) {
        let accounts = Arc::clone(&self.components.parts.accounts);
        let plugins = &self.components.parts.plugins;
        let (channels, claims) = (plugins.channels(), plugins.claims());
        let complete = self.components.is_complete();
        let look = move || {
            let glance = glance::take(&accounts, &channels);
            (glance, survey::survey(&accounts, channels, &claims, complete))
        };
        match tokio::task::spawn_blocking(look).await {
            Ok((glance, survey)) => {
                self.components.table().glance = glance.filter(|_| survey.is_final());
                self.apply(survey).await;
            }
            // What stands, stands; the next pass looks again.
            Err(error) => tracing::error!(%error, "looking at the accounts failed"),
        }
    }

    pub(super) async fn apply(&self, survey: Survey) {
        if self.components.table().closed {
            return;
        }
        self.components.notice();
        let Survey { wanted, faults, imports } = survey;
        self.components.table().reports.retain(|key, _| wanted.contains_key(key));
        let standing = self.standing();
        let changes = plan::plan(&standing, wanted);
        let stands = |change: &Change<Mode>| standing.contains_key(change.key());
        let (changed, new): (Vec<_>, Vec<_>) = changes.into_iter().partition(stands);
        // New ones first: they do not wait for others to stop.
        self.start(new);
        let ending: Vec<Key> = changed.iter().map(|change| change.key().clone()).collect();
        self.stop(&ending).await;
        self.start(changed);
        self.components.table().faults = faults;
        for (channel, id, text) in imports {
            self.import(channel, id, text);
        }
    }

    /// Stops and joins accounts, all at once. They are listed as stopping until all have ended.
    pub(crate) async fn stop(&self, keys: &[Key]) {
        let deadline = Instant::now() + Duration::from_millis(ACCOUNT_STOP_MS);
        let mut handles = Vec::new();
        for key in keys {
            let mut table = self.components.table();
            handles.extend(table.entries.get_mut(key).and_then(Entry::stop));
        }
        for handle in handles {
            entry::join(handle, deadline).await;
        }
        self.components.table().entries.retain(|key, _| !keys.contains(key));
    }

    /// Wakes every account that waits for its next try, and forgets imports that failed.
    pub(crate) fn poke(&self) {
        let mut table = self.components.table();
        table.importing.clear();
        table.entries.values().for_each(Entry::poke);
    }

    /// The revision that an account stands at.
    pub(crate) fn revision(&self, key: &Key) -> Option<String> {
        let table = self.components.table();
        table.entries.get(key).map(|entry| entry.revision.clone())
    }

    fn standing(&self) -> BTreeMap<Key, String> {
        let table = self.components.table();
        let revisions = table.entries.iter();
        revisions.map(|(key, entry)| (key.clone(), entry.revision.clone())).collect()
    }

    fn start(&self, changes: Vec<Change<Mode>>) {
        for change in changes {
            if let Change::Start { key, revision, what } = change {
                let earlier = self.components.table().reports.get(&key).cloned();
                let parts = &self.components.parts;
                let entry = make::entry(parts, &key, revision, what, earlier.as_deref());
                let mut table = self.components.table();
                if let Some(health) = entry.health() {
                    table.reports.insert(key.clone(), health);
                }
                table.entries.insert(key, entry);
            }
        }
    }

    /// Lets the plugin read an old single file, beside everything else: a plugin that hangs
    /// here must not hold up other accounts. The account appears at a later pass.
    fn import(&self, channel: LoadedChannel, id: ChannelId, text: Secret<String>) {
        if !self.components.table().importing.insert(id.clone()) {
            return;
        }
        let components = Arc::clone(self.components);
        self.components.parts.tasks.spawn(async move {
            match import_single_file(&components.parts.accounts, &channel, &id, text).await {
                Ok(()) => {
                    components.table().importing.remove(&id);
                }
                // Not again before a reload.
                Err(error) => {
                    tracing::warn!(channel = %id, error, "old credentials were not imported");
                }
            }
        });
    }
}
