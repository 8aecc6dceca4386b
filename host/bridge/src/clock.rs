//! The wall clock, as something that a test can set.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time of day. Durations are measured by tokio's clock, never by this one.
pub trait Clock: Send + Sync {
    /// Unix time in milliseconds.
    fn unix_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
    }
}
