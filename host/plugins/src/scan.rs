//! Steps 1 to 4 over the whole search path: what could be loaded, and why the rest cannot.

use std::collections::{BTreeMap, BTreeSet};

use scv_plugin_api::wire::Manifest;

use crate::{
    PluginReport, PluginState, Refusal, SearchPath, Step,
    find::{Found, find},
    inspect::{Inspected, fits, inspect},
    read::read,
};

/// Looks at every plugin file, and runs no plugin code. Plugins whose names are `disabled` are
/// listed and claim no channel.
#[must_use]
pub fn scan(search: &SearchPath, disabled: &BTreeSet<String>) -> Vec<PluginReport> {
    candidates(search, disabled).into_iter().map(|candidate| candidate.report).collect()
}

/// One file, as far as it came.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) report: PluginReport,
    /// The manifest as it stands in the file; empty while the report has none.
    pub(crate) manifest_text: String,
}

/// Takes every file through the steps, in order: of two that claim a channel the first one wins.
pub(crate) fn candidates(search: &SearchPath, disabled: &BTreeSet<String>) -> Vec<Candidate> {
    let mut claimed = Claimed::default();
    let look = |found| Candidate::look(found, disabled, &mut claimed);
    find(search).into_iter().map(look).collect()
}

impl Candidate {
    fn look(found: Found, disabled: &BTreeSet<String>, claimed: &mut Claimed) -> Self {
        let mut candidate = Self {
            report: PluginReport { name: found.name, file: found.file, ..PluginReport::default() },
            manifest_text: String::new(),
        };
        let result = match found.refusal {
            Some(refusal) => Err(refusal),
            None => candidate.steps(disabled, claimed),
        };
        if let Err(refusal) = result {
            candidate.refuse(refusal);
        }
        candidate
    }

    fn steps(&mut self, disabled: &BTreeSet<String>, claimed: &mut Claimed) -> Result<(), Refusal> {
        let contents = read(&self.report.file)?;
        self.report.sha256 = contents.sha256;
        let Inspected { manifest, text } = inspect(&contents.bytes)?;
        self.manifest_text = text;
        self.describe(&manifest);
        let manifest = self.report.manifest.insert(manifest);
        fits(&contents.bytes, manifest, &self.report.name)?;
        if disabled.contains(&self.report.name) {
            self.report.state = PluginState::Disabled;
            return Ok(());
        }
        claimed.claim(manifest)
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.report.state = match refusal.step {
            Step::Conflict => PluginState::Conflict,
            _ => PluginState::Refused,
        };
        self.report.refusal = Some(refusal);
    }

    fn describe(&mut self, manifest: &Manifest) {
        let titles: Vec<_> = manifest.channels.iter().map(|c| c.title.as_str()).collect();
        self.report.title = titles.join(", ");
        self.report.version.clone_from(&manifest.version);
        self.report.abi.clone_from(&manifest.abi);
        let sdk = &manifest.built_with.plugin_api;
        self.report.plugin_api.clone_from(sdk);
        self.report.channels = manifest.names().map(str::to_owned).collect();
    }
}

/// Channel names, and which plugin has each.
#[derive(Default)]
struct Claimed(BTreeMap<String, String>);

impl Claimed {
    fn claim(&mut self, manifest: &Manifest) -> Result<(), Refusal> {
        let plugin = &manifest.name;
        for name in manifest.names() {
            if let Some(first) = self.0.get(name) {
                return Err(Refusal::new(
                    Step::Conflict,
                    format!("the plugin '{first}' is found first and claims '{name}' too"),
                    format!("switch one of them off: [plugins.{plugin}] enabled = false"),
                ));
            }
        }
        let names = manifest.names().map(str::to_owned);
        self.0.extend(names.map(|name| (name, plugin.clone())));
        Ok(())
    }
}
