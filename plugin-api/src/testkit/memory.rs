//! How much memory this process needs.

use std::fs;

/// Forgets the peak so far and answers what is needed now, in bytes; nothing where the system
/// does not take part.
pub(super) fn begin() -> Option<u64> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    field("VmRSS:")
}

/// The most that was needed since then, in bytes.
pub(super) fn most() -> Option<u64> {
    field("VmHWM:")
}

fn field(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}
