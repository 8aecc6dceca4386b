//! A loaded plugin, in either form.

use std::sync::Arc;

use scv_plugin_api::host::ChannelTransport;

use crate::{Isolation, adapter::Adapter, process_plugin::ProcessPlugin};

/// A loaded plugin.
#[derive(Clone)]
pub(crate) enum Instance {
    InProcess(Arc<Adapter>),
    Process(Arc<ProcessPlugin>),
}

impl Instance {
    pub(crate) const fn isolation(&self) -> Isolation {
        match self {
            Self::InProcess(_) => Isolation::InProcess,
            Self::Process(_) => Isolation::Process,
        }
    }

    pub(crate) fn transport(&self) -> Arc<dyn ChannelTransport> {
        match self {
            Self::InProcess(adapter) => adapter.clone(),
            Self::Process(plugin) => plugin.clone(),
        }
    }

    /// Whether only a restart of this process helps.
    pub(crate) fn is_wedged(&self) -> bool {
        match self {
            Self::InProcess(adapter) => adapter.is_wedged(),
            Self::Process(_) => false,
        }
    }

    /// Why its own process does not run at the moment.
    pub(crate) fn down(&self) -> Option<String> {
        match self {
            Self::InProcess(_) => None,
            Self::Process(plugin) => plugin.down(),
        }
    }

    /// Ends it; false when it did not end.
    pub(crate) async fn end(&self, grace_ms: u32) -> bool {
        // A fault or a task left over: it is wedged now.
        let _ = self.transport().shutdown(grace_ms).await;
        !self.is_wedged()
    }
}
