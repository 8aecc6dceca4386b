//! A plugin that does not come back: nothing else is asked of it until the process restarts.

use std::sync::atomic::{AtomicBool, Ordering};

use scv_plugin_api::wire::{CloseReply, Fault, FaultKind};

/// Set once and for ever.
pub(super) struct Wedge {
    plugin: String,
    set: AtomicBool,
}

impl Wedge {
    pub(super) fn new(plugin: &str) -> Self {
        Self { plugin: plugin.to_owned(), set: AtomicBool::new(false) }
    }

    pub(super) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Lets calls through until it is set.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.is_set() {
            return Err(self.fault());
        }
        Ok(())
    }

    pub(super) fn set(&self, op: &str) -> Fault {
        tracing::error!(plugin = %self.plugin, op, "the plugin did not come back");
        self.set.store(true, Ordering::Release);
        self.fault()
    }

    /// Judges how a `close` or `shutdown` went: a fault or a task left over is a wedge. One that
    /// was cancelled came after the plugin had ended, and so had what it was to end.
    pub(super) fn judge(
        &self,
        op: &str,
        reply: Result<CloseReply, Fault>,
    ) -> Result<CloseReply, Fault> {
        match reply {
            Ok(reply) if reply.tasks_left == 0 => Ok(reply),
            Ok(reply) => {
                self.set(op);
                Ok(reply)
            }
            Err(fault) if fault.kind == FaultKind::Cancelled => Ok(CloseReply::default()),
            Err(_) => Err(self.set(op)),
        }
    }

    fn fault(&self) -> Fault {
        Fault::config(format!("plugin '{}' did not stop; restart the daemon", self.plugin))
    }
}
