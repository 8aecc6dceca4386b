//! Operations as tasks of the plugin's runtime, counted, and aborted when nobody waits.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{runtime::Handle, task::JoinHandle, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    guard::Guarded,
    log::{SCOPE, Scope},
};
use crate::{Result, wire::Fault};

/// The tasks of one plugin or of one session.
#[derive(Clone)]
pub(super) struct Tasks {
    runtime: Handle,
    tracker: TaskTracker,
    end: CancellationToken,
    scope: Scope,
}

impl Tasks {
    pub(super) fn new(runtime: &Handle, scope: Scope) -> Self {
        Self {
            runtime: runtime.clone(),
            tracker: TaskTracker::new(),
            end: CancellationToken::new(),
            scope,
        }
    }

    pub(super) const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Starts an operation. Dropping what is returned aborts it.
    pub(super) fn start<T, F>(&self, operation: F) -> Operation<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.start_in(self.scope.clone(), operation)
    }

    /// The same, with other marks on its log lines.
    pub(super) fn start_in<T, F>(&self, scope: Scope, operation: F) -> Operation<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let operation = Guarded::new(operation, &self.runtime);
        let end = self.end.clone();
        let task = async move {
            tokio::select! {
                biased;
                () = end.cancelled() => Err(ended()),
                result = operation => result,
            }
        };
        let task = SCOPE.scope(scope, task);
        Operation(self.tracker.spawn_on(task, &self.runtime))
    }

    /// Waits until nothing runs, at most this long.
    pub(super) async fn quiet_within(&self, limit: Duration) {
        self.tracker.close();
        let _ = timeout(limit, self.tracker.wait()).await;
    }

    /// Ends every operation at its next await; later ones end before they begin.
    pub(super) fn end(&self) {
        self.end.cancel();
    }

    /// How many run, among them any that never came back from author code.
    pub(super) fn running(&self) -> u32 {
        u32::try_from(self.tracker.len()).unwrap_or(u32::MAX)
    }
}

/// A running operation.
pub(super) struct Operation<T>(JoinHandle<Result<T>>);

impl<T> Future for Operation<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        // A task of ours does not panic (its future is guarded), so an error means: aborted.
        let joined = std::task::ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(joined.unwrap_or_else(|_| Err(ended())))
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(super) fn ended() -> Fault {
    Fault::cancelled("this is over: the session or the plugin has ended")
}
