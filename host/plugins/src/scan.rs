//! Steps 1 to 4 over the whole search path: what could be loaded, and why the rest cannot.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    PluginReport, PluginState, Refusal, SearchPath, Step,
    find::{Found, find},
    inspect::{Inspected, fits, inspect},
    read::read,
};

/// Looks at every plugin file, and runs no plugin code.
#[must_use]
pub fn scan(search: &SearchPath) -> Vec<PluginReport> {
    let candidates = candidates(search, &BTreeSet::new());
    candidates.into_iter().map(|candidate| candidate.report).collect()
}

/// One file, as far as it came.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) report: PluginReport,
    /// Known even for most plugins that are refused.
    pub(crate) inspected: Option<Inspected>,
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
            report: PluginReport {
                name: found.name,
                file: found.file,
                isolation: "in_process".into(),
                ..PluginReport::default()
            },
            inspected: None,
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
        let inspected = inspect(&contents.bytes)?;
        self.describe(&inspected);
        let inspected = self.inspected.insert(inspected);
        fits(&inspected.manifest, &self.report.name)?;
        if disabled.contains(&self.report.name) {
            self.report.state = PluginState::Disabled;
            return Ok(());
        }
        claimed.claim(inspected)
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.report.state = match refusal.step {
            Step::Conflict => PluginState::Conflict,
            _ => PluginState::Refused,
        };
        self.report.refusal = Some(refusal);
    }

    fn describe(&mut self, inspected: &Inspected) {
        let manifest = &inspected.manifest;
        let titles: Vec<_> = manifest.channels.iter().map(|c| c.title.as_str()).collect();
        self.report.title = titles.join(", ");
        self.report.version.clone_from(&manifest.version);
        self.report.abi.clone_from(&manifest.abi);
        let sdk = &manifest.built_with.plugin_api;
        self.report.plugin_api.clone_from(sdk);
        self.report.channels = inspected.names().map(str::to_owned).collect();
    }
}

/// Channel names, and which plugin has each.
#[derive(Default)]
struct Claimed(BTreeMap<String, String>);

impl Claimed {
    fn claim(&mut self, inspected: &Inspected) -> Result<(), Refusal> {
        let plugin = &inspected.manifest.name;
        for name in inspected.names() {
            if let Some(first) = self.0.get(name) {
                return Err(Refusal::new(
                    Step::Conflict,
                    format!("the plugin '{first}' is found first and claims '{name}' too"),
                    format!("Switch one of them off: [plugins.{plugin}] enabled = false."),
                ));
            }
        }
        let names = inspected.names().map(str::to_owned);
        self.0.extend(names.map(|name| (name, plugin.clone())));
        Ok(())
    }
}
