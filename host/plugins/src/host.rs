//! The plugins of one process: loading, looking again, listing, ending.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
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
    Deadlines, Isolation, PluginReport, PluginState, Refusal, SearchPath, cache,
    entry::Entry,
    load::{Job, load},
    scan::{Candidate, candidates},
};

/// What a [`PluginHost`] works with.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// Where plugins are looked for.
    pub search: SearchPath,
    /// The home's `cache` folder; copies go to `plugins` inside it, both made 0700.
    pub cache_dir: PathBuf,
    /// Given to every plugin; its `settings` are replaced by those below.
    pub create: CreateConfig,
    /// `[plugins.NAME.settings]`, by plugin name.
    pub settings: BTreeMap<String, BTreeMap<String, Value>>,
    /// `[plugins.NAME] isolation`, by plugin name; others run where their folder says.
    pub isolation: BTreeMap<String, Isolation>,
    /// Names of plugins that are switched off.
    pub disabled: BTreeSet<String>,
    /// How long operations may take.
    pub deadlines: Deadlines,
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
/// A loaded plugin stays loaded: another file under its name is reported as stale and
/// serves after a restart.
pub struct PluginHost {
    options: HostOptions,
    entries: Mutex<Vec<Entry>>,
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
        let (search, disabled) = (self.options.search.clone(), self.options.disabled.clone());
        // Only a bug in this crate panics there; then what is known stays.
        let Ok(found) = spawn_blocking(move || candidates(&search, &disabled)).await else {
            tracing::error!("looking for plugins ended with an internal error");
            return;
        };
        let jobs = self.renew(found);
        self.changed.send_replace(());
        join_all(jobs.into_iter().map(|(place, job)| self.load(place, job))).await;
        self.sweep().await;
    }

    /// Removes private copies that are of no use any more.
    async fn sweep(&self) {
        let found = self.reports().into_iter().map(|report| report.sha256).collect();
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
    fn renew(&self, found: Vec<Candidate>) -> Vec<(usize, Job)> {
        let mut entries = self.entries();
        let mut before = std::mem::take(&mut *entries);
        let renewed = found.into_iter().map(|candidate| Entry::renew(candidate, &mut before));
        let mut all: Vec<Entry> = renewed.collect();
        all.extend(before.into_iter().filter_map(Entry::without_file));
        *entries = all;
        let jobs = entries.iter().enumerate();
        jobs.filter_map(|(place, entry)| Some((place, self.job(entry)?))).collect()
    }

    async fn load(&self, place: usize, job: Job) {
        let result = load(job).await;
        self.entries()[place].settle(result);
        self.changed.send_replace(());
    }

    fn job(&self, entry: &Entry) -> Option<Job> {
        if entry.candidate.report.state != PluginState::Ready {
            return None;
        }
        let Candidate { report, manifest_text } = &entry.candidate;
        Some(Job {
            file: report.file.clone(),
            sha256: report.sha256.clone(),
            manifest: report.manifest.clone()?,
            manifest_text: manifest_text.clone(),
            cache_dir: self.options.cache_dir.clone(),
            create: self.options.create.clone(),
            settings: self.options.settings.get(&report.name).cloned().unwrap_or_default(),
            deadlines: self.options.deadlines,
        })
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

    /// Ends every plugin, all at once; all sessions are closed first. Names those that did not
    /// end.
    pub async fn shutdown(&self, grace: Duration) -> Vec<String> {
        let grace_ms = u32::try_from(grace.as_millis()).unwrap_or(u32::MAX);
        let entries = self.entries().clone();
        let ending = entries.iter().filter_map(|entry| {
            let transport = entry.loaded.clone()?;
            Some(async move {
                // A fault or a task left over: it is wedged now.
                let _ = transport.shutdown(grace_ms).await;
                transport.is_wedged().then(|| entry.candidate.report.name.clone())
            })
        });
        join_all(ending).await.into_iter().flatten().collect()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadedChannel {
    /// Whether people may call it by this name: the id or an alias.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.manifest.names().any(|known| known == name)
    }
}
