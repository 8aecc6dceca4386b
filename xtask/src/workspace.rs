//! What `cargo metadata` says about this workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::cargo::cargo;

/// The workspace and its members.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    /// Where the workspace's Cargo.toml is.
    #[serde(rename = "workspace_root")]
    pub root: PathBuf,
    /// Where cargo puts what it builds.
    #[serde(rename = "target_directory")]
    pub target: PathBuf,
    /// The members.
    pub packages: Vec<Package>,
}

/// A member of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its Cargo.toml.
    pub manifest_path: PathBuf,
    /// What it names in that file, of every kind.
    pub dependencies: Vec<Dependency>,
    /// What it builds.
    pub targets: Vec<Target>,
}

/// A line of a dependency table.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The package that is depended on.
    pub name: String,
    /// None for a normal dependency.
    pub kind: Option<DependencyKind>,
    /// Whether only a feature brings it in.
    pub optional: bool,
    /// Whether its feature `default` is on.
    pub uses_default_features: bool,
    /// Its other features that are switched on here.
    pub features: Vec<String>,
}

/// The dependency tables beside the normal one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    /// For tests, examples and benches only.
    Dev,
    /// For the build script.
    Build,
}

/// Something that a package builds.
#[derive(Debug, Deserialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Such as `lib`, `cdylib`, `bin`.
    pub kind: Vec<String>,
}

impl Workspace {
    /// Asks cargo about the workspace that this crate belongs to.
    ///
    /// # Errors
    /// When cargo does not run or answers something unexpected.
    pub fn load() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let output = cargo(&root)
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .output()
            .context("cargo does not start")?;
        ensure!(
            output.status.success(),
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        serde_json::from_slice(&output.stdout).context("cargo metadata has another shape")
    }

    /// A package's folder from the root, with `/` between its parts.
    pub fn folder(&self, package: &Package) -> String {
        let folder = package.manifest_path.parent().unwrap_or(&self.root);
        let folder = folder.strip_prefix(&self.root).unwrap_or(folder);
        folder.to_string_lossy().replace('\\', "/")
    }

    /// Whether there is such a package.
    pub fn has(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }
}

impl Package {
    /// Whether it builds a target of this kind.
    pub fn builds(&self, kind: &str) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|k| k == kind))
    }
}
