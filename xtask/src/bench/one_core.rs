//! Hops between threads and processes, measured on one core.
//!
//! To wake a halted core costs 5 µs or 60, by the machine below this one (a virtual one, 2026-12),
//! and which of two threads meets that is chance: free to run anywhere, the same round trip took
//! 9 µs and 67, and no ratio was the same twice. On one core each switch costs the same.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// While it lives, this thread and what it starts (threads, programs) share one core.
pub(super) struct OneCore(CpuSet);

impl OneCore {
    /// The last of those that it may use: the first has most of the machine's interrupts.
    pub(super) fn enter() -> io::Result<Self> {
        let all = sched_getaffinity(None)?;
        let mut one = CpuSet::new();
        if let Some(core) = (0..CpuSet::MAX_CPU).rev().find(|core| all.is_set(*core)) {
            one.set(core);
        }
        sched_setaffinity(None, &one)?;
        Ok(Self(all))
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        // What it could do before, it can do again.
        let _ = sched_setaffinity(None, &self.0);
    }
}
