//! One plugin file over time: looked at, loaded, changed on disk.

use std::sync::Arc;

use crate::{
    Claim, Isolation, LoadedChannel, PluginReport, PluginState, Refusal, Step,
    in_process::InProcess, load::NotLoaded, scan::Candidate,
};

/// A file, and the plugin that was loaded from it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) candidate: Candidate,
    pub(crate) loaded: Option<Arc<InProcess>>,
}

impl Entry {
    /// What is known of a file after looking again; takes its predecessor out of `before`.
    pub(crate) fn renew(candidate: Candidate, before: &mut Vec<Self>) -> Self {
        let same = |entry: &Self| entry.is_the_same_plugin(&candidate);
        let Some(at) = before.iter().position(same) else {
            return Self { candidate, loaded: None };
        };
        let mut entry = before.swap_remove(at);
        let unchanged = entry.candidate.report.sha256 == candidate.report.sha256;
        if entry.candidate.report.state == PluginState::Wedged && unchanged {
            return entry;
        }
        if entry.loaded.is_none() {
            // Until it has been tried again, its channels still say why nobody serves them.
            let earlier = entry.candidate.report.refusal.take();
            entry.candidate = candidate;
            let report = &mut entry.candidate.report;
            report.refusal = report.refusal.take().or(earlier);
            return entry;
        }
        entry.candidate.report.file = candidate.report.file;
        match candidate.report.refusal {
            None if unchanged => entry.serve(),
            None => entry.stale("a new file is on disk"),
            Some(refusal) => entry.stale(&format!("its file would be refused: {}", refusal.reason)),
        }
        entry
    }

    /// A loaded plugin outlives its file; anything else is forgotten with it.
    pub(crate) fn without_file(mut self) -> Option<Self> {
        let lives = self.loaded.is_some() || self.candidate.report.state == PluginState::Wedged;
        if self.loaded.is_some() {
            self.stale("its file is gone");
        }
        lives.then_some(self)
    }

    /// Notes how loading went.
    pub(crate) fn settle(&mut self, result: Result<InProcess, NotLoaded>) {
        match result {
            Ok(loaded) => {
                self.loaded = Some(Arc::new(loaded));
                self.serve();
            }
            Err(NotLoaded::Refused(refusal)) => self.candidate.refuse(refusal),
            Err(NotLoaded::Hung(refusal)) => {
                self.candidate.refuse(refusal);
                self.candidate.report.state = PluginState::Wedged;
            }
        }
    }

    pub(crate) fn report(&self) -> PluginReport {
        let mut report = self.candidate.report.clone();
        if self.loaded.as_ref().is_some_and(|loaded| loaded.is_wedged()) {
            report.state = PluginState::Wedged;
            let reason = "it did not come back from a call";
            let fix = "restart the daemon";
            report.refusal = Some(Refusal::new(Step::Serve, reason, fix));
        }
        report
    }

    pub(crate) fn channels(&self) -> Vec<LoadedChannel> {
        let (Some(loaded), Some(manifest)) = (&self.loaded, &self.candidate.report.manifest) else {
            return Vec::new();
        };
        let channel = |channel: &scv_plugin_api::wire::ChannelManifest| LoadedChannel {
            manifest: channel.clone(),
            plugin: manifest.name.clone(),
            version: manifest.version.clone(),
            isolation: Isolation::InProcess,
            transport: loaded.clone(),
        };
        manifest.channels.iter().map(channel).collect()
    }

    pub(crate) fn claims(&self) -> Vec<Claim> {
        let PluginReport { manifest, refusal, .. } = &self.candidate.report;
        let (None, Some(manifest), Some(refusal)) = (&self.loaded, manifest, refusal) else {
            return Vec::new();
        };
        let claim = |channel: &scv_plugin_api::wire::ChannelManifest| Claim {
            channel: channel.id.clone(),
            plugin: manifest.name.clone(),
            refusal: refusal.clone(),
        };
        manifest.channels.iter().map(claim).collect()
    }

    fn is_the_same_plugin(&self, candidate: &Candidate) -> bool {
        let (ours, theirs) = (&self.candidate.report, &candidate.report);
        ours.name == theirs.name && (ours.file == theirs.file || self.loaded.is_some())
    }

    fn serve(&mut self) {
        self.candidate.report.state = PluginState::Loaded;
        self.candidate.report.refusal = None;
    }

    fn stale(&mut self, reason: &str) {
        let fix = "restart the daemon to serve what is on disk";
        self.candidate.report.state = PluginState::Stale;
        self.candidate.report.refusal = Some(Refusal::new(Step::Serve, reason, fix));
    }
}
