//! A child process: started, waited for and killed with everything that it started.

use std::{
    env, fmt, io,
    os::unix::{
        net::UnixStream,
        process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::{oneshot, watch};

use super::Purpose;

/// What a plugin may need of the daemon's environment. Keys of providers are not among it.
const ENVIRONMENT: [&str; 9] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
];

/// A running child, and its end. Clones are the same child.
#[derive(Clone)]
pub(crate) struct Process {
    state: Arc<Mutex<State>>,
    ended: watch::Receiver<Option<Ended>>,
}

#[derive(Default)]
struct State {
    /// None once it was reaped: the number may be another process's then.
    pid: Option<Pid>,
    /// Why it was killed, if it was.
    why: Option<String>,
}

/// How a child ended: `signal 6 (SIGABRT)`, `status 3`, or why it was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended(String);

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Process {
    /// Starts `helper` with one end of a socket as its stdin; gives the other end.
    ///
    /// The child is killed by the system when the thread that made it ends. So each child has a
    /// thread of its own, which waits for it.
    pub(super) async fn start(
        helper: &Path,
        purpose: Purpose,
        copy: &Path,
    ) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = command(helper, purpose, copy, theirs);
        let (tell, told) = oneshot::channel();
        let (ending, ended) = watch::channel(None);
        thread::Builder::new().name("plugin-child".into()).spawn(move || {
            match command.spawn() {
                Ok(child) => {
                    // The command holds the child's end of the socket.
                    drop(command);
                    let state = Arc::new(Mutex::new(State { pid: pid(&child), why: None }));
                    let _ = tell.send(Ok(Arc::clone(&state)));
                    ending.send_replace(Some(wait(child, &state)));
                }
                Err(error) => drop(tell.send(Err(error))),
            }
        })?;
        let state = told.await.map_err(io::Error::other)??;
        Ok((Self { state, ended }, ours))
    }

    /// Kills it and all that it started and that is still in its group.
    pub(crate) fn kill(&self, why: impl Into<String>) {
        let mut state = lock(&self.state);
        if let Some(pid) = state.pid {
            state.why.get_or_insert(why.into());
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.clone().unwrap_or_else(unknown),
            Err(_) => unknown(),
        }
    }
}

fn unknown() -> Ended {
    Ended("for an unknown reason".into())
}

fn command(helper: &Path, purpose: Purpose, copy: &Path, socket: UnixStream) -> Command {
    let mut command = Command::new(helper);
    let known = |name: &&str| env::var_os(name).map(|value| ((*name).to_owned(), value));
    command
        .arg(purpose.word())
        .arg(copy)
        .env_clear()
        .envs(ENVIRONMENT.iter().filter_map(known))
        .current_dir("/")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(socket)))
        .stdout(Stdio::null())
        // A group of its own: Ctrl+C is for the daemon, which ends the child in its time.
        .process_group(0);
    command
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(child.id().try_into().ok()?)
}

/// Waits for a child, then ends what it left behind. Until it is reaped nobody else can have
/// its number, so the group is its own.
fn wait(mut child: Child, state: &Mutex<State>) -> Ended {
    if let Some(pid) = pid(&child) {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), look).is_err_and(|error| error == rustix::io::Errno::INTR) {}
    }
    let mut state = lock(state);
    if let Some(pid) = state.pid.take() {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let status = child.wait();
    match (state.why.take(), status) {
        (Some(why), _) => Ended(why),
        (None, Ok(status)) => Ended(how(status)),
        (None, Err(_)) => unknown(),
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => match name(signal) {
            Some(name) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        },
        (None, Some(code)) => format!("status {code}"),
        (None, None) => "an unknown status".into(),
    }
}

fn name(signal: i32) -> Option<&'static str> {
    let known = [
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::ILL, "SIGILL"),
        (Signal::INT, "SIGINT"),
        (Signal::KILL, "SIGKILL"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::SYS, "SIGSYS"),
        (Signal::TERM, "SIGTERM"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::XCPU, "SIGXCPU"),
    ];
    known.iter().find(|(known, _)| known.as_raw() == signal).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_by_its_signal_or_its_status() {
        assert_eq!(how(ExitStatus::from_raw(7)), "signal 7 (SIGBUS)");
        assert_eq!(how(ExitStatus::from_raw(64)), "signal 64");
        assert_eq!(how(ExitStatus::from_raw(3 << 8)), "status 3");
    }
}
