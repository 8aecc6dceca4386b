//! What can go wrong with accounts, in words that may be shown anywhere.

use std::io;

use crate::{
    AccountArgs, ChannelId, NameError,
    fs::NOT_OURS,
    limits::{MAX_ACCOUNTS_COUNT, MAX_DIR_ENTRIES_COUNT},
};

/// Why an account call failed. The texts are whole sentences, what is wrong
/// and what to do; they hold no path, no name from a file and no content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountsError {
    /// Another process or task changes this account right now.
    #[error("the account is busy; try again in a moment")]
    Busy,
    /// A bridge of this account runs in another process, or has not been stopped.
    #[error("the account is run by another scv already; stop that one first")]
    Running,
    /// No credentials.
    #[error("the account is not signed in; run `scv channels login {0}`")]
    NotSignedIn(AccountArgs),
    /// The workspace cannot be used.
    #[error("the workspace is not an existing folder with an absolute path; choose another one")]
    Workspace,
    /// More than 128 accounts.
    #[error(
        "the channel has more than {MAX_ACCOUNTS_COUNT} accounts; remove some with `scv channels logout {0} --account NAME`"
    )]
    TooMany(ChannelId),
    /// A folder with more files than any use of scv makes.
    #[error("{what} holds more than {MAX_DIR_ENTRIES_COUNT} files; move away what is not scv's")]
    TooManyFiles {
        /// Which folder.
        what: &'static str,
    },
    /// A credentials file whose name is no account name.
    #[error(
        "the channel's accounts folder holds a file whose name is no account name; rename or remove it"
    )]
    BadName,
    /// A name that cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A file that is not what it should be; it is kept as it is.
    #[error(
        "the account's {file} file is damaged ({problem}); repair it, or log out and sign in again"
    )]
    Damaged {
        /// `credentials` or `settings`.
        file: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A sign-in over credentials that may not be replaced.
    #[error("the account is signed in already; run `scv channels logout {0}` first")]
    SignedIn(AccountArgs),
    /// A sign-in as somebody else.
    #[error(
        "this is another bot or owner than the account was signed in with; run `scv channels logout {0}` first"
    )]
    OtherIdentity(AccountArgs),
    /// The saved credentials changed while a sign-in was going on.
    #[error("the saved credentials changed meanwhile; run the sign-in again")]
    Changed,
    /// A channel's old and new folders both exist.
    #[error(
        "the channel has files both where an older release kept them and where they belong now; keep one folder and move the other aside"
    )]
    BothHomes,
    /// A bridge or a sign-in of an older release still uses the old folder.
    #[error(
        "an older release still uses this channel's files; stop it, and this goes on by itself"
    )]
    LegacyBusy,
    /// Something that is not ours to use stands where a file or folder belongs. It is kept.
    #[error("{what} is not a {expected} of yours; move it away, and this goes on by itself")]
    NotOurs {
        /// Which kind of file.
        what: &'static str,
        /// `regular file` or `folder`.
        expected: &'static str,
    },
    /// The file system said no.
    #[error(
        "{what} could not be read or written ({kind}); check the disk and the file modes under SCV_HOME"
    )]
    Io {
        /// Which kind of file.
        what: &'static str,
        /// What the system says, in a word.
        kind: io::ErrorKind,
    },
}

impl AccountsError {
    /// Whether a later try may succeed without anybody doing anything.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Busy)
    }

    pub(crate) fn io(what: What, error: &io::Error) -> Self {
        match error.kind() {
            NOT_OURS => Self::NotOurs { what: what.name(), expected: what.expected() },
            kind => Self::Io { what: what.name(), kind },
        }
    }
}

/// What an operation was about, for error texts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Channels,
    Accounts,
    Folder,
    Account,
    Lock,
    Credentials,
    Settings,
    Legacy,
}

impl What {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Channels => "the channels folder",
            Self::Accounts => "the channel's accounts folder",
            Self::Folder => "a folder of the channel",
            Self::Account => "the account's files",
            Self::Lock => "the account's lock file",
            Self::Credentials => "the account's credentials",
            Self::Settings => "the account's settings",
            Self::Legacy => "what an older release left",
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Channels | Self::Accounts | Self::Folder | Self::Legacy => "folder",
            Self::Account | Self::Lock | Self::Credentials | Self::Settings => "regular file",
        }
    }
}
