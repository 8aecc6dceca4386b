//! What the host offers a plugin. Nothing here may panic: that would end the process.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RArc, RResult, RStr, RString, RVec},
};
use async_ffi::{FfiFuture, FutureExt};
use scv_plugin_abi::{RawHost, RawHost_TO, RawHostArc, Reply};
use scv_plugin_api::wire::{Fault, LoginEvent, decode, encode};
use tokio::{runtime::Handle, task::AbortHandle};

use super::{log::Log, logins::Logins};

/// The object that a plugin is given at `create`.
pub(super) fn raw_host(
    plugin: &str,
    runtime: Handle,
    logins: Arc<Logins>,
    deadline: Duration,
) -> RawHostArc {
    let callbacks = Callbacks { log: Log::new(plugin), runtime, logins, deadline };
    RawHost_TO::from_ptr(RArc::new(callbacks), TD_Opaque)
}

struct Callbacks {
    log: Log,
    runtime: Handle,
    logins: Arc<Logins>,
    deadline: Duration,
}

impl RawHost for Callbacks {
    fn log_enabled(&self, level: u8) -> bool {
        quietly(|| self.log.enabled(level)).unwrap_or(false)
    }

    fn log(&self, level: u8, target: RStr<'_>, record: RStr<'_>) {
        quietly(|| self.log.line(level, &target, &record));
    }

    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply> {
        let answering = quietly(|| self.answer(&op, payload.into_vec()));
        async move {
            let answer = match answering {
                Some(answering) => answering.await,
                None => Err(Fault::other("the host failed")),
            };
            match answer {
                Ok(document) => RResult::ROk(document.into()),
                Err(fault) => RResult::RErr(encode(&fault).unwrap_or_default().into()),
            }
        }
        .into_ffi()
    }
}

impl Callbacks {
    /// Runs the body on the host's runtime: the plugin's threads have no reactor of ours.
    fn answer(
        &self,
        op: &str,
        payload: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, Fault>> + Send + use<> {
        let known = op == "login.event";
        let logins = self.logins.clone();
        let deadline = self.deadline;
        let task = self.runtime.spawn(async move {
            if !known {
                return Err(Fault::unsupported("this host has no such operation"));
            }
            let event: LoginEvent = decode("login.event", &payload)?;
            encode(&logins.show(event, deadline).await?)
        });
        let abort = AbortOnDrop(task.abort_handle());
        async move {
            let answer = task.await;
            drop(abort);
            answer.unwrap_or_else(|_| Err(Fault::cancelled("the host is ending")))
        }
    }
}

/// When the plugin stops waiting, so does the host.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn quietly<T>(body: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).map_err(std::mem::forget).ok()
}
