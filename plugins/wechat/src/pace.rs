//! How soon empty answers are asked for again: a platform that does not hold its polls is not
//! polled in a hot loop.

use std::time::Duration;

use scv_plugin_api::Stop;
use tokio::time::sleep;

use crate::limits::{FIRST_PAUSE_MS, LONGEST_PAUSE_MS, PROPER_POLL_MS};

/// The pauses of one session.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    pause_ms: u64,
}

impl Pace {
    /// The rest after an answer that took this long.
    pub(crate) fn after(&mut self, took: Duration, brought_messages: bool) -> Duration {
        let proper = took >= Duration::from_millis(PROPER_POLL_MS);
        self.pause_ms = match proper || brought_messages {
            true => 0,
            false => (self.pause_ms * 2).clamp(FIRST_PAUSE_MS, LONGEST_PAUSE_MS),
        };
        Duration::from_millis(self.pause_ms)
    }
}

/// Waits; `stop` ends it at once.
pub(crate) async fn rest(pause: Duration, stop: &Stop) {
    // Tokio's timer rounds up to its next millisecond even where there is nothing to wait for.
    if pause.is_zero() {
        return;
    }
    tokio::select! {
        () = sleep(pause) => {}
        () = stop.fired() => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const QUICK: Duration = Duration::from_millis(1);
    const HELD: Duration = Duration::from_millis(PROPER_POLL_MS);

    #[test]
    fn quick_empty_answers_come_slower_and_slower() {
        let mut pace = Pace::default();
        let pauses = [1, 2, 4, 8, 10, 10].map(Duration::from_secs);
        assert_eq!(pauses.map(|_| pace.after(QUICK, false)), pauses);
    }

    #[test]
    fn a_message_or_a_held_poll_ends_the_pauses() {
        for (took, brought_messages) in [(QUICK, true), (HELD, false), (HELD, true)] {
            let mut pace = Pace::default();
            pace.after(QUICK, false);
            pace.after(QUICK, false);
            assert_eq!(pace.after(took, brought_messages), Duration::ZERO);
            assert_eq!(pace.after(QUICK, false), Duration::from_secs(1), "it begins anew");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stop_ends_a_rest_at_once() {
        let (begin, stop) = (Instant::now(), Stop::new());
        let pause = Duration::from_millis(LONGEST_PAUSE_MS);
        rest(pause, &stop).await;
        assert_eq!(begin.elapsed(), pause);
        stop.fire();
        rest(pause, &stop).await;
        assert_eq!(begin.elapsed(), pause);
    }
}
