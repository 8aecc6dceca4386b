//! Packing, and trying what was packed as somebody who has only that.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

/// Packs `folder/name` into `folder/name.tar.gz`; equal files make an equal archive.
pub(super) fn pack(folder: &Path, name: &str) -> Result<PathBuf> {
    let archive = folder.join(format!("{name}.tar.gz"));
    let status = Command::new("tar")
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"])
        .arg("--create")
        .arg("--gzip")
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(folder)
        .arg(name)
        .status()
        .context("tar does not start")?;
    ensure!(status.success(), "tar: {status}");
    Ok(archive)
}

/// Unpacks it elsewhere and runs it with an empty environment: the sums are right, the program
/// answers, and it finds its plugins beside itself.
pub(super) fn try_out(archive: &Path, name: &str) -> Result<()> {
    let elsewhere = tempfile::tempdir()?;
    let status = Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(elsewhere.path())
        .status()?;
    ensure!(status.success(), "tar: {status}");
    let root = elsewhere.path().join(name);
    let sums = Command::new("sha256sum")
        .args(["--check", "--quiet", "SHA256SUMS"])
        .current_dir(&root)
        .status()
        .context("sha256sum does not start")?;
    ensure!(sums.success(), "the sums of the archive are wrong");
    let scv = |arguments: &[&str]| -> Result<String> {
        let output = Command::new(root.join("bin/scv"))
            .args(arguments)
            .env_clear()
            .env("SCV_HOME", elsewhere.path().join("home"))
            .env("HOME", elsewhere.path())
            .current_dir(elsewhere.path())
            .output()?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "scv {arguments:?}: {} {stderr}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    print!("{}", scv(&["--version"])?);
    let listed = scv(&["plugins", "list"])?;
    print!("{listed}");
    ensure!(!listed.contains("refused"), "a packed plugin is refused");
    let answer = scv(&["exec", "--private", "--provider", "echo", "hello"])?;
    ensure!(answer.contains("hello"), "the echo provider answers {answer:?}");
    Ok(())
}
