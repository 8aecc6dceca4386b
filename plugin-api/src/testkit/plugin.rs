//! A created plugin, typed: every answer in time and decoded, every fault watched.

use std::{fmt, sync::Arc};

use abi_stable::std_types::RResult;
use scv_plugin_abi::RawPluginBox;
use serde_json::Value;

use super::{
    Subject,
    answers::{answer, decoded, fault, within},
    limits::GRACE_MS,
    session::Session,
    watch::Watch,
};
use crate::wire::{
    CloseReply, ConnectRequest, CreateConfig, Fault, Identity, InspectRequest, LoginReply,
    LoginRequest, encode,
};

/// Why an operation brought no value.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The plugin said so.
    Fault { op: &'static str, fault: Fault },
    /// The author's code panicked.
    Panicked { op: &'static str },
    /// The plugin broke a rule of the boundary.
    Broken { op: &'static str, what: String },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault { op, fault } => write!(f, "{op}: {:?}: {fault}", fault.kind),
            Self::Panicked { op } => write!(f, "{op}: it panicked; the plugin's log says where"),
            Self::Broken { op, what } => write!(f, "{op}: {what}"),
        }
    }
}

/// A plugin after `create`.
pub(super) struct Plugin {
    raw: Arc<RawPluginBox>,
    pub(super) watch: Arc<Watch>,
}

impl Plugin {
    pub(super) async fn create(
        subject: &Subject,
        mut config: CreateConfig,
    ) -> Result<Self, Trouble> {
        if config.host.name.is_empty() {
            config.host.name = "scv-testkit".into();
            config.host.abi = "1.0".into();
        }
        let config = document("create", &config)?;
        let watch = Watch::new();
        let (create, host) = (subject.module().create(), watch.raw());
        let created = on_a_thread("create", move || create(config.into(), host)).await?;
        match created {
            RResult::ROk(raw) => Ok(Self { raw: Arc::new(raw), watch }),
            RResult::RErr(document) => Err(fault("create", &watch, &document)),
        }
    }

    pub(super) async fn inspect(
        &self,
        channel: &str,
        credentials: Value,
    ) -> Result<Identity, Trouble> {
        let request = InspectRequest {
            channel: channel.into(),
            account: "default".into(),
            credentials: credentials.into(),
        };
        self.inspect_raw(document("inspect", &request)?).await
    }

    pub(super) async fn inspect_raw(&self, request: Vec<u8>) -> Result<Identity, Trouble> {
        let raw = self.raw.clone();
        let reply = on_a_thread("inspect", move || raw.inspect(request.into())).await?;
        decoded("inspect", &self.watch, reply)
    }

    pub(super) async fn login(&self, request: &LoginRequest) -> Result<LoginReply, Trouble> {
        self.login_raw(document("login", request)?).await
    }

    pub(super) async fn login_raw(&self, request: Vec<u8>) -> Result<LoginReply, Trouble> {
        answer("login", &self.watch, self.raw.login(request.into())).await
    }

    pub(super) async fn connect(&self, request: &ConnectRequest) -> Result<Session, Trouble> {
        self.connect_raw(document("connect", request)?).await
    }

    pub(super) async fn connect_raw(&self, request: Vec<u8>) -> Result<Session, Trouble> {
        match within("connect", self.raw.connect(request.into())).await? {
            RResult::ROk(raw) => Ok(Session::new(raw, self.watch.clone())),
            RResult::RErr(document) => Err(fault("connect", &self.watch, &document)),
        }
    }

    pub(super) async fn call_raw(&self, op: &str, payload: Vec<u8>) -> Result<Value, Trouble> {
        answer("call", &self.watch, self.raw.call(op.into(), payload.into())).await
    }

    pub(super) async fn shutdown(&self) -> Result<CloseReply, Trouble> {
        answer("shutdown", &self.watch, self.raw.shutdown(GRACE_MS)).await
    }
}

/// Runs an entry that does not wait on a thread that may be lost.
async fn on_a_thread<T: Send + 'static>(
    op: &'static str,
    entry: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Trouble> {
    let joined = within(op, tokio::task::spawn_blocking(entry)).await?;
    joined.map_err(|_| Trouble::Broken { op, what: "it panicked through the boundary".into() })
}

pub(super) fn document<T: serde::Serialize>(
    op: &'static str,
    value: &T,
) -> Result<Vec<u8>, Trouble> {
    encode(value).map_err(|fault| Trouble::Broken { op, what: fault.message })
}
