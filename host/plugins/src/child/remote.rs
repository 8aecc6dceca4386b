//! A plugin in a child, as the ABI shows it: so the same adapter speaks to both forms.

use std::sync::Arc;

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RBox, RResult, RString, RVec},
};
use async_ffi::{FfiFuture, FutureExt};
use scv_plugin_abi::{
    RawPlugin, RawPlugin_TO, RawPluginBox, RawSession, RawSession_TO, RawSessionBox, Reply,
};
use scv_plugin_api::wire::Fault;

use super::{
    frame::{Kind, put_text},
    link::{Link, fault},
};

/// The plugin of a child in which `create` has succeeded.
pub(super) fn plugin(link: Arc<Link>) -> RawPluginBox {
    RawPlugin_TO::from_ptr(RBox::new(Remote(link)), TD_Opaque)
}

struct Remote(Arc<Link>);

impl RawPlugin for Remote {
    /// Called on a thread of its own, which this blocks.
    fn inspect(&self, request: RVec<u8>) -> Reply {
        let (_, answer) = self.0.request(Kind::Inspect, request.into_vec());
        match tokio::runtime::Builder::new_current_thread().build() {
            Ok(runtime) => runtime.block_on(answer),
            Err(_) => fault(&Fault::retry("no runtime could be made; free some memory")),
        }
    }

    fn login(&self, request: RVec<u8>) -> FfiFuture<Reply> {
        self.0.request(Kind::Login, request.into_vec()).1.into_ffi()
    }

    fn connect(&self, request: RVec<u8>) -> FfiFuture<RResult<RawSessionBox, RVec<u8>>> {
        let (id, answer) = self.0.request(Kind::Connect, request.into_vec());
        let link = Arc::clone(&self.0);
        async move {
            answer.await.map(|_| {
                let session = RemoteSession { link, id };
                RawSession_TO::from_ptr(RBox::new(session), TD_Opaque)
            })
        }
        .into_ffi()
    }

    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply> {
        let mut document = Vec::new();
        put_text(&mut document, &op);
        document.extend_from_slice(&payload);
        self.0.request(Kind::Call, document).1.into_ffi()
    }

    fn shutdown(&self, grace_ms: u32) -> FfiFuture<Reply> {
        self.0.request(Kind::Shutdown, grace_ms.to_le_bytes().to_vec()).1.into_ffi()
    }
}

struct RemoteSession {
    link: Arc<Link>,
    /// That of the request which made it.
    id: u64,
}

impl RemoteSession {
    fn request(&self, kind: Kind, op: Option<&str>, rest: &[u8]) -> FfiFuture<Reply> {
        let mut document = self.id.to_le_bytes().to_vec();
        if let Some(op) = op {
            put_text(&mut document, op);
        }
        document.extend_from_slice(rest);
        self.link.request(kind, document).1.into_ffi()
    }
}

impl RawSession for RemoteSession {
    fn next_batch(&self, request: RVec<u8>) -> FfiFuture<Reply> {
        self.request(Kind::NextBatch, None, &request)
    }

    fn send(&self, request: RVec<u8>) -> FfiFuture<Reply> {
        self.request(Kind::Send, None, &request)
    }

    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply> {
        self.request(Kind::SessionCall, Some(&op), &payload)
    }

    fn close(&self, grace_ms: u32) -> FfiFuture<Reply> {
        self.request(Kind::Close, None, &grace_ms.to_le_bytes())
    }
}

impl Drop for RemoteSession {
    fn drop(&mut self) {
        self.link.tell(self.id, Kind::Forget, []);
    }
}
