//! The transport traits: what the host's bridge and sign-in command work with.
//!
//! `scv-plugin-host` implements them over a loaded library (in process) and as a fake for
//! tests. Deadlines, sanitizing and decoding are done behind these traits, so that callers
//! see typed documents only.

use std::{future::Future, pin::Pin, sync::Arc};

use serde_json::Value;

use crate::wire::{
    Batch, CloseReply, ConnectRequest, Fault, Identity, InspectRequest, LoginEventBody,
    LoginRequest, LoginResult, Manifest, Outgoing, PromptAnswer, SendOutcome,
};

/// A boxed future: the traits here are object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One loaded plugin.
pub trait ChannelTransport: Send + Sync {
    /// What the plugin says about itself.
    fn manifest(&self) -> &Manifest;

    /// Whose credentials these are.
    fn inspect(&self, request: InspectRequest) -> BoxFuture<'_, Result<Identity, Fault>>;

    /// Signs an account in; `ui` shows and asks. Dropping the future cancels it.
    fn login(
        &self,
        request: LoginRequest,
        ui: Arc<dyn LoginEvents>,
    ) -> BoxFuture<'_, Result<LoginResult, Fault>>;

    /// Starts a session.
    fn connect(
        &self,
        request: ConnectRequest,
    ) -> BoxFuture<'_, Result<Box<dyn ChannelSession>, Fault>>;

    /// Any later operation; one that the plugin does not know is `unsupported`.
    fn call(&self, op: &str, payload: Value) -> BoxFuture<'_, Result<Value, Fault>>;

    /// Ends the plugin's runtime. All sessions are closed first.
    fn shutdown(&self, grace_ms: u32) -> BoxFuture<'_, Result<CloseReply, Fault>>;
}

/// One session of one account.
pub trait ChannelSession: Send + Sync {
    /// Waits for a batch; `ack` is the token of the last batch returned, now durable.
    /// At most one in flight. Dropping the future loses nothing.
    fn next_batch(&self, ack: Option<String>) -> BoxFuture<'_, Result<Batch, Fault>>;

    /// Sends one message. A fault or a missed deadline comes back as
    /// [`SendOutcome::Retry`], so that callers have one path.
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome>;

    /// Any later operation; one that the plugin does not know is `unsupported`.
    fn call(&self, op: &str, payload: Value) -> BoxFuture<'_, Result<Value, Fault>>;

    /// Ends the session. Called while `next_batch` is still awaited: an answer that has begun
    /// to arrive may still be returned there.
    fn close(&self, grace_ms: u32) -> BoxFuture<'_, Result<CloseReply, Fault>>;
}

/// What a sign-in shows and asks.
pub trait LoginEvents: Send + Sync {
    /// Shows an event; answers it when it is a prompt (others get an empty answer).
    fn event(&self, event: LoginEventBody) -> BoxFuture<'_, PromptAnswer>;
}
