//! What the author of a channel implements: ordinary async Rust, no ABI in sight.
//!
//! Every future returned here runs as a task of the plugin's own tokio runtime. A panic in it
//! becomes a fault for the host and ends nothing else. A future may be dropped at any await.

use std::future::{Future, ready};

use serde_json::Value;

use crate::{
    LoginUi, Stop,
    wire::{
        Batch, ConnectRequest, CreateConfig, Fault, Identity, InspectRequest, LoginRequest,
        LoginResult, Outgoing, SendOutcome,
    },
};

/// What every operation answers: the value, or why not.
pub type Result<T> = std::result::Result<T, Fault>;

/// Names a batch, chosen by the plugin: [`Batch::token`].
pub type BatchToken = String;

/// A plugin: one value for each loaded copy, shared by the sessions of all accounts.
pub trait Channel: Send + Sync + Sized + 'static {
    /// What [`Channel::connect`] makes.
    type Session: Session;

    /// Makes the plugin. No network, under 5 s; the runtime is there, so clients may be made.
    ///
    /// # Errors
    /// [`Fault::config`] for a setting that is wrong.
    fn create(config: CreateConfig) -> Result<Self>;

    /// Whose credentials these are. Pure, no network, under 1 s, total: also on `{}`.
    ///
    /// # Errors
    /// [`Fault::config`] when nobody can be named at all.
    fn inspect(&self, request: InspectRequest) -> Result<Identity>;

    /// Signs an account in; `ui` shows and asks. When the person gives up the future is dropped.
    fn login(
        &self,
        request: LoginRequest,
        ui: LoginUi,
    ) -> impl Future<Output = Result<LoginResult>> + Send;

    /// Starts a session: endpoint, socket, identity; under 60 s. Catch-up is not part of it.
    ///
    /// `stop` belongs to this session and fires when the host closes it. A session that keeps
    /// it can end a long poll at once; one that ignores it has its [`Session::next_batch`]
    /// dropped 500 ms later.
    fn connect(
        &self,
        request: ConnectRequest,
        stop: Stop,
    ) -> impl Future<Output = Result<Self::Session>> + Send;

    /// Any other operation, by name: `credentials.import` turns `{text}` (an older release's
    /// single file) into a credentials document. An unknown name is [`Fault::unsupported`].
    fn call(&self, op: &str, payload: Value) -> impl Future<Output = Result<Value>> + Send {
        let _ = payload;
        ready(Err(unknown(op)))
    }
}

/// One session of one account.
pub trait Session: Send + Sync + 'static {
    /// Waits for messages, at most the manifest's `max_wait_ms`, then answers an empty batch.
    ///
    /// `ack` is the token of the last batch that the host took and made durable (none before
    /// the first): only now may a request go out that confirms that batch to the platform. The
    /// SDK runs this future in a task of the session and never two at once; a host that stops
    /// waiting loses nothing, so simply awaiting a long poll is right. After a fault the
    /// session is over.
    fn next_batch(&self, ack: Option<BatchToken>) -> impl Future<Output = Result<Batch>> + Send;

    /// Sends one message; runs beside `next_batch` and beside other sends. Under 30 s; a
    /// platform that wants pauses is answered by [`SendOutcome::Retry`], never by sleeping.
    fn send(&self, message: Outgoing) -> impl Future<Output = Result<SendOutcome>> + Send;

    /// Any other operation, by name. An unknown name is [`Fault::unsupported`].
    fn call(&self, op: &str, payload: Value) -> impl Future<Output = Result<Value>> + Send {
        let _ = payload;
        ready(Err(unknown(op)))
    }

    /// The last thing that a session does, after reading has ended.
    fn close(&self) -> impl Future<Output = ()> + Send {
        ready(())
    }
}

fn unknown(op: &str) -> Fault {
    Fault::unsupported(format!("this plugin has no operation '{op}'"))
}
