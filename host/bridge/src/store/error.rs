//! Why a store cannot be opened or written, in whole sentences that may be shown anywhere.

use std::io;

use crate::fs::NOT_OURS;

/// The files of an account's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// The JSON state.
    Base,
    /// The changes since.
    Journal,
    /// The second de-duplication keys.
    Keys,
    /// The lock under which the others are written.
    Lock,
}

impl std::fmt::Display for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Base => "state file",
            Self::Journal => "state journal",
            Self::Keys => "state key file",
            Self::Lock => "lock file",
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
    #[error(
        "the account's {file} is damaged ({problem}) and kept as it is; restore it from a backup, which is noticed within ten minutes or at once with `scv reload`, or log out and sign in again to start afresh"
    )]
    Damaged {
        /// Which file.
        file: File,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A link, something else than a file, or a file of another user stands there. It is kept.
    #[error(
        "the account's {0} is not a regular file of yours; move it away, which is noticed within ten minutes or at once with `scv reload`"
    )]
    NotOurs(File),
    /// The state belongs to another bot or owner.
    #[error(
        "the account's state belongs to another bot or owner than its credentials; sign in as those, or log out first to start afresh"
    )]
    OtherIdentity,
    /// The files were removed or replaced while they were in use.
    #[error(
        "the account's state files were removed or replaced while it was running; put them back, or log out and sign in again, then run `scv reload`"
    )]
    Gone,
    /// The journal has no room: folding it has failed for long.
    #[error(
        "the account's state journal is full because it could not be folded; make room on the disk under SCV_HOME, and it goes on by itself"
    )]
    Full,
    /// The file system said no.
    #[error(
        "the account's {file} could not be read or written ({kind}); check the disk and the file modes under SCV_HOME, it is tried again by itself"
    )]
    Io {
        /// Which file.
        file: File,
        /// What the system says, in a word.
        kind: io::ErrorKind,
    },
}

impl StoreError {
    pub(super) fn io(file: File) -> impl Fn(io::Error) -> Self {
        move |error| match error.kind() {
            NOT_OURS => Self::NotOurs(file),
            kind => Self::Io { file, kind },
        }
    }

    pub(super) const fn damaged(file: File, problem: &'static str) -> Self {
        Self::Damaged { file, problem }
    }
}
