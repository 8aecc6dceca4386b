//! The transport over a plugin in a child process: the adapter of the child that runs, and
//! another child when that one has ended.
//!
//! A child is started by the call that needs it, not before its wait is over. The bridge calls
//! again by itself, so nothing here runs in the background.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use scv_plugin_api::{
    host::{BoxFuture, ChannelSession, ChannelTransport, LoginEvents},
    wire::{
        CloseReply, ConnectRequest, Fault, Identity, InspectRequest, LoginRequest, LoginResult,
        Manifest,
    },
};
use serde_json::Value;
use tokio::{runtime::Handle, time::Instant};

use crate::{
    Deadlines, Refusal,
    adapter::{Adapter, HostSide},
    cache::HeldCopy,
    child::{self, Link, Purpose, Spec},
    limits::{CHILD_BACKOFF_MS, CHILD_HEALTHY_MS, CHILD_MAX_BACKOFF_MS},
};

/// What a child is made from, again and again.
pub(crate) struct Recipe {
    pub(crate) helper: PathBuf,
    pub(crate) copy: HeldCopy,
    pub(crate) manifest: Manifest,
    /// As it stands in the file.
    pub(crate) manifest_text: String,
    pub(crate) config: Vec<u8>,
    pub(crate) deadlines: Deadlines,
}

/// One plugin in a process of its own.
pub(crate) struct ProcessPlugin {
    recipe: Recipe,
    /// Locked while a child starts.
    child: tokio::sync::Mutex<Option<Running>>,
    health: Mutex<Health>,
}

struct Running {
    adapter: Arc<Adapter>,
    link: Arc<Link>,
    since: Instant,
}

#[derive(Default)]
struct Health {
    /// The child that was started last.
    link: Option<Arc<Link>>,
    /// Why the last start failed.
    failed: Option<String>,
    /// Starts that did not last, in a row.
    short_lives: u32,
    not_before: Option<Instant>,
    over: bool,
}

impl ProcessPlugin {
    /// Starts the first child.
    pub(crate) async fn start(recipe: Recipe) -> Result<Self, Refusal> {
        let plugin =
            Self { recipe, child: tokio::sync::Mutex::default(), health: Mutex::default() };
        let running = plugin.recipe.run().await?;
        plugin.health().link = Some(Arc::clone(&running.link));
        *plugin.child.lock().await = Some(running);
        Ok(plugin)
    }

    /// Why no child runs at the moment, if none does.
    pub(crate) fn down(&self) -> Option<String> {
        let health = self.health();
        let ended = health.link.as_ref().and_then(|link| link.ended());
        let ended = ended.map(|how| format!("its process ended: {how}"));
        health.failed.clone().or(ended)
    }

    /// The adapter of a child that runs; starts one when none does.
    async fn adapter(&self) -> Result<Arc<Adapter>, Fault> {
        let mut child = self.child.lock().await;
        if let Some(running) = &*child {
            let Some(how) = running.link.ended() else {
                return Ok(Arc::clone(&running.adapter));
            };
            let healthy = Duration::from_millis(CHILD_HEALTHY_MS);
            let lasted = running.since.elapsed() >= healthy;
            tracing::warn!(
                plugin = %self.recipe.manifest.name,
                "the plugin's process ended: {how}"
            );
            self.health().wait(lasted);
            *child = None;
        }
        if self.health().over {
            return Err(Fault::cancelled("the plugin has ended"));
        }
        let wait = self.health().remaining();
        if let Some(wait) = wait {
            return Err(self.not_yet(wait));
        }
        match self.recipe.run().await {
            Ok(running) => {
                let mut health = self.health();
                health.link = Some(Arc::clone(&running.link));
                health.failed = None;
                let adapter = Arc::clone(&running.adapter);
                *child = Some(running);
                Ok(adapter)
            }
            Err(refusal) => {
                let mut health = self.health();
                health.wait(false);
                health.failed = Some(format!("its process did not start: {}", refusal.reason));
                Err(Fault::retry(format!("the plugin's process did not start: {}", refusal.reason)))
            }
        }
    }

    fn not_yet(&self, wait: Duration) -> Fault {
        let why = self.down().unwrap_or_else(|| "its process ended".into());
        let mut fault = Fault::retry(format!("{why}; it starts again soon"));
        fault.after_ms = wait.as_millis().try_into().ok();
        fault
    }

    /// Ends the plugin for good.
    pub(crate) async fn end(&self, grace_ms: u32) -> Result<CloseReply, Fault> {
        self.health().over = true;
        let Some(running) = self.child.lock().await.take() else {
            return Ok(CloseReply::default());
        };
        let ended = running.adapter.shutdown(grace_ms).await;
        running.link.process().kill("it was shut down");
        ended
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Health {
    /// Sets the wait before the next start.
    fn wait(&mut self, had_lasted: bool) {
        self.short_lives = if had_lasted { 0 } else { self.short_lives + 1 };
        let doublings = self.short_lives.saturating_sub(1).min(16);
        let wait_ms = (CHILD_BACKOFF_MS << doublings).min(CHILD_MAX_BACKOFF_MS);
        self.not_before = Some(Instant::now() + Duration::from_millis(wait_ms));
    }

    fn remaining(&self) -> Option<Duration> {
        let left = self.not_before?.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then_some(left)
    }
}

impl Recipe {
    async fn run(&self) -> Result<Running, Refusal> {
        let spec = Spec {
            helper: &self.helper,
            copy: &self.copy.path,
            manifest: &self.manifest_text,
            deadlines: &self.deadlines,
        };
        let (host, raw) = HostSide::new(&self.manifest.name, Handle::current(), &self.deadlines);
        let loaded = child::load(&spec, Purpose::Host, raw).await;
        let loaded = loaded.map_err(|failure| failure.refusal)?;
        let created = loaded.create(self.config.clone()).await;
        let (link, plugin) = created.map_err(|failure| failure.refusal)?;
        let child = Some(link.process().clone());
        let adapter = Adapter::new(plugin, self.manifest.clone(), host, self.deadlines, child);
        Ok(Running { adapter: Arc::new(adapter), link, since: Instant::now() })
    }
}

impl ChannelTransport for ProcessPlugin {
    fn manifest(&self) -> &Manifest {
        &self.recipe.manifest
    }

    fn inspect(&self, request: InspectRequest) -> BoxFuture<'_, Result<Identity, Fault>> {
        Box::pin(async move { self.adapter().await?.inspect(request).await })
    }

    fn login(
        &self,
        request: LoginRequest,
        ui: Arc<dyn LoginEvents>,
    ) -> BoxFuture<'_, Result<LoginResult, Fault>> {
        Box::pin(async move { self.adapter().await?.login(request, ui).await })
    }

    fn connect(
        &self,
        request: ConnectRequest,
    ) -> BoxFuture<'_, Result<Box<dyn ChannelSession>, Fault>> {
        Box::pin(async move { self.adapter().await?.connect(request).await })
    }

    fn call(&self, op: &str, payload: Value) -> BoxFuture<'_, Result<Value, Fault>> {
        let op = op.to_owned();
        Box::pin(async move { self.adapter().await?.call(&op, payload).await })
    }

    fn shutdown(&self, grace_ms: u32) -> BoxFuture<'_, Result<CloseReply, Fault>> {
        Box::pin(self.end(grace_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_a_minute_and_a_long_life_forgets_them() {
        let mut health = Health::default();
        assert_eq!(health.remaining(), None);
        let mut waits = Vec::new();
        for _ in 0..8 {
            health.wait(false);
            waits.push(health.remaining().unwrap().as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        health.wait(true);
        assert_eq!(health.remaining(), Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(health.remaining(), None);
    }
}
