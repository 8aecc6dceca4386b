//! One plugin over time: its file as it was looked at last, and what serves.

use scv_plugin_api::wire::ChannelManifest;

use crate::{
    Claim, LoadedChannel, PluginReport, PluginState, Refusal, Step, instance::Instance,
    load::NotLoaded, scan::Candidate,
};

/// What a look at the files may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// To nothing: it is only known then.
    Only,
    /// To loading what does not serve yet.
    Load,
    /// To that, and to serving exactly what is on disk.
    Reload,
}

/// A file, and the plugin that was loaded from it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) candidate: Candidate,
    serving: Option<Serving>,
    /// Why the last load failed, until one succeeds.
    failed: Option<Failed>,
    is_loading: bool,
    /// A plugin that serves outlives its file.
    is_gone: bool,
}

#[derive(Clone)]
struct Serving {
    instance: Instance,
    /// Of the file that it was loaded from.
    report: PluginReport,
}

#[derive(Clone)]
struct Failed {
    sha256: String,
    state: PluginState,
    refusal: Refusal,
}

impl Entry {
    /// What is known of a file after looking again; takes its predecessor out of `before`.
    pub(crate) fn renew(candidate: Candidate, before: &mut Vec<Self>) -> Self {
        let same = |entry: &Self| entry.is_the_same_plugin(&candidate);
        let earlier = before.iter().position(same).map(|at| before.swap_remove(at));
        let (serving, failed) = earlier.map_or((None, None), |e| (e.serving, e.failed));
        Self { candidate, serving, failed, is_loading: false, is_gone: false }
    }

    /// A plugin that serves outlives its file, and so does a lost thread; anything else is
    /// forgotten with it.
    pub(crate) fn without_file(mut self) -> Option<Self> {
        self.is_gone = true;
        (!self.is_over()).then_some(self)
    }

    /// Whether nothing is left of it that anybody must know of.
    pub(crate) fn is_over(&self) -> bool {
        let is_hung = self.failed.as_ref().is_some_and(|f| f.state == PluginState::Wedged);
        self.is_gone && self.serving.is_none() && !is_hung
    }

    /// Takes out what serves though a person has withdrawn it.
    pub(crate) fn withdraw(&mut self) -> Option<Instance> {
        let state = self.candidate.report.state;
        let is_off = matches!(state, PluginState::Disabled | PluginState::Unpinned);
        let is_removed = self.is_gone && self.candidate.needs_pin;
        if !is_off && !is_removed {
            return None;
        }
        self.serving.take().map(|serving| serving.instance)
    }

    /// Whether this look leads to loading it, and from then on it is being loaded.
    pub(crate) fn begin(&mut self, look: Look) -> bool {
        let PluginReport { state, sha256, .. } = &self.candidate.report;
        let is_hung =
            |failed: &Failed| failed.state == PluginState::Wedged && failed.sha256 == *sha256;
        let is_wanted = match &self.serving {
            Some(serving) => look == Look::Reload && serving.report.sha256 != *sha256,
            None => look != Look::Only,
        };
        let is_ready = *state == PluginState::Ready && !self.is_gone;
        self.is_loading = is_wanted && is_ready && !self.failed.as_ref().is_some_and(is_hung);
        self.is_loading
    }

    /// Notes how loading went; gives what served before.
    pub(crate) fn settle(&mut self, result: Result<Instance, NotLoaded>) -> Option<Instance> {
        self.is_loading = false;
        let (state, refusal) = match result {
            Ok(instance) => {
                self.failed = None;
                let report =
                    PluginReport { state: PluginState::Loaded, ..self.candidate.report.clone() };
                let before = self.serving.replace(Serving { instance, report });
                return before.map(|before| before.instance);
            }
            Err(NotLoaded::Refused(refusal)) => (PluginState::Refused, refusal),
            Err(NotLoaded::Hung(refusal)) => (PluginState::Wedged, refusal),
            Err(NotLoaded::Quarantined(refusal)) => (PluginState::Quarantined, refusal),
        };
        let sha256 = self.candidate.report.sha256.clone();
        self.failed = Some(Failed { sha256, state, refusal });
        None
    }

    pub(crate) fn instance(&self) -> Option<&Instance> {
        self.serving.as_ref().map(|serving| &serving.instance)
    }

    pub(crate) fn report(&self) -> PluginReport {
        let Some(serving) = &self.serving else {
            return self.not_serving();
        };
        let report =
            PluginReport { file: self.candidate.report.file.clone(), ..serving.report.clone() };
        let (state, reason, fix) = if serving.instance.is_wedged() {
            let fix = "restart the daemon";
            (PluginState::Wedged, "it did not come back from a call".to_owned(), fix)
        } else if let Some(reason) = self.is_stale(serving) {
            (PluginState::Stale, reason, "run `scv reload` to serve what is on disk")
        } else if let Some(down) = serving.instance.down() {
            (PluginState::Loaded, down, "nothing: it starts again when an account needs it")
        } else {
            return report;
        };
        PluginReport { state, refusal: Some(Refusal::new(Step::Serve, reason, fix)), ..report }
    }

    fn not_serving(&self) -> PluginReport {
        let report = self.candidate.report.clone();
        let last = self.failed.as_ref().filter(|failed| failed.sha256 == report.sha256);
        match last {
            Some(failed) if report.state == PluginState::Ready && !self.is_loading => {
                let refusal = Some(failed.refusal.clone());
                PluginReport { state: failed.state, refusal, ..report }
            }
            _ => report,
        }
    }

    /// Why what is on disk is not what serves, if it is not.
    fn is_stale(&self, serving: &Serving) -> Option<String> {
        let PluginReport { sha256, refusal, .. } = &self.candidate.report;
        if self.is_gone {
            return Some("its file is gone".into());
        }
        if let Some(refusal) = refusal {
            return Some(format!("its file would be refused: {}", refusal.reason));
        }
        if serving.report.sha256 == *sha256 {
            return None;
        }
        let failed = self.failed.as_ref().filter(|failed| failed.sha256 == *sha256);
        Some(match failed {
            Some(failed) => format!("the new file was refused: {}", failed.refusal.reason),
            None => "a new file is on disk".into(),
        })
    }

    pub(crate) fn channels(&self) -> Vec<LoadedChannel> {
        let Some(Serving { instance, report }) = &self.serving else {
            return Vec::new();
        };
        let channel = |channel: &ChannelManifest| LoadedChannel {
            manifest: channel.clone(),
            plugin: report.name.clone(),
            version: report.version.clone(),
            sha256: report.sha256.clone(),
            isolation: instance.isolation(),
            transport: instance.transport(),
        };
        let manifest = report.manifest.iter();
        manifest.flat_map(|manifest| &manifest.channels).map(channel).collect()
    }

    pub(crate) fn claims(&self) -> Vec<Claim> {
        let PluginReport { name, manifest, refusal, .. } = &self.candidate.report;
        // Until it has been tried again, its channels still say why nobody serves them.
        let refusal = refusal.as_ref().or(self.failed.as_ref().map(|failed| &failed.refusal));
        let (None, Some(manifest), Some(refusal)) = (&self.serving, manifest, refusal) else {
            return Vec::new();
        };
        if self.candidate.report.state == PluginState::Disabled {
            return Vec::new();
        }
        let claim = |channel: &ChannelManifest| Claim {
            channel: channel.id.clone(),
            plugin: name.clone(),
            refusal: refusal.clone(),
        };
        manifest.channels.iter().map(claim).collect()
    }

    fn is_the_same_plugin(&self, candidate: &Candidate) -> bool {
        let (ours, theirs) = (&self.candidate.report, &candidate.report);
        ours.name == theirs.name && (ours.file == theirs.file || self.serving.is_some())
    }
}
