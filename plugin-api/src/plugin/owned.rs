//! Values of an author: wherever the host lets go of them, their drop runs at home.

use std::{ops::Deref, sync::Arc};

use tokio::runtime::Handle;

use super::guard::catch;

/// Drops its value inside the runtime's context and never panics.
pub(super) struct Quiet<T> {
    value: Option<T>,
    runtime: Handle,
}

impl<T> Quiet<T> {
    pub(super) fn new(value: T, runtime: &Handle) -> Self {
        Self { value: Some(value), runtime: runtime.clone() }
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("taken in drop only")
    }
}

impl<T> Drop for Quiet<T> {
    fn drop(&mut self) {
        let _context = self.runtime.enter();
        let value = self.value.take();
        // The panic is in the log already; there is nobody to answer it to.
        let _ = catch(|| drop(value));
    }
}

/// A shared value whose last owner sends it to the plugin's runtime to be dropped there: a
/// drop may block or spawn, and the host's threads are no place for either.
pub(super) struct Owned<T: Send + Sync + 'static> {
    value: Option<Arc<T>>,
    runtime: Handle,
}

impl<T: Send + Sync + 'static> Owned<T> {
    pub(super) fn new(value: T, runtime: &Handle) -> Self {
        Self { value: Some(Arc::new(value)), runtime: runtime.clone() }
    }
}

impl<T: Send + Sync + 'static> Clone for Owned<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), runtime: self.runtime.clone() }
    }
}

impl<T: Send + Sync + 'static> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("taken in drop only")
    }
}

impl<T: Send + Sync + 'static> Drop for Owned<T> {
    fn drop(&mut self) {
        let Some(value) = self.value.take().and_then(Arc::into_inner) else {
            return;
        };
        let quiet = Quiet::new(value, &self.runtime);
        // A runtime that has ended drops the task here and now: still quietly.
        self.runtime.spawn(async move { drop(quiet) });
    }
}
