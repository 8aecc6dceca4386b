//! A person's machine in a temporary folder: home, workspace, plugins.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::Built;
use crate::place;

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
    scv: PathBuf,
}

impl Home {
    /// An empty home, a workspace, and copies of the built plugins in a folder that nobody
    /// else can write to.
    ///
    /// # Errors
    /// When the folders cannot be made.
    pub fn new(built: &Built) -> Result<Self> {
        let home =
            Self { root: tempfile::Builder::new().prefix("scv-").tempdir()?, scv: built.scv() };
        let mut private = DirBuilder::new();
        private.mode(0o700);
        for folder in [home.user(), home.workspace(), home.plugins()] {
            private.create(folder)?;
        }
        let plugins = built.plugins();
        let entries = fs::read_dir(plugins)
            .with_context(|| format!("no plugins in {}", plugins.display()))?;
        for entry in entries {
            home.add_plugin(&entry?.path())?;
        }
        Ok(home)
    }

    /// The same with the program in a folder of its own, as after an installation: a daemon that
    /// runs where it was built also finds the plugins that were built beside it.
    ///
    /// # Errors
    /// As [`Home::new`].
    pub fn installed(built: &Built) -> Result<Self> {
        let mut home = Self::new(built)?;
        let folder = home.root.path().join("bin");
        place::folder(&folder)?;
        home.scv = place::file(&built.scv(), &folder, 0o755)?;
        Ok(home)
    }

    /// Copies one more plugin into the folder of plugins.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn add_plugin(&self, library: &Path) -> Result<PathBuf> {
        place::file(library, &self.plugins(), 0o600)
    }

    /// A new private folder with a copy of this library in it, and nothing else.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn folder_with(&self, library: &Path) -> Result<PathBuf> {
        let folder = self.root.path().join(library.file_stem().unwrap_or_default());
        place::folder(&folder)?;
        place::file(library, &folder, 0o600)?;
        Ok(folder)
    }

    /// `SCV_HOME`. The daemon makes it.
    pub fn scv_home(&self) -> PathBuf {
        self.root.path().join("scv")
    }

    /// `HOME`.
    pub fn user(&self) -> PathBuf {
        self.root.path().join("user")
    }

    /// The daemon's workspace.
    pub fn workspace(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The folder of plugins.
    pub fn plugins(&self) -> PathBuf {
        self.root.path().join("plugins")
    }

    /// The daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.scv_home().join("server.sock")
    }

    /// What every daemon on this home has written to stderr.
    pub fn log(&self) -> PathBuf {
        self.root.path().join("daemon.log")
    }

    /// `scv` with this home and with nothing else of this process's environment: no key of the
    /// person who runs the tests can be used.
    pub fn command(&self, program: &Path) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(program);
        command
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"))
            .env("HOME", self.user())
            .env("SCV_HOME", self.scv_home())
            .env("LANG", "C.UTF-8")
            .current_dir(self.workspace())
            .kill_on_drop(true);
        command
    }

    /// The built program.
    pub fn program(&self) -> &Path {
        &self.scv
    }
}
