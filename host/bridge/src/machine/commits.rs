//! Commits that are under way or have failed, and what each was for.

use std::collections::BTreeMap;

use super::{AskError, AskId, CommitId, Output, Step, Timer, Turn};
use crate::{Backoff, store::Change};

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
    /// A person's request is answered.
    Ask(AskId),
}

pub(super) struct Commits {
    under_way: BTreeMap<CommitId, (Purpose, Vec<Change>)>,
    /// In the order of their first try, which they keep.
    failed: BTreeMap<CommitId, (Purpose, Vec<Change>)>,
    next_id: u64,
    backoff: Backoff,
}

impl Default for Commits {
    fn default() -> Self {
        Self {
            under_way: BTreeMap::new(),
            failed: BTreeMap::new(),
            next_id: 0,
            backoff: Backoff::commit(),
        }
    }
}

impl Commits {
    /// Asks for a commit. Held replies that are too old go along with it.
    pub(super) fn begin(
        &mut self,
        step: &mut Step<'_>,
        purpose: Purpose,
        mut changes: Vec<Change>,
    ) {
        let oldest = step.oldest_held();
        if step.state.held().iter().any(|held| held.held_at < oldest) {
            changes.push(Change::Expire(oldest));
        }
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
        self.backoff.reset();
        self.under_way.remove(&id).map(|(purpose, _)| purpose)
    }

    pub(super) fn failed(&mut self, id: CommitId, step: &mut Step<'_>) {
        let Some(commit) = self.under_way.remove(&id) else {
            return;
        };
        // Whoever asked is told, and may ask again.
        if let Purpose::Ask(id) = commit.0 {
            step.out.push(Output::Answer(id, Err(AskError::NotStored)));
            return;
        }
        if self.failed.is_empty() {
            step.set_timer(Timer::Commit, self.backoff.next_ms());
        }
        self.failed.insert(id, commit);
    }

    pub(super) fn try_again(&mut self, step: &mut Step<'_>) {
        for (id, (purpose, changes)) in std::mem::take(&mut self.failed) {
            self.submit(step, id, purpose, changes);
        }
    }

    /// Messages whose claims are not durable yet.
    pub(super) fn unclaimed(&self) -> usize {
        let purposes = self.under_way.values().chain(self.failed.values());
        let turns = purposes.map(|(purpose, _)| match purpose {
            Purpose::Batch(turns) => turns.len(),
            Purpose::Recovery
            | Purpose::Answer { .. }
            | Purpose::Delivery { .. }
            | Purpose::Ask(_) => 0,
        });
        turns.sum()
    }

    pub(super) fn are_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }
}
