//! One account as it stands: what is known of it, and its task if it has one.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::{Key, hint::with_hint};
use scv_bridge::{Clock, Desk, Health, HealthReport, RunError, RunErrorKind, SystemClock};
use scv_plugin_api::wire::Identity;
use scv_protocol::{Component, ComponentState};
use tokio::{sync::Notify, time::Instant};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// What the supervisor knows beyond the bridge's own report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// The bridge's report says it all.
    Live,
    /// Ended with an error; `Backoff` while it starts again by itself, `Failed` otherwise.
    Down {
        /// `Backoff` or `Failed`.
        state: ComponentState,
        /// What is wrong.
        error: RunError,
        /// When it went down.
        since_unix_seconds: u64,
    },
    /// Asked to stop.
    Stopping,
}

/// What an account's task and the status share.
#[derive(Debug)]
pub(super) struct Cell {
    /// Written by the bridge.
    pub(super) health: Arc<Health>,
    /// Wakes a task that waits for a person to act.
    pub(super) poke: Notify,
    phase: Mutex<Phase>,
    restarts: AtomicU64,
}

impl Cell {
    pub(super) fn new(health: Health) -> Arc<Self> {
        Arc::new(Self {
            health: Arc::new(health),
            poke: Notify::new(),
            phase: Mutex::new(Phase::Live),
            restarts: AtomicU64::new(0),
        })
    }

    /// A run begins; every one but the first counts as a restart.
    pub(super) fn begin(&self, first: bool) {
        *self.phase() = Phase::Live;
        if !first {
            self.restarts.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A run ended by itself.
    pub(super) fn down(&self, error: RunError) {
        let state = match error.kind {
            RunErrorKind::Retry => ComponentState::Backoff,
            RunErrorKind::SignedOut | RunErrorKind::Failed | RunErrorKind::Wedged => {
                ComponentState::Failed
            }
        };
        *self.phase() =
            Phase::Down { state, error, since_unix_seconds: SystemClock.unix_ms() / 1_000 };
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An account in the table.
pub(super) struct Entry {
    /// Of what it was made from.
    pub(super) revision: String,
    /// What does not change while it stands.
    pub(super) base: Component,
    /// What it does.
    pub(super) body: Body,
}

/// What an account does.
pub(super) enum Body {
    /// Nothing: it cannot.
    Still,
    /// Nothing: it is switched off. Its identity comes once the plugin has named it.
    Resting(Arc<OnceLock<Identity>>),
    /// It runs, or waits to run again.
    Running(Task),
}

/// The task of an account.
pub(super) struct Task {
    pub(super) cell: Arc<Cell>,
    pub(super) stop: CancellationToken,
    pub(super) desk: Arc<Desk>,
    /// Taken by whoever waits for its end.
    pub(super) handle: Option<AbortOnDropHandle<()>>,
    /// Since when it was connected when that was last told to the log, in Unix seconds.
    pub(super) told_connected: Option<u64>,
}

const ENDED: &str =
    "the supervisor of this account failed inside and starts again; the log says where";

impl Task {
    /// Whether it ended though nobody asked it to.
    fn has_ended(&self) -> bool {
        self.handle.as_ref().is_some_and(AbortOnDropHandle::is_finished)
    }
}

impl Entry {
    /// The account as status shows it.
    pub(super) fn component(&self) -> Component {
        with_hint(match &self.body {
            Body::Still => self.base.clone(),
            Body::Resting(identity) => {
                let identity = identity.get().cloned().unwrap_or_default();
                Component {
                    bot_id: identity.bot_id,
                    user_id: identity.owner_id,
                    ..self.base.clone()
                }
            }
            Body::Running(Task { cell, .. }) => {
                let restarts = cell.restarts.load(Ordering::Relaxed);
                let phase = cell.phase().clone();
                component(&self.base, cell.health.snapshot(), phase, restarts)
            }
        })
    }

    /// What its run tells, if it runs.
    pub(super) fn health(&self) -> Option<Arc<Health>> {
        match &self.body {
            Body::Running(task) => Some(Arc::clone(&task.cell.health)),
            Body::Still | Body::Resting(_) => None,
        }
    }

    /// Takes notice of what its task did by itself: it must not have ended, and a new contact
    /// is worth a line in the log. False when it has ended.
    pub(super) fn notice(&mut self, key: &Key) -> bool {
        let Body::Running(task) = &mut self.body else {
            return true;
        };
        if task.has_ended() {
            tracing::error!(account = %key, "the task of this account ended and is started again");
            task.cell.down(RunError { kind: RunErrorKind::Retry, text: ENDED.into() });
            // Made of nothing that is saved, so that it is replaced.
            self.revision.clear();
            return false;
        }
        let report = task.cell.health.snapshot();
        let since = report.since_unix_seconds.filter(|_| report.state == ComponentState::Connected);
        if since.is_some() && since != task.told_connected {
            tracing::info!(channel = key.channel, account = key.account, "connected");
            task.told_connected = since;
        }
        true
    }

    /// Wakes the account when it waits for its next try.
    pub(super) fn poke(&self) {
        if let Body::Running(task) = &self.body {
            task.cell.poke.notify_waiters();
            task.desk.hurry();
        }
    }

    /// Asks the task to stop, and gives what to wait for.
    pub(super) fn stop(&mut self) -> Option<AbortOnDropHandle<()>> {
        let Body::Running(task) = &mut self.body else {
            return None;
        };
        *task.cell.phase() = Phase::Stopping;
        task.stop.cancel();
        task.handle.take()
    }
}

/// Waits for a task that was asked to stop, and aborts it when it does not.
pub(super) async fn join(mut handle: AbortOnDropHandle<()>, deadline: Instant) {
    if tokio::time::timeout_at(deadline, &mut handle).await.is_err() {
        tracing::warn!("an account did not stop in time and was aborted");
        handle.abort();
        let _ = handle.await;
    }
}

/// Puts the bridge's report and the supervisor's phase over what is fixed. Pure.
fn component(base: &Component, report: HealthReport, phase: Phase, restarts: u64) -> Component {
    let mut component = Component {
        restarts,
        state: report.state,
        bot_id: report.bot_id,
        user_id: report.user_id,
        remote_tools: report.remote_tools,
        error: report.error,
        last_success_unix_seconds: report.last_success_unix_seconds,
        signed_out: report.signed_out.then_some(true),
        since_unix_seconds: report.since_unix_seconds,
        last_in_unix_seconds: report.last_in_unix_seconds,
        last_out_unix_seconds: report.last_out_unix_seconds,
        running: Some(report.running),
        waiting: Some(report.waiting),
        pending: Some(report.pending),
        held: Some(report.held),
        unconfirmed: Some(report.unconfirmed),
        last_refusal: report.last_refusal,
        ..base.clone()
    };
    match phase {
        Phase::Live if component.state == ComponentState::Stopped => {
            component.state = ComponentState::Starting;
        }
        Phase::Live => {}
        Phase::Stopping => component.state = ComponentState::Stopping,
        Phase::Down { state, error, since_unix_seconds } => {
            component.state = state;
            component.since_unix_seconds = Some(since_unix_seconds);
            component.signed_out = (error.kind == RunErrorKind::SignedOut).then_some(true);
            component.error = Some(error.text);
            component.running = Some(0);
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(phase: Phase) -> Component {
        let report = HealthReport {
            state: ComponentState::Connected,
            last_success_unix_seconds: Some(5),
            ..HealthReport::default()
        };
        component(&Component::default(), report, phase, 2)
    }

    fn down(kind: RunErrorKind) -> Component {
        let cell = Cell::new(Health::default());
        cell.down(RunError { kind, text: "broken; mend it".into() });
        let phase = cell.phase().clone();
        shown(phase)
    }

    #[test]
    fn a_live_account_is_what_the_bridge_says() {
        let live = shown(Phase::Live);
        assert_eq!((live.state, live.restarts), (ComponentState::Connected, 2));
        assert_eq!(live.signed_out, None);
        let untold = component(&Component::default(), HealthReport::default(), Phase::Live, 0);
        assert_eq!(untold.state, ComponentState::Starting);
    }

    #[test]
    fn an_ended_run_shows_why_and_keeps_its_last_contact() {
        let waiting = down(RunErrorKind::Retry);
        assert_eq!(waiting.state, ComponentState::Backoff);
        assert_eq!(waiting.error.as_deref(), Some("broken; mend it"));
        assert_eq!(waiting.last_success_unix_seconds, Some(5));
        let signed_out = down(RunErrorKind::SignedOut);
        assert_eq!(signed_out.state, ComponentState::Failed);
        assert_eq!(signed_out.signed_out, Some(true));
        assert_eq!(down(RunErrorKind::Wedged).state, ComponentState::Failed);
    }

    #[test]
    fn stopping_wins_over_contact() {
        assert_eq!(shown(Phase::Stopping).state, ComponentState::Stopping);
    }
}
