//! The keeper of a command: this program once more, between the daemon and the shell.
//!
//! A daemon that is killed with KILL ends nothing itself. The keeper does: it is the reaper of all
//! that its command begins, and when the pipe that is its stdin closes, whose other end nobody but
//! the daemon has, it kills all of them. It lives until the last of them is gone.

use std::{
    ffi::OsString,
    io,
    os::fd::AsFd,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use rustix::process::{Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};
use tokio::{
    io::sink,
    net::unix::pipe,
    runtime,
    signal::unix::{self, SignalKind, signal},
    time::{Instant, sleep},
};

use super::{census, kin, signal_one};
use crate::limits::{MAX_POLL_MS, TERM_GRACE_MS};

/// The hidden command of the program.
pub(super) const WORD: &str = "__keep-command";
/// What shells answer for a program that is not there.
const NOT_FOUND: u8 = 127;
/// What shells add to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// Runs the keeper when these are its arguments; none when they are a person's.
///
/// A program whose [`ToolsConfig::keeper`](crate::config::ToolsConfig::keeper) is itself calls this
/// before anything else.
#[must_use]
pub fn run_keeper(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != WORD {
        return None;
    }
    let mut command = Command::new(arguments.next()?);
    command.args(arguments).stdin(Stdio::null());
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let code = runtime.and_then(|runtime| runtime.block_on(keep(&mut command)));
    Some(code.unwrap_or_else(|_| {
        eprintln!("the shell could not be started; check that bash is installed");
        ExitCode::from(NOT_FOUND)
    }))
}

/// Runs the shell, waits for everybody below, and ends as the shell did.
async fn keep(command: &mut Command) -> io::Result<ExitCode> {
    set_child_subreaper(Some(getpid()))?;
    let _outlived = outlive_signals()?;
    let mut child_ended = signal(SignalKind::child())?;
    let lifeline = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let daemon_gone = until_closed(lifeline);
    tokio::pin!(daemon_gone);
    let shell = command.spawn()?.id();
    let mut code = None;
    // From when on whoever is left is killed.
    let mut kill_at: Option<Instant> = None;
    let mut is_orphan = false;
    loop {
        match reap_all(shell) {
            Reaped::Shell(status) => {
                code = Some(code_of(status));
                continue;
            }
            Reaped::Nobody if code.is_some() && kill_at.is_none() => {
                signal_all(Signal::TERM);
                kill_at = Some(Instant::now() + Duration::from_millis(TERM_GRACE_MS));
            }
            Reaped::Nobody => {}
            Reaped::Last => return Ok(code.unwrap_or(ExitCode::FAILURE)),
        }
        if kill_at.is_some_and(|at| at <= Instant::now()) {
            signal_all(Signal::KILL);
        }
        tokio::select! {
            _ = child_ended.recv() => {}
            () = &mut daemon_gone, if !is_orphan => {
                is_orphan = true;
                kill_at = Some(Instant::now());
            }
            () = sleep(Duration::from_millis(MAX_POLL_MS)), if kill_at.is_some() => {}
        }
    }
}

/// A signal that is meant for the command's group comes here, too, and must not end the keeper
/// before the others. What it starts gets the default handling, unlike with ignored signals.
fn outlive_signals() -> io::Result<Vec<unix::Signal>> {
    let kinds = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::alarm(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
    ];
    kinds.into_iter().map(signal).collect()
}

/// Waits for the end of the daemon: nobody else has the other end, and nothing is written to it.
async fn until_closed(mut lifeline: pipe::Receiver) {
    let _ = tokio::io::copy(&mut lifeline, &mut sink()).await;
}

enum Reaped {
    /// The shell has ended; others may be there.
    Shell(WaitStatus),
    Nobody,
    /// Nobody is left.
    Last,
}

/// Waits for those that have ended, up to the shell if it is among them.
fn reap_all(shell: u32) -> Reaped {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == shell => {
                return Reaped::Shell(status);
            }
            Ok(Some(_)) => {}
            Ok(None) => return Reaped::Nobody,
            Err(_) => return Reaped::Last,
        }
    }
}

fn signal_all(signal: Signal) {
    let census = census::take();
    let below = kin::below(&census, getpid().as_raw_nonzero().get());
    for process in below.into_iter().map(|index| &census[index]).filter(|one| !one.is_zombie) {
        signal_one(process, signal);
    }
}

fn code_of(status: WaitStatus) -> ExitCode {
    let signalled = status.terminating_signal().map(|signal| SIGNALLED + signal);
    let code = status.exit_status().or(signalled);
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
