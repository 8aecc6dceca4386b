//! The transport over an ABI object, whose library is in this process or in a child.
//!
//! Plugin code runs on the plugin's own threads; here are only deadlines, decoding and the
//! texts' sanitizer. `inspect` is the one call that runs on a thread of ours, so it gets one of
//! its own: a tokio runtime waits for its blocking threads when it ends, and this one may hang.

mod call;
mod callbacks;
mod log;
mod logins;
mod session;
mod wedge;

use std::{sync::Arc, thread, time::Duration};

use scv_plugin_abi::{RawHostArc, RawPluginBox};
use scv_plugin_api::{
    host::{BoxFuture, ChannelSession, ChannelTransport, LoginEvents},
    limits::MAX_WAIT_MS,
    wire::{
        CloseReply, ConnectRequest, Fault, Identity, InspectRequest, LoginReply, LoginRequest,
        LoginResult, Manifest, encode,
    },
};
use serde_json::Value;
use tokio::{runtime::Handle, sync::oneshot, time::timeout};

use crate::{Deadlines, child::Process};
use call::{await_reply, broken, decode_reply, object};
use logins::Logins;
use session::AdapterSession;
use wedge::Wedge;

pub(crate) use call::guarded;
pub(crate) use log::level;

/// One loaded plugin.
pub(crate) struct Adapter {
    plugin: Arc<RawPluginBox>,
    manifest: Manifest,
    logins: Arc<Logins>,
    deadlines: Deadlines,
    wedge: Arc<Wedge>,
}

/// What stays here of the object that a plugin is given at `create`.
pub(crate) struct HostSide(Arc<Logins>);

impl HostSide {
    /// It and the object. Callbacks run on `runtime`, never on the plugin's threads.
    pub(crate) fn new(plugin: &str, runtime: Handle, deadlines: &Deadlines) -> (Self, RawHostArc) {
        let logins = Arc::new(Logins::new(deadlines));
        let raw = callbacks::raw_host(plugin, runtime, logins.clone(), deadlines.host_call);
        (Self(logins), raw)
    }
}

impl Adapter {
    pub(crate) fn new(
        plugin: RawPluginBox,
        manifest: Manifest,
        host: HostSide,
        deadlines: Deadlines,
        child: Option<Process>,
    ) -> Self {
        Self {
            wedge: Arc::new(Wedge::new(&manifest.name, child)),
            plugin: Arc::new(plugin),
            manifest,
            logins: host.0,
            deadlines,
        }
    }

    pub(crate) fn is_wedged(&self) -> bool {
        self.wedge.is_set()
    }

    fn next_batch_deadline(&self, channel: &str) -> Duration {
        let declared = self.manifest.channels.iter().find(|declared| declared.id == channel);
        let wait = declared.map_or(MAX_WAIT_MS, |channel| channel.limits.max_wait_ms);
        Duration::from_millis(wait.into()) + self.deadlines.next_batch_margin
    }

    async fn inspect_on_a_thread(&self, request: InspectRequest) -> Result<Identity, Fault> {
        self.wedge.check()?;
        let request = encode(&request)?;
        let plugin = self.plugin.clone();
        let (answer, answered) = oneshot::channel();
        thread::Builder::new()
            .name(format!("inspect-{}", self.manifest.name))
            .spawn(move || answer.send(plugin.inspect(request.into())))
            .map_err(|_| Fault::retry("no thread could be started; free some memory"))?;
        let Ok(reply) = timeout(self.deadlines.inspect, answered).await else {
            // The thread is lost, and the next call would lose another one.
            return Err(self.wedge.set("inspect"));
        };
        let reply = reply.map_err(|_| {
            Fault::other("inspect could not be run; use another version of the plugin")
        })?;
        decode_reply("the answer to inspect", reply)
    }

    async fn log_in(
        &self,
        request: LoginRequest,
        ui: Arc<dyn LoginEvents>,
    ) -> Result<LoginResult, Fault> {
        self.wedge.check()?;
        let login = self.logins.begin(&request.login_id, ui);
        let reply = self.plugin.login(encode(&request)?.into());
        let reply = tokio::select! {
            reply = guarded(reply) => reply?,
            () = login.too_late() => return Err(Fault::retry("the sign-in took too long; start it again")),
        };
        let reply: LoginReply = decode_reply("the answer to login", reply)?;
        login_result(reply)
    }

    async fn open(&self, request: ConnectRequest) -> Result<Box<dyn ChannelSession>, Fault> {
        self.wedge.check()?;
        let next_batch = self.next_batch_deadline(&request.channel);
        let connecting = self.plugin.connect(encode(&request)?.into());
        let connected = timeout(self.deadlines.connect, guarded(connecting)).await;
        let session = connected
            .map_err(|_| Fault::retry("the plugin did not connect in time; check the network"))??
            .into_result()
            .map_err(|fault| call::decode_fault(&fault))?;
        let deadlines = self.deadlines;
        let wedge = self.wedge.clone();
        Ok(Box::new(AdapterSession::new(session, next_batch, deadlines, wedge)))
    }

    async fn call_op(&self, op: &str, payload: Value) -> Result<Value, Fault> {
        self.wedge.check()?;
        let reply = self.plugin.call(op.into(), encode(&object(payload)?)?.into());
        await_reply("call", self.deadlines.call, reply).await
    }

    async fn end(&self, grace_ms: u32) -> Result<CloseReply, Fault> {
        let limit = Duration::from_millis(grace_ms.into()) + self.deadlines.close_margin;
        let reply = await_reply("shutdown", limit, self.plugin.shutdown(grace_ms)).await;
        self.wedge.judge("shutdown", reply)
    }
}

impl ChannelTransport for Adapter {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn inspect(&self, request: InspectRequest) -> BoxFuture<'_, Result<Identity, Fault>> {
        Box::pin(self.inspect_on_a_thread(request))
    }

    fn login(
        &self,
        request: LoginRequest,
        ui: Arc<dyn LoginEvents>,
    ) -> BoxFuture<'_, Result<LoginResult, Fault>> {
        Box::pin(self.log_in(request, ui))
    }

    fn connect(
        &self,
        request: ConnectRequest,
    ) -> BoxFuture<'_, Result<Box<dyn ChannelSession>, Fault>> {
        Box::pin(self.open(request))
    }

    fn call(&self, op: &str, payload: Value) -> BoxFuture<'_, Result<Value, Fault>> {
        let op = op.to_owned();
        Box::pin(async move { self.call_op(&op, payload).await })
    }

    fn shutdown(&self, grace_ms: u32) -> BoxFuture<'_, Result<CloseReply, Fault>> {
        Box::pin(self.end(grace_ms))
    }
}

fn login_result(reply: LoginReply) -> Result<LoginResult, Fault> {
    let summary = crate::sanitize::line(&reply.summary, crate::limits::MAX_LOG_LINE_CHARS_COUNT);
    match (reply.credentials, reply.unchanged) {
        (Some(credentials), false) if credentials.expose().is_object() => {
            Ok(LoginResult::SignedIn { credentials, summary })
        }
        (None, true) => Ok(LoginResult::Unchanged { summary }),
        _ => Err(broken(Fault::protocol("the answer to login holds no credentials"))),
    }
}
