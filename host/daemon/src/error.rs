//! Why the daemon could not start or go on.

use std::{io, path::PathBuf};

use crate::limits::MAX_SOCKET_PATH_BYTES;

/// Why the daemon could not start or go on. Read by the person at the terminal only.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The home folder cannot be trusted.
    #[error("the home {} {reason}; {fix}", path.display())]
    Home {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        reason: &'static str,
        /// What to do.
        fix: String,
    },
    /// A folder above the home cannot be trusted.
    #[error("{}, above the home, {reason}; {fix}", path.display())]
    AboveHome {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        reason: &'static str,
        /// What to do.
        fix: String,
    },
    /// Another daemon serves this home.
    #[error("another scv daemon{} serves this home already; stop it first, or choose another home with --scv-home", owner(*pid))]
    AlreadyRunning {
        /// Its process, when it has written it down yet.
        pid: Option<u32>,
    },
    /// The socket's path does not fit.
    #[error(
        "the socket's path would have {length} bytes and a Unix socket takes {MAX_SOCKET_PATH_BYTES} at most; choose a shorter home with --scv-home"
    )]
    SocketPath {
        /// In bytes.
        length: usize,
    },
    /// Something else stands where the socket belongs.
    #[error("{} exists and is not a socket; move it away", path.display())]
    SocketTaken {
        /// The place.
        path: PathBuf,
    },
    /// The workspace cannot be used.
    #[error("the workspace {} is not a folder that can be opened; name another with --workspace", path.display())]
    Workspace {
        /// The folder.
        path: PathBuf,
    },
    /// There is a configuration file already.
    #[error("{} exists already and is left as it is; edit it, or move it away first", path.display())]
    ConfigExists {
        /// The file.
        path: PathBuf,
    },
    /// The agent does not accept the configuration.
    #[error("{0}")]
    Agent(String),
    /// The operating system refused.
    #[error("{action} failed")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

fn owner(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

impl DaemonError {
    /// Names what was tried when an operation of the system failed.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
