//! A plugin that does not come back. In this process nothing else is asked of it until the
//! process restarts; a child is killed, and another one takes its place.

use std::sync::atomic::{AtomicBool, Ordering};

use scv_plugin_api::wire::{CloseReply, Fault, FaultKind};

use crate::child::Process;

/// Set once and for ever.
pub(super) struct Wedge {
    plugin: String,
    set: AtomicBool,
    /// The plugin's own process, where it has one.
    child: Option<Process>,
}

impl Wedge {
    pub(super) fn new(plugin: &str, child: Option<Process>) -> Self {
        Self { plugin: plugin.to_owned(), set: AtomicBool::new(false), child }
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
        if let Some(child) = &self.child {
            child.kill(format!("it did not come back from {op}"));
        }
        self.fault()
    }

    /// Judges how a `close` or `shutdown` went: a fault or a task left over is a wedge. One that
    /// was cancelled came after the plugin had ended, and so had what it was to end. Of a child
    /// nothing is left, one way or the other.
    pub(super) fn judge(
        &self,
        op: &str,
        reply: Result<CloseReply, Fault>,
    ) -> Result<CloseReply, Fault> {
        let wedged = match reply {
            Ok(reply) if reply.tasks_left == 0 => return Ok(reply),
            Err(fault) if fault.kind == FaultKind::Cancelled => return Ok(CloseReply::default()),
            Ok(reply) => {
                self.set(op);
                Ok(reply)
            }
            Err(_) if self.child.as_ref().is_some_and(Process::has_ended) => {
                return Ok(CloseReply::default());
            }
            Err(_) => Err(self.set(op)),
        };
        if self.child.is_some() { Ok(CloseReply::default()) } else { wedged }
    }

    fn fault(&self) -> Fault {
        let plugin = &self.plugin;
        if self.child.is_some() {
            return Fault::retry(format!(
                "plugin '{plugin}' did not come back and its process was ended; it starts again"
            ));
        }
        Fault::config(format!("plugin '{plugin}' did not stop; restart the daemon"))
    }
}
