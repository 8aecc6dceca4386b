//! `cargo xtask abi-check`: what was built against ABI 1.0 goes on working, tried, not promised.
//!
//! `plugin-api/abi/frozen/1.0` holds the ABI's source as it was frozen, a plugin without any SDK,
//! and a small host. They meet today's host and plugins, in both directions; and a copy of
//! today's SDK that a later version has added to (`later`) meets all of them.

mod later;
mod meeting;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo::{Profile, cargo},
    harness::Built,
    plugins,
    workspace::Workspace,
};

/// Credentials for a session of the fixture that brings one message.
const FIXTURE_CREDENTIALS: &str =
    r#"{"bot_id":"b","owner_id":"o","messages":[{"id":"m1","sender":"o","text":"hello"}]}"#;

/// Builds everything and lets it meet.
///
/// # Errors
/// The first meeting that goes wrong.
pub fn run(workspace: &Workspace) -> Result<()> {
    let frozen = Frozen::build(workspace)?;
    let built = Built::build_for_tests(workspace, &Profile::dev())?;
    let fixture = built.library("scv_channel_fixture");

    for plugin in plugins::libraries(workspace, &Profile::dev())? {
        say("the frozen host", &plugin);
        frozen.host(&[plugin.as_os_str()])?;
        say("the conformance kit", &plugin);
        conformance(workspace, &plugin)?;
    }
    say("the frozen host, with a session,", &fixture);
    frozen.host(&[fixture.as_os_str(), FIXTURE_CREDENTIALS.as_ref()])?;
    for plugin in [&frozen.debug, &frozen.release] {
        say("today's daemon", plugin);
        meeting::daemon_and(&built, plugin, "frozen", "{}")?;
    }

    aborting_does_not_compile(workspace)?;

    let later = later::Later::build(workspace)?;
    say("a later host", &frozen.debug);
    later.host(&frozen.debug)?;
    say("a later host", &fixture);
    later.host(&fixture)?;
    say("the frozen host", &later.plugin);
    frozen.host(&[later.plugin.as_os_str(), FIXTURE_CREDENTIALS.as_ref()])?;
    say("today's daemon", &later.plugin);
    meeting::daemon_and(&built, &later.plugin, "fixture", FIXTURE_CREDENTIALS)?;
    meeting::sign_in(&built, &later.plugin, "fixture")?;
    println!("abi-check: ABI 1 is what it was");
    Ok(())
}

/// The plugin's own conformance test, over the file instead of the linked code.
fn conformance(workspace: &Workspace, plugin: &Path) -> Result<()> {
    let name = plugin.file_stem().and_then(|stem| stem.to_str()).context("a library has a name")?;
    let name = name.trim_start_matches("libscv_channel_");
    let mut command = cargo(&workspace.root);
    command.args(["test", "--quiet", "--package", &format!("scv-channel-{name}")]);
    command.args(["--test", "room", "conformance"]).env("SCV_TEST_PLUGIN", plugin);
    passes(&mut command, "the conformance kit")
}

/// A plugin whose panics end its process would end the daemon.
fn aborting_does_not_compile(workspace: &Workspace) -> Result<()> {
    println!("abi-check: a plugin that aborts on panics");
    let mut command = cargo(&workspace.root);
    command.args(["rustc", "--quiet", "--package", "scv-channel-fixture", "--lib"]);
    let output = command.args(["--", "-C", "panic=abort"]).output()?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "it compiles");
    ensure!(words.contains("a plugin is built with panic = \"unwind\""), "{words}");
    Ok(())
}

fn say(who: &str, plugin: &Path) {
    println!("abi-check: {who} meets {}", plugin.display());
}

/// What was frozen, built with today's compiler.
struct Frozen {
    host: PathBuf,
    debug: PathBuf,
    release: PathBuf,
}

impl Frozen {
    fn build(workspace: &Workspace) -> Result<Self> {
        let root = workspace.root.join("plugin-api/abi/frozen/1.0");
        let target = workspace.target.join("abi-check/frozen");
        build(&root, &target, &["build", "--locked"])?;
        build(
            &root,
            &target,
            &["build", "--locked", "--release", "--package", "scv-channel-frozen"],
        )?;
        Ok(Self {
            host: target.join("debug/frozen-host"),
            debug: target.join("debug/libscv_channel_frozen.so"),
            release: target.join("release/libscv_channel_frozen.so"),
        })
    }

    fn host(&self, arguments: &[&std::ffi::OsStr]) -> Result<()> {
        passes(Command::new(&self.host).args(arguments), "the frozen host")
    }
}

/// Runs cargo on a workspace of its own, into a folder of its own.
fn build(root: &Path, target: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = cargo(root);
    command.args(arguments).env("CARGO_TARGET_DIR", target);
    // Nobody debugs these, and it halves what is written.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    passes(&mut command, "cargo")
}

fn passes(command: &mut Command, who: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("{who} does not start"))?;
    ensure!(status.success(), "{who}: {status}");
    Ok(())
}
