//! The plugin's own tokio runtime: its tasks never run on the host's threads.

use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::oneshot,
};

use crate::{
    Result,
    limits::BLOCKING_THREADS_COUNT,
    wire::{CloseReply, Fault, Manifest},
};

/// The runtime until somebody ends it.
pub(super) struct PluginRuntime {
    runtime: Mutex<Option<Ending>>,
    handle: Handle,
    thread_name: String,
}

impl PluginRuntime {
    /// Starts the worker threads that the manifest asks for.
    pub(super) fn start(manifest: &Manifest) -> Result<Self> {
        let thread_name = format!("scv-{}", manifest.name);
        let runtime = Builder::new_multi_thread()
            .worker_threads(manifest.threads as usize)
            .max_blocking_threads(BLOCKING_THREADS_COUNT)
            .thread_name(&thread_name)
            .enable_all()
            .build()
            .map_err(|error| Fault::other(format!("no thread could be started: {error}")))?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(Ending(Some(runtime)))),
            thread_name,
        })
    }

    pub(super) const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends it on a thread of its own, since ending blocks; a second call finds it ended.
    pub(super) fn end(&self, grace: Duration) -> Result<oneshot::Receiver<CloseReply>> {
        let (answer, ended) = oneshot::channel();
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut runtime) = runtime else {
            let _ = answer.send(CloseReply::default());
            return Ok(ended);
        };
        thread::Builder::new()
            .name(self.thread_name.clone())
            .spawn(move || answer.send(runtime.end(grace)))
            .map_err(|error| Fault::other(format!("no thread could be started: {error}")))?;
        Ok(ended)
    }
}

/// A runtime that never ends by a plain drop: that would block, and panics inside another one.
struct Ending(Option<Runtime>);

impl Ending {
    fn end(&mut self, grace: Duration) -> CloseReply {
        let Some(runtime) = self.0.take() else {
            return CloseReply::default();
        };
        let metrics = runtime.metrics();
        let started = Instant::now();
        runtime.shutdown_timeout(grace);
        let alive = u32::try_from(metrics.num_alive_tasks()).unwrap_or(u32::MAX);
        // Blocking code is in no count, but it made the whole grace go by.
        let blocked = u32::from(started.elapsed() >= grace);
        CloseReply { tasks_left: alive.max(blocked) }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
