//! How long to wait before the next try. Pure.

use std::time::Duration;

use crate::limits::{
    BACKOFF_MAX_MS, BACKOFF_MIN_MS, HEALTHY_RUN_MS, SIGNED_OUT_MAX_MS, SIGNED_OUT_MIN_MS,
};

/// Waits that double from a first to a longest one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// For an account that failed.
    pub(super) const fn restart() -> Self {
        Self::new(BACKOFF_MIN_MS, BACKOFF_MAX_MS)
    }

    /// For an account that is signed out.
    pub(super) const fn signed_out() -> Self {
        Self::new(SIGNED_OUT_MIN_MS, SIGNED_OUT_MAX_MS)
    }

    const fn new(first_ms: u64, longest_ms: u64) -> Self {
        let first = Duration::from_millis(first_ms);
        Self { first, longest: Duration::from_millis(longest_ms), next: first }
    }

    /// The wait before the next try.
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.longest);
        wait
    }

    /// Forgets earlier failures.
    pub(super) const fn reset(&mut self) {
        self.next = self.first;
    }

    /// Forgets earlier failures after a run that was well for a while. One that was in
    /// contact for a moment only does not count: it may be failing in a circle.
    pub(super) const fn after_run(&mut self, lasted: Duration, had_contact: bool) {
        if had_contact && lasted.as_millis() >= HEALTHY_RUN_MS as u128 {
            self.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(backoff: &mut Backoff, count: usize) -> Vec<u64> {
        (0..count).map(|_| backoff.next().as_secs()).collect()
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits = seconds(&mut Backoff::restart(), 8);
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        let waits = seconds(&mut Backoff::signed_out(), 7);
        assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600]);
    }

    #[test]
    fn only_a_long_run_with_contact_forgets() {
        let minute = Duration::from_secs(60);
        for (lasted, contact, next) in
            [(minute, true, 1), (minute, false, 8), (minute - Duration::from_millis(1), true, 8)]
        {
            let mut backoff = Backoff::restart();
            seconds(&mut backoff, 3);
            backoff.after_run(lasted, contact);
            assert_eq!(backoff.next().as_secs(), next, "{lasted:?} {contact}");
        }
    }
}
