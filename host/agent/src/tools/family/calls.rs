//! The calls that run in this process: whose process is whose is decided among them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::kin::Running;

static CALLS: Mutex<Vec<Running>> = Mutex::new(Vec::new());

/// All running calls. Whoever holds this keeps new ones from starting, so that no shell is seen
/// before it stands in the list.
pub(super) struct Calls(MutexGuard<'static, Vec<Running>>);

/// A place in the list; dropping it leaves the list.
#[derive(Debug)]
pub(super) struct Entry {
    call: Running,
}

impl Calls {
    pub(super) fn lock() -> Self {
        Self(CALLS.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn enter(&mut self, call: Running) -> Entry {
        self.0.push(call.clone());
        Entry { call }
    }

    /// All but this one.
    pub(super) fn beside(&self, entry: &Entry) -> Vec<Running> {
        self.0.iter().filter(|call| **call != entry.call).cloned().collect()
    }

    /// Whether this is the shell of a call: somebody waits for it.
    pub(super) fn is_leader(&self, pid: i32) -> bool {
        self.0.iter().any(|call| call.leader == pid)
    }
}

impl Entry {
    pub(super) const fn call(&self) -> &Running {
        &self.call
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        Calls::lock().0.retain(|call| *call != self.call);
    }
}
