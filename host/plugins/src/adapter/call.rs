//! One call: its deadline, its panic, its documents.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use abi_stable::std_types::RResult;
use futures_util::FutureExt;
use scv_plugin_abi::Reply;
use scv_plugin_api::wire::{Fault, FaultKind, decode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::sanitize;

/// Awaits a reply for at most `limit` and decodes it.
pub(super) async fn await_reply<T: DeserializeOwned>(
    op: &str,
    limit: Duration,
    reply: impl Future<Output = Reply>,
) -> Result<T, Fault> {
    let Ok(reply) = timeout(limit, guarded(reply)).await else {
        return Err(Fault::retry(format!(
            "the plugin did not answer {op} in time; if that goes on, restart the daemon"
        )));
    };
    decode_reply(&format!("the answer to {op}"), reply?)
}

/// Keeps a panic that a plugin let through from taking the caller's task with it.
pub(crate) async fn guarded<T>(future: impl Future<Output = T>) -> Result<T, Fault> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|payload| {
        std::mem::forget(payload);
        Fault::new(FaultKind::Panicked, "the plugin panicked; use another version of it")
    })
}

pub(super) fn decode_reply<T: DeserializeOwned>(what: &str, reply: Reply) -> Result<T, Fault> {
    match reply {
        RResult::ROk(document) => decode(what, &document).map_err(broken),
        RResult::RErr(fault) => Err(decode_fault(&fault)),
    }
}

/// Says what to do about an answer that breaks the rules.
pub(super) fn broken(fault: Fault) -> Fault {
    let message = format!("{}; use another version of the plugin", fault.message);
    Fault { message, ..fault }
}

pub(super) fn decode_fault(document: &[u8]) -> Fault {
    decode("a fault", document).map_or_else(|undecodable| undecodable, sanitize::fault)
}

/// Every document is an object.
pub(super) fn object(payload: Value) -> Result<Value, Fault> {
    if payload.is_object() {
        return Ok(payload);
    }
    Err(Fault::protocol("the payload of a call is no object; this is a bug of scv"))
}
