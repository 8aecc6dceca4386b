//! Serves the raw plugin object over an author's [`Channel`].

use std::{
    sync::{PoisonError, RwLock},
    time::Duration,
};

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RResult, RString, RVec},
};
use async_ffi::{FfiFuture, FutureExt};
use scv_plugin_abi::{RawPlugin, RawPlugin_TO, RawPluginBox, RawSessionBox, Reply};

use super::{
    guard::catch,
    host::Host,
    log::Scope,
    owned::Owned,
    reply::{answer, document, object, reply},
    runtime::PluginRuntime,
    session::ServedSession,
    tasks::{Operation, Tasks, ended},
};
use crate::{
    Channel, LoginUi, Result, Stop,
    wire::{ConnectRequest, LoginReply, LoginRequest, Manifest, decode, encode},
};

/// One plugin, as the host owns it.
pub(super) struct ServedPlugin<C: Channel> {
    /// Taken when the plugin is shut down.
    channel: RwLock<Option<Owned<C>>>,
    manifest: Manifest,
    runtime: PluginRuntime,
    tasks: Tasks,
    host: Host,
}

impl<C: Channel> ServedPlugin<C> {
    pub(super) fn boxed(
        channel: C,
        manifest: Manifest,
        runtime: PluginRuntime,
        host: Host,
    ) -> RawPluginBox {
        let served = Self {
            channel: RwLock::new(Some(Owned::new(channel, runtime.handle()))),
            manifest,
            tasks: Tasks::new(runtime.handle(), Scope::Plugin),
            runtime,
            host,
        };
        RawPlugin_TO::from_value(served, TD_Opaque)
    }

    fn channel(&self) -> Result<Owned<C>> {
        let channel = self.channel.read().unwrap_or_else(PoisonError::into_inner);
        channel.clone().ok_or_else(ended)
    }

    fn inspected(&self, request: &[u8]) -> Result<Vec<u8>> {
        let channel = self.channel()?;
        let _context = self.runtime.handle().enter();
        encode(&channel.inspect(decode("inspect", request)?)?)
    }

    fn logging_in(&self, request: &[u8]) -> Result<Operation<Vec<u8>>> {
        let channel = self.channel()?;
        let request: LoginRequest = decode("login", request)?;
        self.manifest.check_options(&request)?;
        let scope = Scope::Login(request.login_id.clone());
        let ui = self.login_ui(request.login_id.clone());
        Ok(self.tasks.start_in(scope, async move {
            let result = channel.login(request, ui).await?;
            encode(&LoginReply::from(result))
        }))
    }

    fn login_ui(&self, login_id: String) -> LoginUi {
        let host = self.host.clone();
        LoginUi::from_fn(move |event| host.clone().login_event(login_id.clone(), event))
    }

    fn connecting(&self, request: &[u8]) -> Result<Operation<RawSessionBox>> {
        let channel = self.channel()?;
        let request: ConnectRequest = decode("connect", request)?;
        let scope = Scope::Session(request.session_id.clone());
        let session_tasks = Tasks::new(self.runtime.handle(), scope.clone());
        let plugin_tasks = self.tasks.clone();
        Ok(self.tasks.start_in(scope, async move {
            let stop = Stop::new();
            let session = channel.connect(request, stop.clone()).await?;
            Ok(ServedSession::boxed(session, session_tasks, plugin_tasks, stop))
        }))
    }
}

impl<C: Channel> RawPlugin for ServedPlugin<C> {
    fn inspect(&self, request: RVec<u8>) -> Reply {
        reply(catch(|| self.inspected(&request)).and_then(|result| result))
    }

    fn login(&self, request: RVec<u8>) -> FfiFuture<Reply> {
        answer(|| {
            let started = self.logging_in(&request);
            async move { started?.await }
        })
    }

    fn connect(&self, request: RVec<u8>) -> FfiFuture<RResult<RawSessionBox, RVec<u8>>> {
        let started = catch(|| self.connecting(&request)).and_then(|result| result);
        let connected = async move {
            match started {
                Ok(operation) => operation.await.map_err(document).into(),
                Err(fault) => RResult::RErr(document(fault)),
            }
        };
        connected.into_ffi()
    }

    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply> {
        answer(|| {
            let channel = self.channel();
            self.tasks.start(async move {
                let result = channel?.call(&op, decode("call", &payload)?).await?;
                encode(&object(result)?)
            })
        })
    }

    fn shutdown(&self, grace_ms: u32) -> FfiFuture<Reply> {
        answer(|| {
            let channel = self.channel.write().unwrap_or_else(PoisonError::into_inner).take();
            drop(channel);
            self.tasks.end();
            let ending = self.runtime.end(Duration::from_millis(grace_ms.into()));
            async move { encode(&ending?.await.map_err(|_| ended())?) }
        })
    }
}
