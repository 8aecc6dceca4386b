//! `cargo xtask test`: everything that a landing must pass, in one go.
//!
//! What must be built first is built first and then reused; the checks after it are
//! independent, so that one run shows everything that is wrong.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{
    cargo::{Profile, cargo},
    harness::{Built, built::TEST_BIN_DIR},
    tidy,
    workspace::Workspace,
};

/// Tells the loader's tests that their plugin is built already.
const FIXTURE_PLUGIN: &str = "SCV_FIXTURE_PLUGIN";

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// A tool that it needs is not installed; with what to do about it.
    Skipped(&'static str),
}

struct Step {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// Builds, checks, tests and sums up; gives whether all is well.
///
/// # Errors
/// When the build fails: nothing after it would mean anything.
pub fn run(workspace: &Workspace) -> Result<bool> {
    let begun = Instant::now();
    let built = Built::build_for_tests(workspace, &Profile::dev()).context("the build failed")?;
    let mut steps = vec![Step { name: "build", outcome: Outcome::Passed, took: begun.elapsed() }];
    let root = workspace.root.as_path();
    step(&mut steps, "format", || format(root))?;
    step(&mut steps, "tidy", || tidy::run(workspace).map(Outcome::of))?;
    step(&mut steps, "clippy", || clippy(root))?;
    step(&mut steps, "tests", || tests(root, &built))?;
    println!("\n{}", summary(&steps, begun.elapsed()));
    Ok(!steps.iter().any(|step| step.outcome == Outcome::Failed))
}

fn step(
    steps: &mut Vec<Step>,
    name: &'static str,
    work: impl FnOnce() -> Result<Outcome>,
) -> Result<()> {
    eprintln!("\nxtask: {name}");
    let begun = Instant::now();
    let outcome = work()?;
    steps.push(Step { name, outcome, took: begun.elapsed() });
    Ok(())
}

fn format(root: &Path) -> Result<Outcome> {
    if !there(root, "fmt")? {
        return Ok(Outcome::Skipped("rustup component add rustfmt"));
    }
    passes(cargo(root).args(["fmt", "--all", "--check"]))
}

fn clippy(root: &Path) -> Result<Outcome> {
    if !there(root, "clippy")? {
        return Ok(Outcome::Skipped("rustup component add clippy"));
    }
    let arguments = ["clippy", "--workspace", "--all-targets", "--keep-going", "--quiet"];
    passes(cargo(root).args(arguments).args(["--", "--deny", "warnings"]))
}

/// The tests, by nextest where it is installed. They find what [`Built`] built.
fn tests(root: &Path, built: &Built) -> Result<Outcome> {
    let mut command = cargo(root);
    command.env(TEST_BIN_DIR, built.folder());
    command.env(FIXTURE_PLUGIN, built.library("scv_channel_fixture"));
    if there(root, "nextest")? {
        command.args([
            "nextest",
            "run",
            "--no-fail-fast",
            "--status-level",
            "slow",
            "--test-threads",
            "4",
        ]);
    } else {
        command.args(["test", "--no-fail-fast", "--quiet", "--lib", "--bins", "--tests"]);
    }
    let outcome = passes(command.arg("--workspace"))?;
    if outcome == Outcome::Failed {
        return Ok(outcome);
    }
    // Nextest does not run the examples in documentation.
    passes(cargo(root).args(["test", "--doc", "--workspace", "--quiet"]))
}

/// Whether this subcommand, a program of its own, is installed.
fn there(root: &Path, subcommand: &str) -> Result<bool> {
    let status = cargo(root)
        .args([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cargo does not start")?;
    Ok(status.success())
}

fn passes(command: &mut Command) -> Result<Outcome> {
    let status = command.status().context("cargo does not start")?;
    Ok(Outcome::of(status.success()))
}

impl Outcome {
    fn of(well: bool) -> Self {
        if well { Self::Passed } else { Self::Failed }
    }
}

fn summary(steps: &[Step], took: Duration) -> String {
    let mut text = String::new();
    for step in steps {
        let outcome = match step.outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Failed => "FAILED".to_owned(),
            Outcome::Skipped(fix) => format!("skipped; to have it: {fix}"),
        };
        text += &format!("{:>8}  {:>5} s  {outcome}\n", step.name, step.took.as_secs());
    }
    text + &format!("{:>8}  {:>5} s\n", "in all", took.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_how_each_step_ended() {
        let step =
            |name, outcome, seconds| Step { name, outcome, took: Duration::from_secs(seconds) };
        let steps = [
            step("build", Outcome::Passed, 61),
            step("format", Outcome::Skipped("rustup component add rustfmt"), 0),
            step("tests", Outcome::Failed, 120),
        ];
        assert_eq!(
            summary(&steps, Duration::from_secs(181)),
            "   build     61 s  passed\n\
             \x20 format      0 s  skipped; to have it: rustup component add rustfmt\n\
             \x20  tests    120 s  FAILED\n\
             \x20 in all    181 s\n"
        );
    }

    #[test]
    fn a_subcommand_that_cargo_lacks_is_not_there() {
        assert!(!there(Path::new("."), "no-such-subcommand").unwrap());
    }
}
