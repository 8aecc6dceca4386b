//! A state that tests and connections share, and that can be waited for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::bail;
use tokio::sync::watch;

/// A value behind a lock, with a bell that rings at every change.
pub(crate) struct Watched<T> {
    value: Mutex<T>,
    bell: watch::Sender<()>,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), bell: watch::Sender::new(()) }
    }

    /// Reads, or changes something that nobody waits for.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the value and wakes everyone who waits.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.lock());
        self.bell.send_replace(());
        result
    }

    /// Waits until `look` finds what it looks for. `look` may change the value; when it answers,
    /// the others are woken.
    pub(crate) async fn until<R>(&self, mut look: impl FnMut(&mut T) -> Option<R>) -> R {
        let mut bell = self.bell.subscribe();
        loop {
            if let Some(found) = look(&mut self.lock()) {
                self.bell.send_replace(());
                return found;
            }
            // The sender lives as long as `self`.
            let _ = bell.changed().await;
        }
    }

    /// [`Watched::until`] with a limit; `describe` says what was there when it passed.
    pub(crate) async fn within<R>(
        &self,
        limit: Duration,
        what: &str,
        look: impl FnMut(&mut T) -> Option<R>,
        describe: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<R> {
        match tokio::time::timeout(limit, self.until(look)).await {
            Ok(found) => Ok(found),
            Err(_) => bail!("waited {limit:?} for {what}; {}", describe(&self.lock())),
        }
    }
}
