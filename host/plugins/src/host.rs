//! The plugins of one process: loading, looking again, listing, ending.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use scv_plugin_api::{
    host::ChannelTransport,
    wire::{ChannelManifest, CreateConfig},
};
use serde_json::Value;
use tokio::{sync::watch, task::spawn_blocking};

use crate::{
    Deadlines, Isolation, PluginReport, Policy, Refusal, SearchPath, cache,
    entry::{Entry, Look},
    instance::Instance,
    load::{Job, NotLoaded, load},
    pins::{Pins, Quarantine},
    scan::{Candidate, candidates},
    sentinel,
};

/// What a [`PluginHost`] works with.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// Where plugins are looked for.
    pub search: SearchPath,
    /// The home's `cache` folder; copies go to `plugins` inside it, both made 0700.
    pub cache_dir: PathBuf,
    /// The program that runs plugins in children: one that calls [`crate::run_helper`] first.
    pub helper: PathBuf,
    /// Given to every plugin; its `settings` are replaced by those below.
    pub create: CreateConfig,
    /// `[plugins.NAME.settings]`, by plugin name.
    pub settings: BTreeMap<String, BTreeMap<String, Value>>,
    /// Which plugins are switched off, and where they run.
    pub policy: Policy,
    /// How long operations may take.
    pub deadlines: Deadlines,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            search: SearchPath::default(),
            cache_dir: PathBuf::default(),
            // This program, though its file may have been replaced meanwhile.
            helper: PathBuf::from("/proc/self/exe"),
            create: CreateConfig::default(),
            settings: BTreeMap::default(),
            policy: Policy::default(),
            deadlines: Deadlines::default(),
        }
    }
}

/// A channel that can be used.
#[derive(Clone)]
pub struct LoadedChannel {
    /// The channel, as its plugin declares it.
    pub manifest: ChannelManifest,
    /// The plugin's name.
    pub plugin: String,
    /// The plugin's version.
    pub version: String,
    /// Of the bytes that serve.
    pub sha256: String,
    /// Where its code runs.
    pub isolation: Isolation,
    /// How to speak to it; one for all channels of the plugin.
    pub transport: Arc<dyn ChannelTransport>,
}

/// A channel that cannot be used, because its plugin was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The channel's id.
    pub channel: String,
    /// The plugin's name.
    pub plugin: String,
    /// Why; the texts may name local files.
    pub refusal: Refusal,
}

/// The plugins of one process.
///
/// A loaded library stays in the process for its life. Another file under its name is reported
/// as stale; [`PluginHost::reload`] loads it beside the old one, which ends once the sessions
/// on it have.
pub struct PluginHost {
    options: HostOptions,
    entries: Mutex<Vec<Entry>>,
    /// Nobody gets these any more.
    retired: Mutex<Vec<Instance>>,
    /// One look at the folders at a time; only a look moves entries.
    looking: tokio::sync::Mutex<()>,
    changed: watch::Sender<()>,
}

impl PluginHost {
    /// Nothing is looked at until [`PluginHost::load_all`].
    #[must_use]
    pub fn new(options: HostOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            entries: Mutex::default(),
            retired: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            changed: watch::Sender::default(),
        })
    }

    /// Finds and loads every plugin, all at once, and each is there as soon as it has loaded:
    /// one that is bad or hangs costs only itself. Returns when all are settled: once their code
    /// runs, that takes no longer than the deadline of `create`. Then private copies that nobody
    /// needs are removed.
    ///
    /// Later calls look again: new files load, refused ones are tried again, a changed or
    /// missing file of a loaded plugin is reported stale.
    pub async fn load_all(&self) {
        let _one = self.looking.lock().await;
        self.look_and(Look::Load).await;
    }

    /// The same, and serves exactly what is on disk: a changed file is loaded beside the old
    /// one and takes its channels over, a plugin that was switched off or removed serves no
    /// more. Whoever moves the accounts then calls [`PluginHost::end_retired`].
    pub async fn reload(&self) {
        let _one = self.looking.lock().await;
        self.look_and(Look::Reload).await;
    }

    /// Looks at the files only, so that reports tell what is on disk now. Does not wait for
    /// another look.
    pub async fn look(&self) {
        if let Ok(_one) = self.looking.try_lock() {
            self.look_and(Look::Only).await;
        }
    }

    async fn look_and(&self, look: Look) {
        let (search, policy) = (self.options.search.clone(), self.options.policy.clone());
        // Only a bug in this crate panics there; then what is known stays.
        let Ok(found) = spawn_blocking(move || candidates(&search, &policy)).await else {
            tracing::error!("looking for plugins ended with an internal error");
            return;
        };
        let jobs = self.renew(found, look);
        self.changed.send_replace(());
        if look != Look::Only {
            join_all(jobs.into_iter().map(|(place, job)| self.load(place, job))).await;
            self.sweep().await;
        }
    }

    /// Removes private copies that are of no use any more.
    async fn sweep(&self) {
        let found = self.entries().iter().map(|e| e.candidate.report.sha256.clone()).collect();
        let cache_dir = self.options.cache_dir.clone();
        // Nothing depends on it.
        let _ = spawn_blocking(move || cache::sweep(&cache_dir, &found)).await;
    }

    /// Wakes whenever [`PluginHost::channels`] or [`PluginHost::claims`] may have changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Takes over what was found, and gives what is to be loaded and at which place it stands.
    fn renew(&self, found: Vec<Candidate>, look: Look) -> Vec<(usize, Job)> {
        let mut entries = self.entries();
        let mut before = std::mem::take(&mut *entries);
        let renewed = found.into_iter().map(|candidate| Entry::renew(candidate, &mut before));
        let mut all: Vec<Entry> = renewed.collect();
        all.extend(before.into_iter().filter_map(Entry::without_file));
        *entries = all;
        if look == Look::Reload {
            lock(&self.retired).extend(entries.iter_mut().filter_map(Entry::withdraw));
            entries.retain(|entry| !entry.is_over());
        }
        let begun = entries.iter_mut().enumerate().filter_map(|(place, entry)| {
            entry.begin(look).then(|| Some((place, Job::new(&self.options, &entry.candidate)?)))?
        });
        begun.collect()
    }

    async fn load(&self, place: usize, job: Job) {
        let (name, sha256) = (job.manifest.name.clone(), job.sha256.clone());
        let result = load(job).await;
        if let Err(NotLoaded::Quarantined(refusal)) = &result {
            self.quarantine(name, sha256, refusal.reason.clone()).await;
        }
        let before = self.entries()[place].settle(result);
        lock(&self.retired).extend(before);
        self.changed.send_replace(());
    }

    /// Remembers it beyond this process. Where that fails the mark stays, which says the same.
    async fn quarantine(&self, name: String, sha256: String, reason: String) {
        tracing::error!(plugin = %name, reason, "the plugin is quarantined");
        let Some(home) = self.options.search.home().map(Path::to_owned) else {
            return;
        };
        let cache_dir = self.options.cache_dir.clone();
        let noted = spawn_blocking(move || {
            Pins::edit(&home, |pins| {
                let quarantine = Quarantine::now(sha256.clone(), reason);
                pins.plugins.entry(name).or_default().quarantined = Some(quarantine);
                Ok(())
            })?;
            sentinel::clear(&cache_dir, &sha256);
            Ok::<(), Refusal>(())
        });
        if let Ok(Err(refusal)) = noted.await {
            tracing::warn!(%refusal, "the quarantine could not be written down");
        }
    }

    /// Every plugin file that is known, in search order.
    #[must_use]
    pub fn reports(&self) -> Vec<PluginReport> {
        self.entries().iter().map(Entry::report).collect()
    }

    /// Every channel that can be used, or could be until its plugin wedged.
    #[must_use]
    pub fn channels(&self) -> Vec<LoadedChannel> {
        self.entries().iter().flat_map(Entry::channels).collect()
    }

    /// The channel with this id or alias.
    #[must_use]
    pub fn find_channel(&self, name: &str) -> Option<LoadedChannel> {
        let named = |channel: &LoadedChannel| channel.answers_to(name);
        self.channels().into_iter().find(named)
    }

    /// Channels of plugins that were refused after their manifest was read, but for those
    /// that another plugin serves.
    #[must_use]
    pub fn claims(&self) -> Vec<Claim> {
        let served: BTreeSet<String> =
            self.channels().into_iter().map(|channel| channel.manifest.id).collect();
        let claims = self.entries().iter().flat_map(Entry::claims).collect::<Vec<_>>();
        let unserved = |claim: &Claim| !served.contains(&claim.channel);
        claims.into_iter().filter(unserved).collect()
    }

    /// Ends what was replaced or withdrawn; no session is on it any more.
    pub async fn end_retired(&self, grace: Duration) {
        let retired = std::mem::take(&mut *lock(&self.retired));
        join_all(retired.iter().map(|instance| instance.end(to_ms(grace)))).await;
    }

    /// Ends every plugin, all at once; all sessions are closed first. Names those that did not
    /// end.
    pub async fn shutdown(&self, grace: Duration) -> Vec<String> {
        self.end_retired(grace).await;
        let entries = self.entries().clone();
        let ending = entries.iter().filter_map(|entry| {
            let instance = entry.instance()?;
            Some(async move {
                let has_ended = instance.end(to_ms(grace)).await;
                (!has_ended).then(|| entry.candidate.report.name.clone())
            })
        });
        join_all(ending).await.into_iter().flatten().collect()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        lock(&self.entries)
    }
}

fn to_ms(grace: Duration) -> u32 {
    u32::try_from(grace.as_millis()).unwrap_or(u32::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoadedChannel {
    /// Whether people may call it by this name: the id or an alias.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.manifest.names().any(|known| known == name)
    }
}
