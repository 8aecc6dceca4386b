//! The task of one account: runs the bridge, and runs it again after it failed.

use std::{sync::Arc, time::Duration};

use scv_bridge::{AccountContext, Backoff, RunError, RunErrorKind, run_account};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::entry::Cell;
use crate::limits::HEALTHY_RUN_MS;

/// What comes after a run that ended by itself.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Again after a wait, or at once when poked.
    After(Duration),
    /// Never: only a new process helps.
    Never,
}

/// The waits of one account. Pure.
struct Waits {
    restart: Backoff,
    /// For what a person must mend.
    slow: Backoff,
}

impl Waits {
    const fn new() -> Self {
        Self { restart: Backoff::retry(), slow: Backoff::slow() }
    }

    fn next(&mut self, kind: RunErrorKind, lasted: Duration, had_contact: bool) -> Next {
        // One that was in contact for a moment only may be failing in a circle.
        if had_contact && lasted.as_millis() >= u128::from(HEALTHY_RUN_MS) {
            self.restart.reset();
        }
        if had_contact {
            self.slow.reset();
        }
        match kind {
            RunErrorKind::Retry => after(&mut self.restart),
            RunErrorKind::SignedOut | RunErrorKind::Failed => after(&mut self.slow),
            RunErrorKind::Wedged => Next::Never,
        }
    }
}

fn after(backoff: &mut Backoff) -> Next {
    Next::After(Duration::from_millis(backoff.next_ms()))
}

/// Keeps one account running until `stop`.
pub(super) async fn supervise(context: AccountContext, cell: Arc<Cell>, stop: CancellationToken) {
    let mut waits = Waits::new();
    let mut first = true;
    while !stop.is_cancelled() {
        cell.begin(first);
        first = false;
        let began = Instant::now();
        let contact_before = contact(&cell);
        let Err(error) = run(context.clone(), &cell, &stop).await else {
            return;
        };
        tracing::warn!(
            channel = context.channel.id,
            account = %context.account,
            error = %error,
            "the account stopped"
        );
        let had_contact = contact(&cell) != contact_before;
        let next = waits.next(error.kind, began.elapsed(), had_contact);
        cell.down(error);
        wait(next, &cell, &stop).await;
    }
}

/// One run. A panic of the bridge is a fault of this account only.
async fn run(
    context: AccountContext,
    cell: &Cell,
    stop: &CancellationToken,
) -> Result<(), RunError> {
    let run = run_account(context, Arc::clone(&cell.health), stop.clone());
    match AbortOnDropHandle::new(tokio::spawn(run)).await {
        Ok(ended) => ended,
        Err(_) => Err(RunError {
            kind: RunErrorKind::Retry,
            text: "the bridge of this account failed inside and starts again; the log says where"
                .into(),
        }),
    }
}

fn contact(cell: &Cell) -> Option<u64> {
    cell.health.snapshot().last_success_unix_seconds
}

async fn wait(next: Next, cell: &Cell, stop: &CancellationToken) {
    match next {
        Next::After(wait) => tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = cell.poke.notified() => {}
            () = stop.cancelled() => {}
        },
        Next::Never => stop.cancelled().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_secs(1);

    fn seconds(seconds: u64) -> Next {
        Next::After(Duration::from_secs(seconds))
    }

    #[test]
    fn each_kind_waits_in_its_own_way() {
        let mut waits = Waits::new();
        let mut next = |kind| waits.next(kind, SHORT, false);
        assert_eq!(next(RunErrorKind::Retry), seconds(1));
        assert_eq!(next(RunErrorKind::SignedOut), seconds(30));
        assert_eq!(next(RunErrorKind::Retry), seconds(2));
        assert_eq!(next(RunErrorKind::SignedOut), seconds(60));
        assert_eq!(next(RunErrorKind::Failed), seconds(120));
        assert_eq!(next(RunErrorKind::Wedged), Next::Never);
    }

    #[test]
    fn contact_forgets_having_been_signed_out() {
        let mut waits = Waits::new();
        waits.next(RunErrorKind::SignedOut, SHORT, false);
        assert_eq!(waits.next(RunErrorKind::SignedOut, SHORT, true), seconds(30));
    }

    #[test]
    fn only_a_long_run_with_contact_forgets_having_failed() {
        let minute = Duration::from_secs(60);
        for (lasted, contact, next) in
            [(minute, true, 1), (minute, false, 4), (minute - Duration::from_millis(1), true, 4)]
        {
            let mut waits = Waits::new();
            waits.next(RunErrorKind::Retry, SHORT, false);
            waits.next(RunErrorKind::Retry, SHORT, false);
            assert_eq!(waits.next(RunErrorKind::Retry, lasted, contact), seconds(next));
        }
    }
}
