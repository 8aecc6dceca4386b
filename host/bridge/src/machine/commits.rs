//! Commits that are under way or have failed, and what each was for.

use std::collections::BTreeMap;

use super::{CommitId, Output, Step, Timer, Turn};
use crate::{
    limits::{RETRY_COMMIT_MAX_MS, RETRY_FIRST_MS},
    store::Change,
};

/// What follows once a commit is durable.
#[derive(Debug)]
pub(super) enum Purpose {
    /// Interrupted claims have their replies; the account may begin.
    Recovery,
    /// The batch may be acknowledged, and these turns may run.
    Batch(Vec<Turn>),
    /// The conversation's next turn may run.
    Answer { key: String },
    /// The conversation's next part may be sent, after a pause.
    Delivery { key: String, pause_ms: Option<u64> },
}

#[derive(Default)]
pub(super) struct Commits {
    under_way: BTreeMap<CommitId, (Purpose, Vec<Change>)>,
    /// In the order of their first try, which they keep.
    failed: BTreeMap<CommitId, (Purpose, Vec<Change>)>,
    next_id: u64,
    failures: u32,
}

impl Commits {
    pub(super) fn begin(&mut self, step: &mut Step<'_>, purpose: Purpose, changes: Vec<Change>) {
        let id = CommitId(self.next_id);
        self.next_id += 1;
        self.submit(step, id, purpose, changes);
    }

    fn submit(
        &mut self,
        step: &mut Step<'_>,
        id: CommitId,
        purpose: Purpose,
        changes: Vec<Change>,
    ) {
        step.out.push(Output::Commit { id, changes: changes.clone() });
        self.under_way.insert(id, (purpose, changes));
    }

    pub(super) fn done(&mut self, id: CommitId) -> Option<Purpose> {
        self.failures = 0;
        self.under_way.remove(&id).map(|(purpose, _)| purpose)
    }

    pub(super) fn failed(&mut self, id: CommitId, step: &mut Step<'_>) {
        let Some(commit) = self.under_way.remove(&id) else {
            return;
        };
        if self.failed.is_empty() {
            step.set_timer(Timer::Commit, backoff_ms(self.failures, RETRY_COMMIT_MAX_MS));
            self.failures += 1;
        }
        self.failed.insert(id, commit);
    }

    pub(super) fn try_again(&mut self, step: &mut Step<'_>) {
        for (id, (purpose, changes)) in std::mem::take(&mut self.failed) {
            self.submit(step, id, purpose, changes);
        }
    }

    pub(super) fn are_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }
}

/// One second, doubling with each failure.
pub(super) fn backoff_ms(failures: u32, max_ms: u64) -> u64 {
    let doubled = RETRY_FIRST_MS.saturating_mul(1_u64 << failures.min(32));
    doubled.min(max_ms)
}
