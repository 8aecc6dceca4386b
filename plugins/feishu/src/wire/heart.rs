//! When to ping, and when silence means that nobody is there. Times only, no timer.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::limits::{
    PING_DEFAULT_SECONDS, PING_MAX_SECONDS, PING_MIN_SECONDS, RECONNECT_SPREAD_MAX_SECONDS,
    SILENCE_MARGIN_SECONDS,
};

/// The beat of one connection.
pub(crate) struct Heart {
    interval: Duration,
    /// None: at once.
    pinged: Option<Instant>,
    heard: Instant,
}

impl Heart {
    /// A connection that was just made.
    pub(crate) fn new(interval: Option<Duration>, now: Instant) -> Self {
        let interval = interval.unwrap_or(Duration::from_secs(PING_DEFAULT_SECONDS));
        Self { interval, pinged: None, heard: now }
    }

    /// When the next ping is due; the first one at once.
    pub(crate) fn next_ping(&self, now: Instant) -> Instant {
        self.pinged.map_or(now, |pinged| pinged + self.interval)
    }

    /// A ping went out.
    pub(crate) const fn pinged(&mut self, now: Instant) {
        self.pinged = Some(now);
    }

    /// Something came in.
    pub(crate) const fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// A pong may bring another interval; none keeps the old one.
    pub(crate) fn set_interval(&mut self, interval: Option<Duration>) {
        self.interval = interval.unwrap_or(self.interval);
    }

    /// When the connection counts as lost: two intervals and a margin after the last sign of life.
    pub(crate) fn lost_at(&self) -> Instant {
        self.heard + 2 * self.interval + Duration::from_secs(SILENCE_MARGIN_SECONDS)
    }
}

/// The `PingInterval` of the settings that discovery and pongs carry, in seconds, within bounds.
/// Official clients storm or fall silent on 0, negative or absent ones (seen 2026-11): those are
/// no interval.
pub(crate) fn ping_interval(settings: &Value) -> Option<Duration> {
    let seconds = settings["PingInterval"].as_f64().filter(|seconds| *seconds >= 1.0)?;
    let bounded = seconds.clamp(PING_MIN_SECONDS as f64, PING_MAX_SECONDS as f64);
    Some(Duration::from_secs_f64(bounded))
}

/// The `ReconnectNonce` of the same settings: those who lose a connection wait a random part of
/// it, so that they do not all come back at once. Bounded, because messages wait meanwhile.
pub(crate) fn reconnect_spread(settings: &Value) -> Option<Duration> {
    let seconds = settings["ReconnectNonce"].as_f64().filter(|seconds| *seconds >= 0.0)?;
    Some(Duration::from_secs_f64(seconds.min(RECONNECT_SPREAD_MAX_SECONDS as f64)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{Frame, Kind, vectors::odd};

    fn seconds(settings: &Value) -> Option<u64> {
        ping_interval(settings).map(|interval| interval.as_secs())
    }

    #[test]
    fn the_interval_is_seconds_and_bounded() {
        for (interval, want) in [
            (json!(90), Some(90)),
            (json!(1), Some(5)),
            (json!(1e12), Some(600)),
            (json!(u64::MAX), Some(600)),
            (json!(0), None),
            (json!(-5), None),
            (json!("90"), None),
            (json!(null), None),
            (json!({}), None),
        ] {
            assert_eq!(seconds(&json!({"PingInterval": interval})), want, "{interval}");
        }
        for settings in [json!({}), json!(null), json!([]), json!("x")] {
            assert_eq!(seconds(&settings), None);
        }
    }

    #[test]
    fn the_spread_of_reconnects_is_seconds_and_bounded() {
        for (nonce, want_ms) in [
            (json!(25), Some(25_000)),
            (json!(0.5), Some(500)),
            (json!(0), Some(0)),
            (json!(1e300), Some(30_000)),
            (json!(-1), None),
            (json!("25"), None),
            (json!(null), None),
        ] {
            let spread = reconnect_spread(&json!({"ReconnectNonce": nonce}));
            assert_eq!(spread, want_ms.map(Duration::from_millis), "{nonce}");
        }
        assert_eq!(reconnect_spread(&json!([])), None);
    }

    #[test]
    fn odd_pongs_change_nothing_harmful() {
        let pongs: Vec<_> = odd().into_iter().filter(|v| v.name.starts_with("pong")).collect();
        assert_eq!(pongs.len(), 6);
        for pong in pongs {
            let frame = Frame::read(pong.bytes).expect("a frame");
            assert_eq!(frame.kind(), Kind::Pong);
            let settings = serde_json::from_slice(&frame.payload.unwrap_or_default());
            let interval = ping_interval(&settings.unwrap_or_default());
            let kept = pong.name != "pong with unknown keys";
            assert_eq!(interval.is_none(), kept, "{}", pong.name);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pings_come_at_once_and_then_at_intervals() {
        let start = Instant::now();
        let mut heart = Heart::new(Some(Duration::from_secs(90)), start);
        assert_eq!(heart.next_ping(start), start);
        heart.pinged(start);
        assert_eq!(heart.next_ping(start), start + Duration::from_secs(90));
        assert_eq!(heart.lost_at(), start + Duration::from_secs(210));
        heart.set_interval(Some(Duration::from_secs(5)));
        assert_eq!(heart.next_ping(start), start + Duration::from_secs(5));
        heart.set_interval(None);
        heart.heard(start + Duration::from_secs(7));
        assert_eq!(heart.lost_at(), start + Duration::from_secs(47));
    }
}
