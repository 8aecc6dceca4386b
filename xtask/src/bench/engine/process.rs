//! What the kernel counts of a process.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

/// CPU time of all threads that run now. A thread that ended is not counted any more, so a
/// difference can be less than what was used; never take it for negative.
pub(in crate::bench) fn cpu(pid: u32) -> Result<Duration> {
    let mut total = Duration::ZERO;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between the two looks.
        if let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) {
            total += nanoseconds(&text)?;
        }
    }
    Ok(total)
}

/// CPU time of this thread.
pub(in crate::bench) fn thread_cpu() -> Result<Duration> {
    nanoseconds(&fs::read_to_string("/proc/thread-self/schedstat")?)
}

/// The first number of `schedstat` is the time on a CPU in ns (Linux 6, 2026-11).
fn nanoseconds(schedstat: &str) -> Result<Duration> {
    let first = schedstat.split_whitespace().next().context("schedstat is empty")?;
    Ok(Duration::from_nanos(first.parse()?))
}

/// Memory that is no file's, in KiB.
pub(super) fn anonymous_kib(pid: u32) -> Result<u64> {
    status_kib(pid, "RssAnon:")
}

/// All memory at its highest since [`forget_peak`], in KiB.
pub(super) fn peak_kib(pid: u32) -> Result<u64> {
    status_kib(pid, "VmHWM:")
}

/// Starts the peak anew, where this user may, and gives the memory now, in KiB.
pub(super) fn forget_peak(pid: u32) -> Result<u64> {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    status_kib(pid, "VmRSS:")
}

/// A field of `/proc/PID/status`, in KiB.
pub(in crate::bench) fn status_kib(pid: u32, field: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.with_context(|| format!("the kernel tells no {field}"))?.parse()?)
}
