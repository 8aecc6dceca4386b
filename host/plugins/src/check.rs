//! `scv plugins check`: every step for one plugin, as the daemon would take it, but with its
//! code in a child only.

use std::{env, path::PathBuf};

use serde::Serialize;

use crate::{
    HostOptions, PluginState, Refusal, SearchPath, Step,
    load::Job,
    probe::probe,
    scan::{Candidate, candidates},
    trust,
};

/// The steps that a check takes, in their order.
const STEPS: [Step; 10] = [
    Step::Find,
    Step::Trust,
    Step::Read,
    Step::Inspect,
    Step::Pin,
    Step::Conflict,
    Step::Copy,
    Step::Probe,
    Step::Load,
    Step::Create,
];

/// What puts code into every process that is started with it.
const INTRUDERS: [&str; 3] = ["LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"];

/// How one step went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedStep {
    /// The step.
    pub step: Step,
    /// Whether it let the plugin pass.
    pub ok: bool,
    /// What was found.
    pub text: String,
    /// What to do, where it did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The steps; the last one is the first that failed, unless a decision of a person is all
    /// that stands in the way.
    pub steps: Vec<CheckedStep>,
    /// Shared libraries that are loaded with it, but for those of the C library and the
    /// compiler: nobody has checked them, and another system may not have them.
    pub foreign_libraries: Vec<String>,
}

/// Takes the first plugin of this name through every step.
///
/// # Errors
/// When there is no file of this name.
pub async fn check(options: &HostOptions, name: &str) -> Result<Checked, Refusal> {
    let mut found = candidates(&options.search, &options.policy).into_iter();
    let candidate = found.find(|candidate| candidate.report.name == name).ok_or_else(|| {
        let reason = "there is no plugin of this name";
        Refusal::new(Step::Find, reason, "`scv plugins list` shows those there are")
    })?;
    let foreign_libraries = candidate.foreign_libraries.clone();
    let steps = steps(options, candidate).await;
    Ok(Checked { steps, foreign_libraries })
}

async fn steps(options: &HostOptions, candidate: Candidate) -> Vec<CheckedStep> {
    let mut lines = Lines { candidate, all: Vec::new() };
    if let Some(refusal) = lines.candidate.report.refusal.clone() {
        lines.fail(&refusal);
        let only_decided = [PluginState::Disabled, PluginState::Quarantined];
        if !only_decided.contains(&lines.candidate.report.state) {
            return lines.all;
        }
    }
    match try_in_child(options, &lines.candidate).await {
        Ok(()) => lines.pass_until(Step::Serve),
        Err(refusal) => lines.fail(&refusal),
    }
    lines.all
}

/// Variables of this process's environment that put other code into it.
#[must_use]
pub fn intruders() -> Vec<&'static str> {
    INTRUDERS.into_iter().filter(|name| env::var_os(name).is_some()).collect()
}

async fn try_in_child(options: &HostOptions, candidate: &Candidate) -> Result<(), Refusal> {
    let Some(job) = Job::new(options, candidate) else {
        return Ok(());
    };
    let config = job.config()?;
    let copy = job.copy().await?;
    let tried = probe(&job.spec(&copy), &candidate.report.name, Some(config)).await;
    tried.map_err(|failure| failure.refusal)
}

struct Lines {
    candidate: Candidate,
    all: Vec<CheckedStep>,
}

impl Lines {
    /// Every step before this one has let it pass.
    fn pass_until(&mut self, end: Step) {
        let done = self.all.last().map(|line| line.step);
        let steps = STEPS.into_iter().filter(|step| *step < end && done.is_none_or(|d| *step > d));
        let lines: Vec<_> = steps.map(|step| self.passed(step)).collect();
        self.all.extend(lines);
    }

    fn fail(&mut self, refusal: &Refusal) {
        self.pass_until(refusal.step);
        self.all.push(CheckedStep {
            step: refusal.step,
            ok: false,
            text: refusal.reason.clone(),
            fix: Some(refusal.fix.clone()),
        });
    }

    fn passed(&self, step: Step) -> CheckedStep {
        let report = &self.candidate.report;
        let text = match step {
            Step::Find => report.file.display().to_string(),
            Step::Trust => "nobody else can change it".into(),
            Step::Read => format!("sha256 {}", report.sha256),
            Step::Inspect => format!(
                "{} {}, plugin ABI {}, channels {}",
                report.name,
                report.version,
                report.abi,
                report.channels.join(", ")
            ),
            Step::Pin if self.candidate.needs_pin => "these bytes were added".into(),
            Step::Pin => "trusted by where it lies".into(),
            Step::Conflict => "no other plugin has its name or its channels".into(),
            Step::Copy => "a private copy is there".into(),
            Step::Probe => "a child loads it and lives".into(),
            Step::Load => "its ABI and its manifest are those of its file".into(),
            Step::Create => format!(
                "it was made in that child; it would run {}",
                match report.isolation {
                    crate::Isolation::InProcess => "in the daemon",
                    crate::Isolation::Process => "in a process of its own",
                }
            ),
            Step::Serve => String::new(),
        };
        CheckedStep { step, ok: true, text, fix: None }
    }
}

/// A folder of the search path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedDir {
    /// The folder.
    pub dir: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// Whether only plugins that a person has added are loaded from it.
    pub needs_pins: bool,
    /// Why it is not searched though it is there.
    pub refusal: Option<Refusal>,
}

/// The folders that are searched, in order, and whether each is trusted.
#[must_use]
pub fn searched_dirs(search: &SearchPath) -> Vec<SearchedDir> {
    let judged = |dir: &PathBuf| {
        let resolved = dir.canonicalize();
        SearchedDir {
            dir: dir.clone(),
            exists: resolved.is_ok(),
            needs_pins: search.needs_pins(dir),
            refusal: resolved.ok().and_then(|resolved| trust::folder(&resolved).err()),
        }
    };
    search.dirs().iter().map(judged).collect()
}
