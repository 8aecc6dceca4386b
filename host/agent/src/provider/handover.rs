//! Text on its way from a provider to its session, which polls the provider itself: a queue
//! without wakers, because both ends live in one task.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

/// Both ends' queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Handover(Arc<Mutex<VecDeque<String>>>);

/// Where a provider puts its text.
#[derive(Debug)]
pub(super) struct Deltas {
    queue: Handover,
    /// Whether any text was handed on.
    pub(super) emitted: bool,
}

impl Handover {
    /// The provider's end.
    pub(super) fn deltas(&self) -> Deltas {
        Deltas { queue: self.clone(), emitted: false }
    }

    pub(super) fn pop(&self) -> Option<String> {
        self.lock().pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deltas {
    /// Hands texts on and waits until they were taken. Whoever polls the provider does so again
    /// when the queue is empty, and nobody else needs to be told.
    pub(super) async fn send(&mut self, texts: impl IntoIterator<Item = String>) {
        let texts = texts.into_iter().filter(|text| !text.is_empty());
        self.queue.lock().extend(texts);
        self.emitted |= !self.queue.is_empty();
        poll_fn(|_| match self.queue.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }
}
