//! How long to wait before the next try. Pure.

use crate::limits::{
    COMMIT_RETRY_MAX_MS, RETRY_FIRST_MS, RETRY_MAX_MS, SLOW_FIRST_MS, SLOW_MAX_MS,
};

/// Waits that double from a first to a longest one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    first_ms: u64,
    longest_ms: u64,
    next_ms: u64,
}

impl Backoff {
    /// For whatever failed: 1 to 60 seconds.
    pub const fn retry() -> Self {
        Self::new(RETRY_FIRST_MS, RETRY_MAX_MS)
    }

    /// For commits: 1 to 30 seconds.
    pub const fn commit() -> Self {
        Self::new(RETRY_FIRST_MS, COMMIT_RETRY_MAX_MS)
    }

    /// For what a person must mend, as refused credentials: 30 seconds to 10 minutes.
    pub const fn slow() -> Self {
        Self::new(SLOW_FIRST_MS, SLOW_MAX_MS)
    }

    const fn new(first_ms: u64, longest_ms: u64) -> Self {
        Self { first_ms, longest_ms, next_ms: first_ms }
    }

    /// The wait before the next try, in milliseconds.
    pub fn next_ms(&mut self) -> u64 {
        let wait_ms = self.next_ms;
        self.next_ms = (wait_ms * 2).min(self.longest_ms);
        wait_ms
    }

    /// Forgets earlier failures.
    pub const fn reset(&mut self) {
        self.next_ms = self.first_ms;
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::retry()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(backoff: &mut Backoff, count: usize) -> Vec<u64> {
        (0..count).map(|_| backoff.next_ms() / 1_000).collect()
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut retry = Backoff::retry();
        assert_eq!(seconds(&mut retry, 8), [1, 2, 4, 8, 16, 32, 60, 60]);
        retry.reset();
        assert_eq!(seconds(&mut retry, 2), [1, 2]);
        assert_eq!(seconds(&mut Backoff::commit(), 7), [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(seconds(&mut Backoff::slow(), 7), [30, 60, 120, 240, 480, 600, 600]);
    }
}
