//! Where plugins are looked for, in order.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// What decides where plugins are looked for.
#[derive(Debug, Clone, Default)]
pub struct SearchOptions {
    /// Each `--plugin-dir`, in order.
    pub cli_dirs: Vec<PathBuf>,
    /// The value of `SCV_PLUGIN_DIR`: folders with colons between them.
    pub env: Option<OsString>,
    /// `plugins.dirs` of the configuration.
    pub config_dirs: Vec<PathBuf>,
    /// The home: its `plugins` folder is searched, where only what a person has added counts.
    pub home: Option<PathBuf>,
    /// The running executable, with links resolved.
    pub exe: Option<PathBuf>,
}

/// The folders that are searched, the first one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPath {
    dirs: Vec<PathBuf>,
    home: Option<PathBuf>,
}

impl SearchPath {
    /// Puts the folders in order and leaves out repetitions. Touches no file.
    #[must_use]
    pub fn resolve(options: SearchOptions) -> Self {
        let mut path = Self { home: options.home.clone(), ..Self::default() };
        let from_env = options.env.iter().flat_map(env::split_paths);
        let beside_exe = options.exe.as_deref().and_then(Path::parent);
        options
            .cli_dirs
            .iter()
            .cloned()
            .chain(from_env)
            .chain(options.config_dirs.iter().cloned())
            .chain(options.home.map(|home| home.join("plugins")))
            .chain(beside_exe.map(|dir| dir.join("plugins")))
            .chain(beside_exe.and_then(Path::parent).map(|dir| dir.join("lib/scv/plugins")))
            .filter(|dir| !dir.as_os_str().is_empty())
            .for_each(|dir| path.push(dir));
        path
    }

    /// The folders, the first one first; they need not exist.
    #[must_use]
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The home, whose file of pins counts for all plugins.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether this is the folder in which only pinned files are loaded.
    pub(crate) fn needs_pins(&self, dir: &Path) -> bool {
        let Some(own) = self.home.as_ref().map(|home| home.join("plugins")) else {
            return false;
        };
        let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        resolved(&own) == resolved(dir)
    }

    fn push(&mut self, dir: PathBuf) {
        if !self.dirs.contains(&dir) {
            self.dirs.push(dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_flags_environment_configuration_home_build_installation() {
        let path = SearchPath::resolve(SearchOptions {
            cli_dirs: vec!["/a".into(), "/b".into()],
            env: Some("/c::/a:/d".into()),
            config_dirs: vec!["/e".into()],
            home: Some("/h".into()),
            exe: Some("/opt/bin/scv".into()),
        });
        let dirs: Vec<_> = path.dirs().iter().map(|dir| dir.to_str().unwrap()).collect();
        assert_eq!(
            dirs,
            [
                "/a",
                "/b",
                "/c",
                "/d",
                "/e",
                "/h/plugins",
                "/opt/bin/plugins",
                "/opt/lib/scv/plugins"
            ]
        );
    }

    #[test]
    fn nothing_given_searches_nothing() {
        assert!(SearchPath::resolve(SearchOptions::default()).dirs().is_empty());
    }
}
