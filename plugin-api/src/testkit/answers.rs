//! Awaiting and decoding what a plugin answers.

use std::{future::Future, time::Duration};

use abi_stable::std_types::RResult;
use scv_plugin_abi::Reply;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::{limits::OPERATION_MS, plugin::Trouble, watch::Watch};
use crate::wire::{Fault, FaultKind, decode};

/// Awaits an operation that must end.
pub(super) async fn within<T>(
    op: &'static str,
    operation: impl Future<Output = T>,
) -> Result<T, Trouble> {
    let limit = Duration::from_millis(OPERATION_MS);
    let late = |_| Trouble::Broken { op, what: format!("no answer in {} s", limit.as_secs()) };
    timeout(limit, operation).await.map_err(late)
}

/// Awaits a reply and decodes its document.
pub(super) async fn answer<T: DeserializeOwned>(
    op: &'static str,
    watch: &Watch,
    reply: impl Future<Output = Reply>,
) -> Result<T, Trouble> {
    decoded(op, watch, within(op, reply).await?)
}

pub(super) fn decoded<T: DeserializeOwned>(
    op: &'static str,
    watch: &Watch,
    reply: Reply,
) -> Result<T, Trouble> {
    match reply {
        RResult::ROk(document) => {
            decode(op, &document).map_err(|fault| Trouble::Broken { op, what: fault.message })
        }
        RResult::RErr(document) => Err(fault(op, watch, &document)),
    }
}

/// Reads a fault, which must be sound itself.
pub(super) fn fault(op: &'static str, watch: &Watch, document: &[u8]) -> Trouble {
    let fault: Fault = match decode("a fault", document) {
        Ok(fault) => fault,
        Err(undecodable) => return Trouble::Broken { op, what: undecodable.message },
    };
    watch.heard(fault.message.clone());
    if fault.kind == FaultKind::Panicked {
        return Trouble::Panicked { op };
    }
    Trouble::Fault { op, fault }
}
