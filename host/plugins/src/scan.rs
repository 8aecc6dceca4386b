//! Steps 1 to 5 over the whole search path: what could be loaded, and why the rest cannot.

use std::collections::{BTreeMap, BTreeSet};

use scv_plugin_api::wire::Manifest;

use crate::{
    Isolation, PluginReport, PluginState, Refusal, SearchPath, Step,
    find::{Found, find},
    inspect::{Inspected, fits, inspect},
    pins::{Damaged, Pin, Pins},
    read::read,
};

/// What the configuration says about plugins by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Switched off.
    pub disabled: BTreeSet<String>,
    /// Where they run; others run where their folder says: in a process of their own from the
    /// home's folder, in this one from any other.
    pub isolation: BTreeMap<String, Isolation>,
}

/// Looks at every plugin file, and runs no plugin code. Plugins that are switched off are
/// listed and claim no channel.
#[must_use]
pub fn scan(search: &SearchPath, policy: &Policy) -> Vec<PluginReport> {
    candidates(search, policy).into_iter().map(|candidate| candidate.report).collect()
}

/// One file, as far as it came.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) report: PluginReport,
    /// The manifest as it stands in the file; empty while the report has none.
    pub(crate) manifest_text: String,
    /// Libraries that it needs and that not every system has.
    pub(crate) foreign_libraries: Vec<String>,
    /// Whether only a pinned file is loaded from its folder.
    pub(crate) needs_pin: bool,
}

/// Why a file is not loaded, and what that makes of it.
pub(crate) struct Stop {
    pub(crate) state: PluginState,
    pub(crate) refusal: Refusal,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        let state = match refusal.step {
            Step::Conflict => PluginState::Conflict,
            _ => PluginState::Refused,
        };
        Self { state, refusal }
    }
}

/// What all files are judged by.
struct Rules<'a> {
    policy: &'a Policy,
    pins: Result<Pins, Damaged>,
}

/// Takes every file through the steps, in order: of two that claim a channel the first one wins.
pub(crate) fn candidates(search: &SearchPath, policy: &Policy) -> Vec<Candidate> {
    let pins = search.home().map_or_else(|| Ok(Pins::default()), Pins::read);
    if let Err(damaged) = &pins {
        tracing::warn!(refusal = %damaged.refusal, "what was decided about plugins is not known");
    }
    let rules = Rules { policy, pins };
    let mut claimed = Claimed::default();
    find(search).into_iter().map(|found| Candidate::look(found, &rules, &mut claimed)).collect()
}

impl Candidate {
    fn look(found: Found, rules: &Rules<'_>, claimed: &mut Claimed) -> Self {
        let by_folder = if found.needs_pin { Isolation::Process } else { Isolation::InProcess };
        let configured = rules.policy.isolation.get(&found.name).copied();
        let mut candidate = Self {
            report: PluginReport {
                name: found.name,
                file: found.file,
                isolation: configured.unwrap_or(by_folder),
                ..PluginReport::default()
            },
            manifest_text: String::new(),
            foreign_libraries: Vec::new(),
            needs_pin: found.needs_pin,
        };
        let result = match found.refusal {
            Some(refusal) => Err(refusal.into()),
            None => candidate.steps(rules, claimed),
        };
        if let Err(stop) = result {
            candidate.stop(stop);
        }
        candidate
    }

    fn steps(&mut self, rules: &Rules<'_>, claimed: &mut Claimed) -> Result<(), Stop> {
        let contents = read(&self.report.file)?;
        self.report.sha256 = contents.sha256;
        let Inspected { manifest, text, foreign_libraries } = inspect(&contents.bytes)?;
        self.manifest_text = text;
        self.foreign_libraries = foreign_libraries;
        self.describe(&manifest);
        self.report.manifest = Some(manifest.clone());
        fits(&contents.bytes, &manifest, &self.report.name)?;
        drop(contents.bytes);
        rules.pin(self)?;
        Ok(claimed.claim(&manifest)?)
    }

    pub(crate) fn stop(&mut self, stop: Stop) {
        self.report.state = stop.state;
        self.report.refusal = Some(stop.refusal);
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

impl Rules<'_> {
    /// Step 5: what a person decided about this plugin, and these bytes.
    fn pin(&self, candidate: &Candidate) -> Result<(), Stop> {
        let PluginReport { name, file, sha256, .. } = &candidate.report;
        if self.policy.disabled.contains(name) {
            let reason = "the configuration switches it off";
            let fix = format!("remove `enabled = false` from [plugins.{name}]");
            return Err(stop(PluginState::Disabled, reason, fix));
        }
        let pins = match &self.pins {
            Ok(pins) => pins,
            Err(damaged) if candidate.needs_pin || damaged.may_name(name) => {
                return Err(damaged.refusal.clone().into());
            }
            // Where it lies is trusted without, and nobody has decided against it.
            Err(_) => return Ok(()),
        };
        let none = Pin::default();
        let pin = pins.plugins.get(name).unwrap_or(&none);
        if !pin.enabled {
            let fix = format!("run `scv plugins enable {name}`");
            return Err(stop(PluginState::Disabled, "it is switched off", fix));
        }
        if let Some(quarantine) = pin.quarantined.as_ref().filter(|q| q.sha256 == *sha256) {
            let fix = format!("run `scv plugins check {name}`, then `scv plugins enable {name}`");
            return Err(stop(PluginState::Quarantined, &quarantine.reason, fix));
        }
        if !candidate.needs_pin {
            return Ok(());
        }
        let add = format!("run `scv plugins add {}` if you trust it", file.display());
        match &pin.sha256 {
            None => Err(stop(PluginState::Unpinned, "nobody has added this plugin", add)),
            Some(pinned) if pinned != sha256 => {
                let reason = format!("its sha256 is {sha256}, but plugins.lock.json pins {pinned}");
                Err(stop(PluginState::Unpinned, &reason, add))
            }
            Some(_) => Ok(()),
        }
    }
}

fn stop(state: PluginState, reason: &str, fix: String) -> Stop {
    Stop { state, refusal: Refusal::new(Step::Pin, reason, fix) }
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
                    format!("switch one of them off: scv plugins disable {plugin}"),
                ));
            }
        }
        let names = manifest.names().map(str::to_owned);
        self.0.extend(names.map(|name| (name, plugin.clone())));
        Ok(())
    }
}
