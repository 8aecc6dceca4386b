//! How much a plugin may log: a bucket of lines that refills.

use std::time::{Duration, Instant};

use crate::limits::{LOG_BURST_COUNT, LOG_LINES_A_SECOND_COUNT};

/// The bucket.
#[derive(Debug)]
pub(crate) struct RateLimit {
    tokens: f64,
    at: Instant,
    dropped: u64,
}

impl RateLimit {
    pub(crate) fn new(now: Instant) -> Self {
        Self { tokens: f64::from(LOG_BURST_COUNT), at: now, dropped: 0 }
    }

    /// Whether a line may pass now; with it, how many were dropped since the last that did.
    pub(crate) fn pass(&mut self, now: Instant) -> Option<u64> {
        let elapsed = now.checked_duration_since(self.at).unwrap_or(Duration::ZERO);
        let refilled = self.tokens + elapsed.as_secs_f64() * f64::from(LOG_LINES_A_SECOND_COUNT);
        self.tokens = refilled.min(f64::from(LOG_BURST_COUNT));
        self.at = now;
        if self.tokens < 1.0 {
            self.dropped += 1;
            return None;
        }
        self.tokens -= 1.0;
        Some(std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_only_the_rate_and_drops_are_counted() {
        let start = Instant::now();
        let mut rate = RateLimit::new(start);
        let passed = |rate: &mut RateLimit, now, lines| {
            (0..lines).filter(|_| rate.pass(now).is_some()).count()
        };
        assert_eq!(passed(&mut rate, start, 1_500), 1_000);
        let later = start + Duration::from_secs(1);
        assert_eq!(rate.pass(later), Some(500));
        assert_eq!(passed(&mut rate, later, 500), 199);
    }
}
