//! Commits: everything that is waiting goes into one record, written on a blocking thread
//! while the run goes on.

use std::time::Duration;

use tokio::{
    task::{JoinSet, spawn_blocking},
    time::sleep,
};

use super::{Event, Run, RunError, RunErrorKind, report};
use crate::{
    limits::{BUSY_RETRY_MS, BUSY_STEP_MS},
    machine::{CommitId, Input},
    store::{Applied, Change, Image, Log, State, StoreError},
};

type Commit = (CommitId, Vec<Change>);

/// What is to be done on the disk.
enum Job {
    Append(Vec<Commit>),
    Fold(Image),
}

/// What a job came to.
pub(super) struct Stored {
    log: Log,
    job: Job,
    result: Result<(), StoreError>,
}

/// The writing side of the store, and what waits for it.
pub(super) struct Storing {
    /// Away while a job runs.
    log: Option<Log>,
    queue: Vec<Commit>,
}

impl Storing {
    pub(super) const fn new(log: Log) -> Self {
        Self { log: Some(log), queue: Vec::new() }
    }

    pub(super) fn queue(&mut self, id: CommitId, changes: Vec<Change>) {
        self.queue.push((id, changes));
    }

    pub(super) const fn is_idle(&self) -> bool {
        self.log.is_some() && self.queue.is_empty()
    }

    /// Starts a job if there is something to do and none runs. Folding comes first: at this
    /// moment the state is exactly what the journal says.
    pub(super) fn go_on(&mut self, state: &State, tasks: &mut JoinSet<Event>) {
        let wants_fold = self.log.as_ref().is_some_and(Log::wants_fold);
        let job = match (wants_fold, self.queue.is_empty()) {
            (true, _) => Job::Fold(Image::of(state)),
            (false, false) => Job::Append(std::mem::take(&mut self.queue)),
            (false, true) => return,
        };
        match self.log.take() {
            Some(log) => {
                tasks.spawn(run(log, job));
            }
            // A job runs: what is queued goes into the next one.
            None => self.put_back(job),
        }
    }

    fn put_back(&mut self, job: Job) {
        if let Job::Append(commits) = job {
            self.queue = commits;
        }
    }

    /// Folds what there is: the end of a run.
    pub(super) async fn fold(&mut self, state: &State) {
        if let Some(log) = self.log.take() {
            run(log, Job::Fold(Image::of(state))).await;
        }
    }
}

/// Does a job on a blocking thread; waits out a command that holds the transaction lock.
async fn run(mut log: Log, mut job: Job) -> Event {
    let mut tries = BUSY_RETRY_MS / BUSY_STEP_MS;
    loop {
        let work = move || {
            let result = job.run(&mut log);
            Stored { log, job, result }
        };
        let Ok(stored) = spawn_blocking(work).await else {
            return Event::StoreLost;
        };
        if tries == 0 || stored.result != Err(StoreError::Busy) {
            return Event::Stored(stored);
        }
        tries -= 1;
        (log, job) = (stored.log, stored.job);
        sleep(Duration::from_millis(BUSY_STEP_MS)).await;
    }
}

impl Job {
    fn run(&self, log: &mut Log) -> Result<(), StoreError> {
        match self {
            Self::Append(commits) => log.append(commits.iter().flat_map(|(_, changes)| changes)),
            Self::Fold(image) => log.fold(image).inspect_err(|error| {
                tracing::warn!(%error, "the state journal could not be folded; it goes on");
            }),
        }
    }
}

impl Run {
    /// Applies what is durable, and tells the machine.
    pub(super) fn stored(&mut self, stored: Stored) -> Result<(), RunError> {
        self.storing.log = Some(stored.log);
        let Job::Append(commits) = stored.job else {
            // A journal that could not be folded simply goes on.
            return Ok(());
        };
        if let Err(error) = stored.result {
            self.reporter.not_stored(&error);
            for (id, _) in commits {
                self.feed(Input::CommitFailed(id));
            }
            let failed = report::store_failed(&error);
            return if failed.kind == RunErrorKind::Failed { Err(failed) } else { Ok(()) };
        }
        self.reporter.is_stored();
        let mut applied = Applied::default();
        for change in commits.iter().flat_map(|(_, changes)| changes) {
            applied += self.state.apply(change).map_err(|_| report::inconsistent())?;
        }
        report::log_dropped(applied);
        for (id, _) in commits {
            self.feed(Input::Committed(id));
        }
        Ok(())
    }
}
