//! A plugin of ABI 1.0 without any SDK: one message, and the documents written by hand.

use std::sync::atomic::{AtomicU32, Ordering};

use abi_stable::{
    library::{__call_root_module_loader, CheckTypeLayout, LibHeader, RootModuleResult},
    prefix_type::PrefixTypeTrait,
    sabi_trait::TD_Opaque,
    std_types::{RResult, RStr, RString, RVec},
};
use async_ffi::{FfiFuture, FutureExt};
use scv_plugin_abi::*;

const MANIFEST: &str = r#"{"scv_plugin":1,"abi":"1.0","name":"frozen","version":"1.0.0","channels":[{"id":"frozen","title":"Frozen","limits":{"max_message_bytes":4096,"sends_per_reply":null,"max_wait_ms":1000},"unprompted":"direct","login_options":[]}]}"#;

#[unsafe(no_mangle)]
pub static SCV_CHANNEL_MANIFEST_1: [u8; MANIFEST.len()] =
    *MANIFEST.as_bytes().first_chunk().unwrap();
// SAFETY: `root` returns a `PluginModule_Ref`, erased by abi_stable's own function.
#[unsafe(no_mangle)]
pub static SCV_CHANNEL_PLUGIN_ABI_1: LibHeader =
    unsafe { LibHeader::from_constructor::<PluginModule_Ref>(root, CheckTypeLayout::Yes) };

extern "C" fn root() -> RootModuleResult {
    __call_root_module_loader(|| PluginModule { manifest, create }.leak_into_prefix())
}
extern "C" fn manifest() -> RStr<'static> {
    RStr::from_str(MANIFEST)
}
extern "C" fn create(_: RVec<u8>, host: RawHostArc) -> RResult<RawPluginBox, RVec<u8>> {
    host.log(3, "frozen".into(), r#"{"text":"created"}"#.into());
    RResult::ROk(RawPlugin_TO::from_value(Plugin, TD_Opaque))
}

struct Plugin;
/// How many batches were given.
struct Session(AtomicU32);

fn ok(document: impl Into<String>) -> Reply {
    RResult::ROk(document.into().into_bytes().into())
}
fn unsupported() -> Reply {
    RResult::RErr(br#"{"kind":"unsupported","message":"no such operation"}"#.to_vec().into())
}
fn ready(reply: Reply) -> FfiFuture<Reply> {
    async move { reply }.into_ffi()
}

impl RawPlugin for Plugin {
    fn inspect(&self, _: RVec<u8>) -> Reply {
        ok(r#"{"bot_id":"frozen","owner_id":"ann","fingerprint":["frozen"]}"#)
    }
    fn login(&self, _: RVec<u8>) -> FfiFuture<Reply> {
        ready(ok(r#"{"credentials":{"from":"1.0"},"summary":"signed in"}"#))
    }
    fn connect(&self, _: RVec<u8>) -> FfiFuture<RResult<RawSessionBox, RVec<u8>>> {
        let session = Session(AtomicU32::new(0));
        async { RResult::ROk(RawSession_TO::from_value(session, TD_Opaque)) }.into_ffi()
    }
    fn call(&self, _: RString, _: RVec<u8>) -> FfiFuture<Reply> {
        ready(unsupported())
    }
    fn shutdown(&self, _: u32) -> FfiFuture<Reply> {
        ready(ok(r#"{"tasks_left":0}"#))
    }
}

impl RawSession for Session {
    fn next_batch(&self, _: RVec<u8>) -> FfiFuture<Reply> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        if number == 1 {
            let message = r#"{"id":"m1","kind":"text","conversation":{"id":"ann"},"sender":"ann","text":"from 1.0"}"#;
            return ready(ok(format!(
                r#"{{"token":"t1","checkpoint":"c1","messages":[{message}]}}"#
            )));
        }
        // Without a runtime: a pause on this thread is all that a plugin of 60 lines has.
        std::thread::sleep(std::time::Duration::from_millis(if number == 0 { 0 } else { 20 }));
        ready(ok(format!(r#"{{"token":"t{number}","checkpoint":"","messages":[]}}"#)))
    }
    fn send(&self, _: RVec<u8>) -> FfiFuture<Reply> {
        ready(ok(r#"{"outcome":"accepted","receipt":"r1"}"#))
    }
    fn call(&self, _: RString, _: RVec<u8>) -> FfiFuture<Reply> {
        ready(unsupported())
    }
    fn close(&self, _: u32) -> FfiFuture<Reply> {
        ready(ok(r#"{"tasks_left":0}"#))
    }
}
