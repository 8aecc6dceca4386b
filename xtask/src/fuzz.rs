//! `cargo xtask fuzz NAME`: drives one fuzz target of `xtask/fuzz`, a workspace of its own.

use anyhow::{Context, Result};

use crate::{cargo::cargo, workspace::Workspace};

/// Builds the targets and runs one for that long; gives whether nothing was found. Without a
/// name that exists, the driver says which there are.
///
/// # Errors
/// When cargo does not start.
pub fn run(workspace: &Workspace, name: &str, seconds: u64) -> Result<bool> {
    let status = cargo(&workspace.root)
        .args(["run", "--quiet", "--release"])
        .args(["--manifest-path", "xtask/fuzz/Cargo.toml", "--"])
        .args([name, &seconds.to_string()])
        .status()
        .context("cargo does not start")?;
    Ok(status.success())
}
