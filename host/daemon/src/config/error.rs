//! Why the configuration cannot be used.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why the configuration cannot be used. Names files and keys, never a value.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that was named is not there.
    #[error("the configuration file {} does not exist; name another with --config", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("the configuration file {} cannot be read; check the file, or name another with --config", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A key is unknown, or its value of another kind.
    #[error("{}:{line}: {problem}", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// Others can read a file that holds keys.
    #[error("{} holds keys and has mode {mode:04o}; run `chmod 600 {}`", path.display(), path.display())]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Values that cannot stand together, or alone.
    #[error("the configuration is wrong: {problem}")]
    Value {
        /// What is wrong, with the keys' names.
        problem: String,
    },
}

impl ConfigError {
    /// The same with paths from this folder on, for those who know the folder by another name.
    pub(crate) fn seen_from(mut self, folder: &Path) -> Self {
        if let Self::Read { path, .. } | Self::Place { path, .. } | Self::Readable { path, .. } =
            &mut self
            && let Ok(rest) = path.strip_prefix(folder)
        {
            *path = rest.to_owned();
        }
        self
    }
}
