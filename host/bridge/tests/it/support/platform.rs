//! A platform and its plugin: messages are pushed in, what is sent is recorded, and outcomes
//! are scripted.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use scv_plugin_api::{
    host::{BoxFuture, ChannelSession, ChannelTransport, LoginEvents},
    wire::{
        Batch, ChannelManifest, CloseReply, ConnectRequest, Conversation, Fault, Identity, Inbound,
        InboundKind, InspectRequest, LoginRequest, LoginResult, Manifest, Outgoing, Secret,
        SendOutcome,
    },
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{home::identity, wait_for};

#[derive(Clone)]
pub(crate) struct Platform {
    shared: Arc<Shared>,
    manifest: Arc<Manifest>,
}

struct Shared {
    state: Mutex<PlatformState>,
    changed: Notify,
}

#[derive(Default)]
pub(crate) struct PlatformState {
    /// Everything that was ever written to the bot; a checkpoint is a place in it.
    log: Vec<Inbound>,
    /// Every call of send, with what it came to.
    pub(crate) sent: Vec<(Outgoing, SendOutcome)>,
    /// What the next sends come to; accepted with a receipt when there is none.
    pub(crate) outcomes: VecDeque<SendOutcome>,
    /// What the next polls come to, before anything else.
    pub(crate) faults: VecDeque<Fault>,
    /// How many of the next polls hear nothing.
    pub(crate) silences: usize,
    /// Checkpoints of all connects.
    pub(crate) connects: Vec<Option<String>>,
    /// Acks of all polls.
    pub(crate) acks: Vec<Option<String>>,
    pub(crate) tasks_left: u32,
    /// Accounts about which the plugin does not answer for now.
    pub(crate) unasked: HashSet<String>,
    /// What the next questions about an account come to.
    pub(crate) inspect_faults: HashMap<String, Fault>,
    /// Sessions that are told to close wait while this is set.
    pub(crate) holds_close: bool,
    /// Looks at each message before it is sent; false: look again in a moment.
    pub(crate) witness: Option<Witness>,
    is_closed: bool,
}

pub(crate) type Witness = Arc<dyn Fn(&Outgoing) -> bool + Send + Sync>;

impl Platform {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ChannelManifest)) -> Self {
        let mut manifest = manifest();
        change(&mut manifest.channels[0]);
        Self {
            shared: Arc::new(Shared { state: Mutex::default(), changed: Notify::new() }),
            manifest: Arc::new(manifest),
        }
    }

    pub(crate) fn channel(&self) -> ChannelManifest {
        self.manifest.channels[0].clone()
    }

    pub(crate) fn state<T>(&self, look: impl FnOnce(&mut PlatformState) -> T) -> T {
        let value = look(&mut self.shared.state.lock().unwrap());
        self.shared.changed.notify_waiters();
        value
    }

    pub(crate) fn push(&self, messages: impl IntoIterator<Item = Inbound>) {
        self.state(|state| state.log.extend(messages));
    }

    /// Waits until `look` finds something.
    pub(crate) async fn wait<T>(
        &self,
        what: &str,
        look: impl Fn(&PlatformState) -> Option<T>,
    ) -> T {
        let look = || look(&self.shared.state.lock().unwrap());
        wait_for(&self.shared.changed, what, look).await
    }

    /// Waits until `count` messages were accepted, and answers their texts.
    pub(crate) async fn accepted(&self, count: usize) -> Vec<String> {
        self.wait("accepted messages", |state| {
            let texts = state.accepted();
            (texts.len() >= count).then_some(texts)
        })
        .await
    }
}

impl PlatformState {
    /// Texts of the accepted messages, in order.
    pub(crate) fn accepted(&self) -> Vec<String> {
        let accepted = self.sent.iter().filter(|(_, o)| matches!(o, SendOutcome::Accepted { .. }));
        accepted.map(|(message, _)| message.text.clone()).collect()
    }
}

/// A text in a direct chat.
pub(crate) fn direct(id: &str, sender: &str, text: &str) -> Inbound {
    Inbound {
        id: id.into(),
        kind: InboundKind::Text,
        conversation: Conversation { id: sender.into(), ..Conversation::default() },
        sender: sender.into(),
        text: Some(text.into()),
        reply_token: Some(Secret::new(format!("handle-{id}"))),
        ..Inbound::default()
    }
}

/// A text in a group.
pub(crate) fn in_group(id: &str, group: &str, sender: &str, text: &str) -> Inbound {
    Inbound {
        conversation: Conversation { id: group.into(), group: true, thread: None },
        ..direct(id, sender, text)
    }
}

fn manifest() -> Manifest {
    serde_json::from_value(json!({
        "scv_plugin": 1, "abi": "1.0", "name": "pigeon", "version": "0.1.0",
        "channels": [{
            "id": "pigeon", "title": "Pigeon", "receipts": true, "unprompted": "direct",
            "groups": true, "replay": "platform", "relogin": "same_identity",
            "limits": {"max_message_bytes": 128, "sends_per_reply": 1, "max_wait_ms": 30_000},
        }],
    }))
    .unwrap()
}

impl ChannelTransport for Platform {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn inspect(&self, request: InspectRequest) -> BoxFuture<'_, Result<Identity, Fault>> {
        Box::pin(async move {
            let account = request.account;
            let is_answered = |s: &PlatformState| (!s.unasked.contains(&account)).then_some(());
            self.wait("an answer of the plugin", is_answered).await;
            match self.state(|state| state.inspect_faults.remove(&account)) {
                Some(fault) => Err(fault),
                None => Ok(identity(request.credentials.expose())),
            }
        })
    }

    fn login(
        &self,
        _: LoginRequest,
        _: Arc<dyn LoginEvents>,
    ) -> BoxFuture<'_, Result<LoginResult, Fault>> {
        Box::pin(async { Err(Fault::unsupported("no sign-in here")) })
    }

    fn connect(
        &self,
        request: ConnectRequest,
    ) -> BoxFuture<'_, Result<Box<dyn ChannelSession>, Fault>> {
        Box::pin(async move {
            self.state(|state| {
                state.connects.push(request.checkpoint.clone());
                state.is_closed = false;
            });
            let at = request.checkpoint.map_or(0, |at| at.parse().unwrap());
            Ok(Box::new(Session {
                shared: Arc::clone(&self.shared),
                at: Mutex::new(Place { at, token: None }),
            }) as Box<dyn ChannelSession>)
        })
    }

    fn call(&self, _: &str, _: Value) -> BoxFuture<'_, Result<Value, Fault>> {
        Box::pin(async { Err(Fault::unsupported("no calls here")) })
    }

    fn shutdown(&self, _: u32) -> BoxFuture<'_, Result<CloseReply, Fault>> {
        Box::pin(async { Ok(CloseReply::default()) })
    }
}

struct Session {
    shared: Arc<Shared>,
    at: Mutex<Place>,
}

struct Place {
    at: usize,
    token: Option<String>,
}

impl Session {
    fn next(&self) -> Option<Result<Batch, Fault>> {
        let mut state = self.shared.state.lock().unwrap();
        if let Some(fault) = state.faults.pop_front() {
            return Some(Err(fault));
        }
        let mut place = self.at.lock().unwrap();
        if state.silences > 0 {
            state.silences -= 1;
            place.token = Some("nothing heard".into());
            let token = "nothing heard".into();
            return Some(Ok(Batch { token, quiet: true, ..Batch::default() }));
        }
        let is_first = place.token.is_none();
        if state.log.len() == place.at && !is_first {
            let closed = state.is_closed;
            return closed.then(|| Err(Fault::cancelled("closed")));
        }
        let until = state.log.len().min(place.at + 256);
        let messages = state.log[place.at..until].to_vec();
        place.at = until;
        place.token = Some(until.to_string());
        Some(Ok(Batch {
            token: until.to_string(),
            checkpoint: if until == 0 { String::new() } else { until.to_string() },
            messages,
            ..Batch::default()
        }))
    }
}

impl ChannelSession for Session {
    fn next_batch(&self, ack: Option<String>) -> BoxFuture<'_, Result<Batch, Fault>> {
        Box::pin(async move {
            assert_eq!(ack, self.at.lock().unwrap().token, "the ack is not the last token");
            self.shared.state.lock().unwrap().acks.push(ack);
            wait_for(&self.shared.changed, "a batch", || self.next()).await
        })
    }

    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        Box::pin(async move {
            let witness = self.shared.state.lock().unwrap().witness.clone();
            while witness.as_ref().is_some_and(|witness| !witness(&message)) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let mut state = self.shared.state.lock().unwrap();
            let outcome = state
                .outcomes
                .pop_front()
                .unwrap_or(SendOutcome::Accepted { receipt: Some("r".into()) });
            state.sent.push((message, outcome.clone()));
            drop(state);
            self.shared.changed.notify_waiters();
            outcome
        })
    }

    fn call(&self, _: &str, _: Value) -> BoxFuture<'_, Result<Value, Fault>> {
        Box::pin(async { Err(Fault::unsupported("no calls here")) })
    }

    fn close(&self, _: u32) -> BoxFuture<'_, Result<CloseReply, Fault>> {
        Box::pin(async {
            let may_close = || (!self.shared.state.lock().unwrap().holds_close).then_some(());
            wait_for(&self.shared.changed, "leave to close", may_close).await;
            let mut state = self.shared.state.lock().unwrap();
            state.is_closed = true;
            let tasks_left = state.tasks_left;
            drop(state);
            self.shared.changed.notify_waiters();
            Ok(CloseReply { tasks_left })
        })
    }
}
