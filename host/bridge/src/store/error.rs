//! Why a store cannot be opened or written, in words that may be shown anywhere.

use std::io;

/// The files of an account's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// The JSON state.
    Base,
    /// The changes since.
    Journal,
    /// The second de-duplication keys.
    Keys,
}

impl std::fmt::Display for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Base => "state file",
            Self::Journal => "state journal",
            Self::Keys => "state key file",
        })
    }
}

/// Why a store call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process changes this account right now.
    #[error("the account's state is busy; it is tried again by itself")]
    Busy,
    /// A file is not what it should be. It is kept as it is.
    #[error("the account's {file} is damaged ({problem}); the file is kept")]
    Damaged {
        /// Which file.
        file: File,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The state belongs to another bot or owner.
    #[error("the account's state belongs to another bot or owner than its credentials")]
    OtherIdentity,
    /// The files were removed or replaced while they were in use.
    #[error("the account's state files were removed or replaced while it was running")]
    Gone,
    /// The journal has no room: folding it has failed for long.
    #[error("the account's state journal is full because it could not be folded")]
    Full,
    /// The file system said no.
    #[error("the account's {file} could not be read or written ({kind})")]
    Io {
        /// Which file.
        file: File,
        /// What the system says, in a word.
        kind: io::ErrorKind,
    },
}

impl StoreError {
    pub(super) fn io(file: File) -> impl Fn(io::Error) -> Self {
        move |error| Self::Io { file, kind: error.kind() }
    }

    pub(super) const fn damaged(file: File, problem: &'static str) -> Self {
        Self::Damaged { file, problem }
    }
}
