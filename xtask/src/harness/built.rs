//! The built program and plugins: built once for each run of the tests, then only found.

use std::{
    env,
    fs::File,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, Result, ensure};
use rustix::fs::{FlockOperation, flock};

use crate::{
    cargo::{self, Profile},
    plugins,
    workspace::Workspace,
};

/// Names the folder where `cargo xtask test` has built everything already.
pub const TEST_BIN_DIR: &str = "SCV_TEST_BIN_DIR";

/// Built for tests beside the program, where they exist in the workspace.
const FOR_TESTS: [&str; 2] = ["scv-channel-fixture", "scv-e2e"];

/// Where the built things are.
#[derive(Debug, Clone)]
pub struct Built {
    folder: PathBuf,
    plugins: PathBuf,
}

impl Built {
    /// What the tests of this process drive.
    ///
    /// Under `cargo xtask test` everything is built and this only looks. Under plain
    /// `cargo test` it builds, once a process and one process after the other: a second one
    /// finds all of it fresh.
    ///
    /// # Panics
    /// When it does not build: no test could say anything then.
    pub fn get() -> &'static Self {
        static BUILT: OnceLock<Built> = OnceLock::new();
        BUILT.get_or_init(|| match Self::find_or_build() {
            Ok(built) => built,
            Err(error) => panic!("scv cannot be tested: {error:#}"),
        })
    }

    /// Builds the program, and each plugin by itself.
    ///
    /// # Errors
    /// When something does not build.
    pub fn build(workspace: &Workspace, profile: &Profile) -> Result<Self> {
        eprintln!("xtask: building scv");
        let program = cargo::build(&workspace.root, "scv", profile)?
            .into_iter()
            .find(|artifact| artifact.kind == "bin" && artifact.name == "scv")
            .context("the package scv built no program of that name")?;
        plugins::build(workspace, profile)?;
        Ok(Self::in_folder(program.file.parent().unwrap_or(Path::new(""))))
    }

    /// The same, and what tests need beside them.
    ///
    /// # Errors
    /// When something does not build.
    pub fn build_for_tests(workspace: &Workspace, profile: &Profile) -> Result<Self> {
        Self::build_with(workspace, profile, FOR_TESTS)
    }

    /// The program, the plugins, and these packages, those of them that the workspace has.
    ///
    /// # Errors
    /// When something does not build.
    pub fn build_with<'a>(
        workspace: &Workspace,
        profile: &Profile,
        packages: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self> {
        let built = Self::build(workspace, profile)?;
        for package in packages.into_iter().filter(|name| workspace.has(name)) {
            eprintln!("xtask: building {package}");
            cargo::build(&workspace.root, package, profile)?;
        }
        Ok(built)
    }

    /// The same program with the plugins of another profile.
    ///
    /// # Errors
    /// When one does not build.
    pub fn with_plugins(&self, workspace: &Workspace, profile: &Profile) -> Result<Self> {
        let placed = plugins::build(workspace, profile)?;
        let folder = placed.first().and_then(|file| file.parent());
        let plugins = folder.context("there are no plugins")?.to_owned();
        Ok(Self { folder: self.folder.clone(), plugins })
    }

    fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), plugins: folder.join("plugins") }
    }

    fn find_or_build() -> Result<Self> {
        if let Some(folder) = env::var_os(TEST_BIN_DIR) {
            let built = Self::in_folder(Path::new(&folder));
            let program = built.scv();
            ensure!(
                program.is_file(),
                "{TEST_BIN_DIR} is set and {} is missing; unset it or run `cargo xtask test`",
                program.display()
            );
            return Ok(built);
        }
        let workspace = Workspace::load()?;
        std::fs::create_dir_all(&workspace.target)?;
        let lock = File::create(workspace.target.join("scv-tests.lock"))?;
        // Held until the file is dropped: a copy must not meet another process's link step.
        flock(&lock, FlockOperation::LockExclusive)?;
        Self::build_for_tests(&workspace, &Profile::dev())
    }

    /// The folder of everything.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The program.
    pub fn scv(&self) -> PathBuf {
        self.folder.join("scv")
    }

    /// A program that was built for tests.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder of the real plugins.
    pub fn plugins(&self) -> &Path {
        &self.plugins
    }

    /// A shared library that is no plugin for people, such as the fixture of the loader's tests.
    pub fn library(&self, name: &str) -> PathBuf {
        self.folder.join(format!("lib{name}.so"))
    }
}
