//! The host, as the SDK calls it.

use std::sync::Arc;

use abi_stable::std_types::{RResult, RStr};
use scv_plugin_abi::RawHostArc;

use crate::{
    Result,
    wire::{Fault, LoginEvent, LoginEventBody, PromptAnswer, decode, encode},
};

/// The host that loaded this plugin.
#[derive(Clone)]
pub(super) struct Host(Arc<RawHostArc>);

impl Host {
    pub(super) fn new(raw: RawHostArc) -> Self {
        Self(Arc::new(raw))
    }

    pub(super) fn log_enabled(&self, level: u8) -> bool {
        self.0.log_enabled(level)
    }

    pub(super) fn log(&self, level: u8, target: &str, record: &str) {
        self.0.log(level, RStr::from_str(target), RStr::from_str(record));
    }

    /// Shows an event of a sign-in and waits for what the person answers.
    pub(super) async fn login_event(
        self,
        login_id: String,
        body: LoginEventBody,
    ) -> Result<PromptAnswer> {
        let event = encode(&LoginEvent { login_id, body })?;
        match self.0.call("login.event".into(), event.into()).await {
            RResult::ROk(answer) => decode("the answer to login.event", &answer),
            RResult::RErr(fault) => Err(decode_fault(&fault)),
        }
    }
}

fn decode_fault(bytes: &[u8]) -> Fault {
    decode("a fault of the host", bytes).unwrap_or_else(|undecodable| undecodable)
}
