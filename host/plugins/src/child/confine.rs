//! What a child gives up before any code of a plugin runs.

use std::{
    fs,
    io::{self, Error, ErrorKind},
    os::unix::net::UnixStream,
};

use rustix::{
    fs::{FileType, fstat},
    io::fcntl_dupfd_cloexec,
    process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit},
    stdio::{dup2_stdin, dup2_stdout, stderr, stdin},
};

use crate::limits::{CHILD_FILES_COUNT, CHILD_MEMORY_BYTES, CHILD_PROCESSES_COUNT};

/// Takes the host's socket from stdin, and leaves there and on stdout what cannot disturb: a
/// plugin that prints must not write into the frames.
pub(super) fn take_socket() -> io::Result<UnixStream> {
    if !FileType::from_raw_mode(fstat(stdin())?.st_mode).is_socket() {
        return Err(Error::new(ErrorKind::InvalidInput, "stdin is no socket"));
    }
    // Closed on exec, so that no program which the plugin starts can hold it open.
    let socket = fcntl_dupfd_cloexec(stdin(), 3)?;
    dup2_stdin(fs::File::open("/dev/null")?)?;
    dup2_stdout(stderr())?;
    Ok(socket.into())
}

/// Dies with the host, leaves no core (it would hold credentials), and gets memory, files and
/// processes within bounds.
pub(super) fn limit() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    lower(Resource::Core, 0)?;
    lower(Resource::As, CHILD_MEMORY_BYTES)?;
    lower(Resource::Nofile, CHILD_FILES_COUNT)?;
    // The system counts all processes of the user, not only those of this child. It does not
    // count those of root.
    lower(Resource::Nproc, running_tasks() + CHILD_PROCESSES_COUNT)
}

fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let limit = now.maximum.map_or(to, |maximum| maximum.min(to));
    Ok(setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?)
}

/// Tasks of everybody, from `0.20 0.18 0.12 1/80 11206`; at least as many as this user's.
fn running_tasks() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = text.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
    tasks.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}
