//! A transport in memory: what a test puts in comes out, what is sent is kept.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use scv_plugin_api::{
    host::{BoxFuture, ChannelSession, ChannelTransport, LoginEvents},
    wire::{
        Batch, CloseReply, ConnectRequest, Fault, Identity, InspectRequest, LoginRequest,
        LoginResult, Manifest, Outgoing, Scope, SendOutcome,
    },
};
use serde_json::Value;
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

/// A plugin in memory. Clones are the same plugin.
#[derive(Clone)]
pub struct Fake {
    manifest: Arc<Manifest>,
    script: Arc<Script>,
}

#[derive(Default)]
struct Script {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    identity: Identity,
    connects: VecDeque<Fault>,
    reads: VecDeque<Result<Batch, Fault>>,
    acks: Vec<Option<String>>,
    sent: Vec<Outgoing>,
    connected: Vec<ConnectRequest>,
}

impl Fake {
    /// A plugin with this manifest that has nothing to say and accepts every message.
    #[must_use]
    pub fn new(manifest: Manifest) -> Self {
        Self { manifest: Arc::new(manifest), script: Arc::default() }
    }

    /// What `inspect` answers from now on.
    pub fn identify(&self, identity: Identity) {
        self.change(|state| state.identity = identity);
    }

    /// Makes one later `connect` fail.
    pub fn refuse_connect(&self, fault: Fault) {
        self.change(|state| state.connects.push_back(fault));
    }

    /// What one later `next_batch` answers.
    pub fn read(&self, result: Result<Batch, Fault>) {
        self.change(|state| state.reads.push_back(result));
    }

    /// Every message given to `send` so far.
    #[must_use]
    pub fn sent(&self) -> Vec<Outgoing> {
        self.script.state().sent.clone()
    }

    /// The `ack` of every `next_batch` so far.
    #[must_use]
    pub fn acks(&self) -> Vec<Option<String>> {
        self.script.state().acks.clone()
    }

    /// Every `connect` so far.
    #[must_use]
    pub fn connected(&self) -> Vec<ConnectRequest> {
        self.script.state().connected.clone()
    }

    /// Waits until `done` holds of this plugin; look only, change nothing in it.
    pub async fn wait_until(&self, done: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.script.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if done(self) {
                return;
            }
            changed.await;
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.script.state());
        self.script.changed.notify_waiters();
    }

    fn max_wait(&self, channel: &str) -> Duration {
        let declared = self.manifest.channels.iter().find(|declared| declared.id == channel);
        Duration::from_millis(declared.map_or(0, |channel| channel.limits.max_wait_ms.into()))
    }
}

impl Script {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChannelTransport for Fake {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn inspect(&self, _: InspectRequest) -> BoxFuture<'_, Result<Identity, Fault>> {
        Box::pin(async { Ok(self.script.state().identity.clone()) })
    }

    fn login(
        &self,
        _: LoginRequest,
        _: Arc<dyn LoginEvents>,
    ) -> BoxFuture<'_, Result<LoginResult, Fault>> {
        Box::pin(async { Err(Fault::unsupported("the fake signs nobody in")) })
    }

    fn connect(
        &self,
        request: ConnectRequest,
    ) -> BoxFuture<'_, Result<Box<dyn ChannelSession>, Fault>> {
        Box::pin(async move {
            let max_wait = self.max_wait(&request.channel);
            self.change(|state| state.connected.push(request));
            if let Some(fault) = self.script.state().connects.pop_front() {
                return Err(fault);
            }
            let session: Box<dyn ChannelSession> = Box::new(FakeSession {
                fake: self.clone(),
                stop: CancellationToken::new(),
                max_wait,
                read: Mutex::new(0),
            });
            Ok(session)
        })
    }

    fn call(&self, op: &str, _: Value) -> BoxFuture<'_, Result<Value, Fault>> {
        unsupported(op)
    }

    fn shutdown(&self, _: u32) -> BoxFuture<'_, Result<CloseReply, Fault>> {
        Box::pin(async { Ok(CloseReply::default()) })
    }
}

struct FakeSession {
    fake: Fake,
    stop: CancellationToken,
    max_wait: Duration,
    /// Batches read, which makes tokens for empty ones.
    read: Mutex<u64>,
}

impl FakeSession {
    async fn scripted(&self) -> Result<Batch, Fault> {
        let waiting = |fake: &Fake| !fake.script.state().reads.is_empty();
        tokio::select! {
            () = self.fake.wait_until(waiting) => {}
            () = self.stop.cancelled() => return Err(Fault::cancelled("the session is closed")),
        }
        let next = self.fake.script.state().reads.pop_front();
        next.unwrap_or_else(|| Ok(self.empty()))
    }

    fn empty(&self) -> Batch {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        *read += 1;
        Batch { token: format!("empty-{read}"), ..Batch::default() }
    }
}

impl ChannelSession for FakeSession {
    fn next_batch(&self, ack: Option<String>) -> BoxFuture<'_, Result<Batch, Fault>> {
        Box::pin(async move {
            self.fake.change(|state| state.acks.push(ack));
            let read = timeout(self.max_wait, self.scripted()).await;
            read.unwrap_or_else(|_| Ok(self.empty()))
        })
    }

    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        Box::pin(async move {
            if self.stop.is_cancelled() {
                return SendOutcome::Retry {
                    reason: "the session is closed".into(),
                    after_ms: None,
                    scope: Scope::Account,
                };
            }
            self.fake.change(|state| state.sent.push(message));
            SendOutcome::Accepted { receipt: None }
        })
    }

    fn call(&self, op: &str, _: Value) -> BoxFuture<'_, Result<Value, Fault>> {
        unsupported(op)
    }

    fn close(&self, _: u32) -> BoxFuture<'_, Result<CloseReply, Fault>> {
        self.stop.cancel();
        Box::pin(async { Ok(CloseReply::default()) })
    }
}

fn unsupported<'a>(op: &str) -> BoxFuture<'a, Result<Value, Fault>> {
    let fault = Fault::unsupported(format!("the fake has no operation '{op}'"));
    Box::pin(async move { Err(fault) })
}
