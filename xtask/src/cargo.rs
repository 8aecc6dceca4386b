//! Calling cargo, and learning from it which files it built.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// How to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile(String);

impl Profile {
    /// Quick to build.
    pub fn dev() -> Self {
        Self("dev".into())
    }

    /// Optimised.
    pub fn release() -> Self {
        Self("release".into())
    }

    /// Small: what is given away.
    pub fn dist() -> Self {
        Self("dist".into())
    }

    /// Any profile of Cargo.toml.
    pub fn named(name: String) -> Self {
        Self(name)
    }
}

/// A cargo that has not been told yet what to do, in `root`.
pub fn cargo(root: &Path) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// One file of a build.
#[derive(Debug, PartialEq, Eq)]
pub struct Artifact {
    /// `bin`, `cdylib`, …
    pub kind: String,
    /// The target's name.
    pub name: String,
    /// The file.
    pub file: PathBuf,
}

/// Builds one package by itself (so that no other package's features leak into it) and gives
/// its programs and shared libraries.
///
/// # Errors
/// When it does not compile; cargo has said why on stderr.
pub fn build(root: &Path, package: &str, profile: &Profile) -> Result<Vec<Artifact>> {
    let mut command = cargo(root);
    command.args(["build", "--package", package]).args(options(profile));
    built(command, package)
}

/// Builds the shared library of one package by itself, and nothing else of it.
///
/// # Errors
/// As [`build`].
pub fn build_library(root: &Path, package: &str, profile: &Profile) -> Result<Vec<Artifact>> {
    if *profile != Profile::dist() {
        return build(root, package, profile);
    }
    let mut command = cargo(root);
    command.args(["rustc", "--package", package, "--lib", "--crate-type", "cdylib"]);
    command.args(options(profile)).arg("--").args(SMALLER);
    built(command, package)
}

/// Equal functions become one. Understood by the linker that rustc brings for x86-64 (1.90 and
/// newer); elsewhere files are larger.
#[cfg(target_arch = "x86_64")]
const SMALLER: [&str; 2] = ["-C", "link-arg=-Wl,--icf=all"];
#[cfg(not(target_arch = "x86_64"))]
const SMALLER: [&str; 0] = [];

fn options(profile: &Profile) -> [&str; 4] {
    ["--message-format", "json-render-diagnostics", "--profile", &profile.0]
}

fn built(mut command: Command, package: &str) -> Result<Vec<Artifact>> {
    let output = command.stderr(Stdio::inherit()).output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("{package} does not build");
    }
    Ok(artifacts(&output.stdout, package))
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    package_id: String,
    target: Option<crate::workspace::Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Cargo's messages, one JSON object a line, narrowed to what `package` itself built.
fn artifacts(messages: &[u8], package: &str) -> Vec<Artifact> {
    let mut found = Vec::new();
    for line in messages.split(|byte| *byte == b'\n') {
        let Ok(message) = serde_json::from_slice::<Message>(line) else {
            continue;
        };
        let Some(target) = message.target else {
            continue;
        };
        if message.reason != "compiler-artifact" || !names(&message.package_id, package) {
            continue;
        }
        for file in message.filenames {
            let kind = match file.extension().and_then(|extension| extension.to_str()) {
                Some("so" | "dylib") => "cdylib",
                None => "bin",
                Some(_) => continue,
            };
            if target.kind.iter().any(|k| k == kind) {
                found.push(Artifact { kind: kind.into(), name: target.name.clone(), file });
            }
        }
    }
    found
}

/// Package ids end in `/folder#1.2.3` where the folder has the package's name, else in
/// `#name@1.2.3` (cargo's "package id specifications", seen 2026-11).
fn names(package_id: &str, package: &str) -> bool {
    let (path, version) = package_id.rsplit_once('#').unwrap_or(("", package_id));
    match version.split_once('@') {
        Some((name, _)) => name == package,
        None => path.rsplit('/').next() == Some(package),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_packages_own_programs_and_libraries_count() {
        let messages = [
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/plugins/chat#scv-channel-chat@0.1.0","target":{"name":"scv_channel_chat","kind":["cdylib","rlib"]},"filenames":["/t/debug/libscv_channel_chat.so","/t/debug/libscv_channel_chat.rlib"]}"#,
            r#"{"reason":"compiler-artifact","package_id":"registry+https://x#helper@1.0.0","target":{"name":"helper","kind":["cdylib"]},"filenames":["/t/debug/deps/libhelper.so"]}"#,
            r#"{"reason":"build-finished","success":true}"#,
            "not json",
        ]
        .join("\n");
        assert_eq!(
            artifacts(messages.as_bytes(), "scv-channel-chat"),
            [Artifact {
                kind: "cdylib".into(),
                name: "scv_channel_chat".into(),
                file: "/t/debug/libscv_channel_chat.so".into(),
            }]
        );
    }

    #[test]
    fn a_program_has_no_extension() {
        let message = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/host/cli#scv@0.1.0","target":{"name":"scv","kind":["bin"]},"filenames":["/t/debug/scv"]}"#;
        let found = artifacts(message.as_bytes(), "scv");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind.as_str(), found[0].name.as_str()), ("bin", "scv"));
    }

    #[test]
    fn package_ids_are_read_in_both_spellings() {
        assert!(names("path+file:///w/xtask#0.1.0", "xtask"));
        assert!(names("path+file:///w/host/cli#scv@0.1.0", "scv"));
        assert!(!names("path+file:///w/host/cli#scv@0.1.0", "cli"));
        assert!(!names("registry+https://x#scv-other@1.0.0", "scv"));
    }
}
