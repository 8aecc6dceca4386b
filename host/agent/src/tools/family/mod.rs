//! All processes of one command, wherever they went, and their end.
//!
//! The shell leads a process group of its own. What leaves the group (`setsid`, a double fork, a
//! daemon) is found on Linux all the same: this process is made the reaper of orphans, so whoever
//! loses its parent becomes its child, and [`kin`] says which children belong to which call.
//!
//! Adopted orphans have to be waited for, or they stay zombies. Only those that [`kin`] gives to a
//! call are, one by one and by pid: a wait for "any child" would take the exit status of a shell
//! from the runtime that waits for it.

mod calls;
mod census;
#[cfg(target_os = "linux")]
mod keeper;
mod kin;

use std::{io, path::Path, process::Stdio, sync::Arc, time::Duration};

use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process_group,
        test_kill_process_group, waitid,
    },
};
use tokio::{
    process::{Child, ChildStdin, Command},
    task::spawn_blocking,
    time::{Instant, sleep, timeout, timeout_at},
};

use self::{
    calls::{Calls, Entry},
    kin::{Me, Process, Running},
};
use crate::limits::{KILL_GRACE_MS, MAX_POLL_MS, MIN_POLL_MS, TEND_MS, TERM_GRACE_MS};

#[cfg(target_os = "linux")]
pub use keeper::run_keeper;

const SHELL: &str = "bash";
/// The variable that marks the processes of a call.
const MARK_VARIABLE: &str = "SCV_CALL_ID";

/// The processes of one command. Dropping it kills what is left.
#[derive(Debug)]
pub(super) struct Family {
    members: Arc<Members>,
    /// Closed by the end of this process, whatever it is; none without a keeper.
    _lifeline: Option<ChildStdin>,
    ended: bool,
}

/// The members that one look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    /// They live, or will be orphans only when their parent's end is through.
    living: usize,
    /// They have ended, and were waited for unless that is another's work.
    ended: usize,
}

impl Seen {
    const NOBODY: Self = Self { living: 0, ended: 0 };
}

/// The command's processes could not be ended in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survivors(pub(super) usize);

#[derive(Debug)]
struct Members {
    group: Pid,
    entry: Entry,
}

impl Family {
    /// A shell without input, below the keeper where there is one.
    pub(super) fn shell(keeper: Option<&Path>) -> Command {
        #[cfg(target_os = "linux")]
        if let Some(keeper) = keeper {
            let mut command = Command::new(keeper);
            command.arg0("scv-keeper").args([keeper::WORD, SHELL]).stdin(Stdio::piped());
            return command;
        }
        let _ = keeper;
        let mut command = Command::new(SHELL);
        command.stdin(Stdio::null());
        command
    }

    /// Starts a command as the leader of a group of its own, marked with a name that no other
    /// call has.
    pub(super) fn start(command: &mut Command, mark: String) -> io::Result<(Child, Self)> {
        adopt_orphans();
        command.env(MARK_VARIABLE, &mark).process_group(0);
        let mut calls = Calls::lock();
        let mut child = command.spawn()?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        // A child that was not waited for has a pid, even when it has ended.
        let (leader, group) = leader
            .and_then(|leader| Some((leader, Pid::from_raw(leader)?)))
            .ok_or(io::ErrorKind::NotFound)?;
        let birth = census::process(leader).map_or(0, |process| process.birth);
        let entry = calls.enter(Running { leader, birth, mark });
        let members = Arc::new(Members { group, entry });
        let _lifeline = child.stdin.take();
        Ok((child, Self { members, _lifeline, ended: false }))
    }

    /// Waits for orphans that have ended, until it is dropped: a long command with many of them
    /// must not use up the machine's pids.
    pub(super) async fn tend(&self) -> std::convert::Infallible {
        loop {
            sleep(Duration::from_millis(TEND_MS)).await;
            if matches!(children(), Ok(Children::SomeEnded)) {
                self.round(None).await;
            }
        }
    }

    /// Asks all processes to end, kills those that do not within two seconds, and again those
    /// that came up meanwhile, for three seconds more.
    pub(super) async fn end(mut self, leader: &mut Child) -> Result<(), Survivors> {
        let result = self.ask_then_kill(leader).await;
        self.ended = true;
        result
    }

    async fn ask_then_kill(&self, leader: &mut Child) -> Result<(), Survivors> {
        let is_reaped = leader.id().is_none();
        if is_reaped && matches!(children(), Err(Errno::CHILD)) && !self.members.group_is_alive() {
            return Ok(());
        }
        if self.are_gone(Some(Signal::TERM)).await {
            return Ok(());
        }
        let asked = Duration::from_millis(TERM_GRACE_MS);
        // Whoever waits for the shell sees its end first; without that it stays a zombie.
        let gone = async { tokio::join!(leader.wait(), self.until_gone(None)) };
        if timeout(asked, gone).await.is_ok() {
            return Ok(());
        }
        let deadline = Instant::now() + Duration::from_millis(KILL_GRACE_MS);
        let gone = async { tokio::join!(leader.wait(), self.until_gone(Some(Signal::KILL))) };
        match timeout_at(deadline, gone).await {
            Ok(_) => Ok(()),
            Err(_) => match self.round(Some(Signal::KILL)).await.living {
                0 => Ok(()),
                left => Err(Survivors(left)),
            },
        }
    }

    /// A census is no moment: who began and ended while it was taken may be missing from one, but
    /// not from two. Whoever is seen to have ended may have begun another one just before.
    async fn are_gone(&self, signal: Option<Signal>) -> bool {
        self.round(signal).await == Seen::NOBODY && self.round(signal).await == Seen::NOBODY
    }

    async fn until_gone(&self, signal: Option<Signal>) {
        let mut pause = MIN_POLL_MS;
        while !self.are_gone(signal).await {
            sleep(Duration::from_millis(pause)).await;
            pause = (2 * pause).min(MAX_POLL_MS);
        }
    }

    /// Looks at the members once; see [`Members::round`]. Reading /proc takes its time on a
    /// machine with many processes, so it is no work for the runtime.
    async fn round(&self, signal: Option<Signal>) -> Seen {
        let members = Arc::clone(&self.members);
        spawn_blocking(move || members.round(signal)).await.unwrap_or(Seen::NOBODY)
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if !self.ended {
            self.members.round(Some(Signal::KILL));
            self.ended = true;
            // Those that fork faster than one round, and the zombies.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                let members = Arc::clone(&self.members);
                let rest = Self { members, _lifeline: None, ended: true };
                let limit = Duration::from_millis(KILL_GRACE_MS);
                runtime.spawn(async move {
                    let _ = timeout(limit, rest.until_gone(Some(Signal::KILL))).await;
                });
            }
        }
    }
}

impl Members {
    /// Sends a signal to each member that lives, and waits for the orphans among those that have
    /// ended.
    fn round(&self, signal: Option<Signal>) -> Seen {
        let me =
            Me { pid: getpid().as_raw_nonzero().get(), group: getpgrp().as_raw_nonzero().get() };
        let call = self.entry.call();
        let mut census = census::take();
        for process in &mut census {
            if kin::needs_mark(process, me, call) {
                process.mark = census::mark_of(process.pid);
            }
        }
        let calls = Calls::lock();
        let members = kin::kin(&census, me, call, &calls.beside(&self.entry));
        let members: Vec<&Process> = members.into_iter().map(|index| &census[index]).collect();
        // Under the lock, so that no new shell can have got the pid of an orphan that is gone.
        for process in &members {
            if process.is_zombie && process.parent == me.pid && !calls.is_leader(process.pid) {
                reap(process.pid);
            }
        }
        drop(calls);
        if let Some(signal) = signal {
            self.signal(&members, signal);
        }
        if census.is_empty() {
            // Where there is no census, the group is all that is known.
            return Seen { living: usize::from(self.group_is_alive()), ended: 0 };
        }
        let has_ended = |process: &&&Process| process.is_zombie && process.parent == me.pid;
        let ended = members.iter().filter(has_ended).count();
        Seen { living: members.len() - ended, ended }
    }

    fn signal(&self, members: &[&Process], signal: Signal) {
        let group = self.group.as_raw_nonzero().get();
        let living = || members.iter().filter(|process| !process.is_zombie);
        let has_group = living().any(|process| process.group == group);
        // At once, so that no member can fork ahead of the signal. Not when the group is empty:
        // its id may be another's by then.
        if has_group || !cfg!(target_os = "linux") {
            let _ = kill_process_group(self.group, signal);
        }
        for process in living().filter(|process| process.group != group) {
            signal_one(process, signal);
        }
    }

    fn group_is_alive(&self) -> bool {
        test_kill_process_group(self.group).is_ok()
    }
}

/// What this process's children do.
enum Children {
    SomeEnded,
    AllRun,
}

/// Looks without waiting for anybody; fails with `CHILD` when there are none.
fn children() -> rustix::io::Result<Children> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::All, look)?.map_or(Children::AllRun, |_| Children::SomeEnded))
}

/// Waits for a child that has ended.
fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

/// Makes this process the parent of all orphans below it. It does so for all of the process, once
/// and for ever; where it cannot, a call's processes are those of its group and below its shell.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            if let Err(error) = rustix::process::set_child_subreaper(Some(getpid())) {
                tracing::warn!("orphans of commands cannot be found on this system: {error}");
            }
        });
    }
}

/// Signals the process and none that got its pid later.
#[cfg(target_os = "linux")]
fn signal_one(process: &Process, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(process.pid) else {
        return;
    };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    if census::process(process.pid).is_some_and(|now| now.birth == process.birth) {
        let _ = pidfd_send_signal(&handle, signal);
    }
}

/// Never called: without a census nobody is known but the group.
#[cfg(not(target_os = "linux"))]
fn signal_one(_: &Process, _: Signal) {}
