//! What one running account tells about itself.

use std::sync::{Mutex, MutexGuard};

use scv_protocol::{ComponentState, Refusal, RemoteTools};

/// The bridge's part of a component in `daemon.status`. Texts are safe to show anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthReport {
    /// How it is.
    pub state: ComponentState,
    /// When that state began, in Unix seconds.
    pub since_unix_seconds: Option<u64>,
    /// The last contact that the platform authenticated.
    pub last_success_unix_seconds: Option<u64>,
    /// The last message that came in.
    pub last_in_unix_seconds: Option<u64>,
    /// The last message that the platform accepted.
    pub last_out_unix_seconds: Option<u64>,
    /// Conversations with a turn that runs, or whose answer is not durable yet.
    pub running: u64,
    /// Messages that wait for their turn.
    pub waiting: u64,
    /// Replies not yet accepted.
    pub pending: u64,
    /// Replies that were refused and are kept.
    pub held: u64,
    /// Accepted without a receipt where the channel gives receipts.
    pub unconfirmed: u64,
    /// The platform's last refusal.
    pub last_refusal: Option<Refusal>,
    /// The credentials are no longer good.
    pub signed_out: bool,
    /// The bot, as the platform names it.
    pub bot_id: Option<String>,
    /// The owner, as the platform names it.
    pub user_id: Option<String>,
    /// What is in effect; `owner` only with a known owner.
    pub remote_tools: RemoteTools,
    /// What is wrong and what to do about it, in one sentence.
    pub error: Option<String>,
}

/// A shared cell with the report of one account; the daemon reads it, the bridge writes it.
#[derive(Debug, Default)]
pub struct Health(Mutex<HealthReport>);

impl Health {
    /// The report as it is now.
    pub fn snapshot(&self) -> HealthReport {
        self.lock().clone()
    }

    /// For another run of the same account: it remembers what was sent and received so far.
    pub fn go_on(&self) -> Self {
        let earlier = self.snapshot();
        Self(Mutex::new(HealthReport {
            last_in_unix_seconds: earlier.last_in_unix_seconds,
            last_out_unix_seconds: earlier.last_out_unix_seconds,
            unconfirmed: earlier.unconfirmed,
            ..HealthReport::default()
        }))
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut HealthReport)) {
        change(&mut self.lock());
    }

    /// Enters a state, and remembers since when; a repeated state keeps its beginning.
    pub(crate) fn enter(&self, state: ComponentState, unix_seconds: u64) {
        self.update(|report| {
            if report.state != state || report.since_unix_seconds.is_none() {
                report.state = state;
                report.since_unix_seconds = Some(unix_seconds);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, HealthReport> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_run_remembers_messages_and_nothing_else() {
        let health = Health::default();
        health.enter(ComponentState::Connected, 5);
        health.update(|report| {
            report.last_in_unix_seconds = Some(7);
            report.last_out_unix_seconds = Some(8);
            report.unconfirmed = 9;
            report.error = Some("broken".into());
        });
        let next = health.go_on().snapshot();
        let kept = HealthReport {
            last_in_unix_seconds: Some(7),
            last_out_unix_seconds: Some(8),
            unconfirmed: 9,
            ..HealthReport::default()
        };
        assert_eq!(next, kept);
    }
}
