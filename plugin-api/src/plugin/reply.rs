//! Turns results into the replies of the raw objects.

use std::future::Future;

use abi_stable::std_types::{RResult, RVec};
use async_ffi::{FfiFuture, FutureExt};
use scv_plugin_abi::Reply;
use serde_json::Value;

use super::guard::catch;
use crate::{
    Result,
    wire::{Fault, encode},
};

/// Starts an operation inside the panic guard and answers with its document.
pub(super) fn answer<F>(start: impl FnOnce() -> F) -> FfiFuture<Reply>
where
    F: Future<Output = Result<Vec<u8>>> + Send + 'static,
{
    match catch(start) {
        Ok(operation) => async move { reply(operation.await) }.into_ffi(),
        Err(fault) => async move { reply(Err(fault)) }.into_ffi(),
    }
}

pub(super) fn reply(result: Result<Vec<u8>>) -> Reply {
    match result {
        Ok(document) => RResult::ROk(document.into()),
        Err(fault) => RResult::RErr(document(fault)),
    }
}

/// A fault as a document; one that is too large to send loses its words.
pub(super) fn document(fault: Fault) -> RVec<u8> {
    let kind = fault.kind;
    encode(&fault.cut())
        .or_else(|_| encode(&Fault::new(kind, "the plugin's own words were too long")))
        .unwrap_or_default()
        .into()
}

/// Whether an author's value may cross: every document is an object.
pub(super) fn object(value: Value) -> Result<Value> {
    if value.is_object() {
        return Ok(value);
    }
    Err(Fault::protocol("the plugin answered a call with no object"))
}
