//! How the command ends: what scripts read from its status.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for is done.
    Done,
    /// It failed.
    Failed,
    /// The command line, or the configuration that it names, makes no sense.
    Usage,
    /// The turn ended, but a tool call was denied.
    Denied,
    /// The turn reached a limit.
    Limit,
    /// The provider failed.
    Provider,
    /// A daemon was demanded and none runs.
    NoDaemon,
    /// The person gave up.
    Cancelled,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Denied => 3,
            Exit::Limit => 4,
            Exit::Provider => 5,
            Exit::NoDaemon => 6,
            Exit::Cancelled => 130,
        })
    }
}

/// An error whose status is not 1.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Refused {
    exit: Exit,
    text: String,
}

/// The command line makes no sense.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    refused(Exit::Usage, text)
}

/// An error that ends the command with a status of its own.
pub(crate) fn refused(exit: Exit, text: impl Into<String>) -> anyhow::Error {
    let text = text.into();
    Refused { exit, text }.into()
}

/// The status of an error.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<Refused>().map_or(Exit::Failed, |refused| refused.exit)
}
