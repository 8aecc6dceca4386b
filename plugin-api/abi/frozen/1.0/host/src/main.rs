//! A host of ABI 1.0: loads a plugin and runs the table of operations, with the documents of 1.0
//! written by hand. `frozen-host FILE [CREDENTIALS]`; with credentials a session is opened, too.

use std::{
    env,
    future::Future,
    process::ExitCode,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use abi_stable::{
    library::AbiHeaderRef,
    sabi_trait::TD_Opaque,
    std_types::{RArc, RResult, RStr, RString, RVec},
};
use async_ffi::{FfiFuture, FutureExt};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use scv_plugin_abi::*;
use serde_json::{Value, json};

/// Every operation of these ends by itself long before.
const LIMIT: Duration = Duration::from_secs(120);

type Tried<T> = Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (file, credentials) = match &arguments[..] {
        [file] => (file, None),
        [file, credentials] => (file, Some(credentials)),
        _ => return failed("frozen-host FILE [CREDENTIALS]"),
    };
    match run(file, credentials.map(String::as_str)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => failed(&wrong),
    }
}

fn failed(text: &str) -> ExitCode {
    eprintln!("frozen-host: {text}");
    ExitCode::FAILURE
}

fn run(file: &str, credentials: Option<&str>) -> Tried<()> {
    let module = load(file)?;
    let manifest: Value = serde_json::from_str(module.manifest()().as_str()).map_err(text)?;
    check("manifest", manifest["scv_plugin"] == 1 && manifest["abi"] == "1.0", &manifest)?;
    let channel = manifest["channels"][0]["id"].as_str().ok_or("manifest: no channel")?;

    let config = json!({
        "host": {"name": "frozen-host", "version": "1.0.0", "abi": "1.0", "features": []},
        "network": {"user_agent": "frozen-host"},
        "settings": {},
    });
    let plugin =
        match module.create()(bytes(&config), RawHost_TO::from_ptr(RArc::new(Host), TD_Opaque)) {
            RResult::ROk(plugin) => plugin,
            RResult::RErr(fault) => return Err(format!("create: {}", lossy(&fault))),
        };
    println!("ok  create");

    let unknown = wait(plugin.call("no.such.operation".into(), bytes(&json!({}))))?;
    fault("call", unknown, "unsupported")?;
    fault("inspect of garbage", plugin.inspect(b"[]".to_vec().into()), "protocol")?;
    if let Some(credentials) = credentials {
        let credentials: Value = serde_json::from_str(credentials).map_err(text)?;
        let inspect = json!({"channel": channel, "account": "default", "credentials": credentials});
        let identity = value("inspect", plugin.inspect(bytes(&inspect)))?;
        check("inspect", identity["fingerprint"].is_array(), &identity)?;
        session(&plugin, channel, &credentials)?;
    }
    let ended = value("shutdown", wait(plugin.shutdown(5_000))?)?;
    check("shutdown", ended["tasks_left"] == 0, &ended)
}

fn session(plugin: &RawPluginBox, channel: &str, credentials: &Value) -> Tried<()> {
    let connect = json!({
        "session_id": "s1",
        "channel": channel,
        "account": "default",
        "credentials": credentials,
        "checkpoint": null,
    });
    let session = match wait(plugin.connect(bytes(&connect)))? {
        RResult::ROk(session) => session,
        RResult::RErr(fault) => return Err(format!("connect: {}", lossy(&fault))),
    };
    println!("ok  connect");
    let batch = value("next_batch", wait(session.next_batch(bytes(&json!({"ack": null}))))?)?;
    check("next_batch", batch["token"].is_string() && batch["messages"].is_array(), &batch)?;
    let message = json!({
        "client_id": "c1",
        "text": "hello",
        "reply": {"message_id": "m1", "reply_token": null},
        "recipient": {"user": "ann", "group": null},
    });
    let outcome = value("send", wait(session.send(bytes(&message)))?)?;
    check("send", outcome["outcome"].is_string(), &outcome)?;
    let unknown = wait(session.call("no.such.operation".into(), bytes(&json!({}))))?;
    fault("session call", unknown, "unsupported")?;
    let closed = value("close", wait(session.close(5_000))?)?;
    check("close", closed["tasks_left"] == 0, &closed)
}

fn load(file: &str) -> Tried<PluginModule_Ref> {
    let file = std::path::absolute(file).map_err(text)?;
    // SAFETY: whoever starts this program wants the library's code to run.
    let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_LOCAL) }.map_err(text)?;
    // SAFETY: the symbol is a static that begins with abi_stable's header.
    let header =
        *unsafe { library.get::<AbiHeaderRef>(b"SCV_CHANNEL_PLUGIN_ABI_1\0") }.map_err(text)?;
    std::mem::forget(library);
    header
        .upgrade()
        .and_then(|header| header.init_root_module::<PluginModule_Ref>())
        .map_err(|error| format!("load: {error}"))
}

/// The host's own object: keeps nothing, knows one operation.
struct Host;

impl RawHost for Host {
    fn log_enabled(&self, _: u8) -> bool {
        true
    }
    fn log(&self, _: u8, _: RStr<'_>, _: RStr<'_>) {}
    fn call(&self, op: RString, _: RVec<u8>) -> FfiFuture<Reply> {
        let reply = match op.as_str() {
            "login.event" => RResult::ROk(b"{}".to_vec().into()),
            _ => RResult::RErr(br#"{"kind":"unsupported","message":"no"}"#.to_vec().into()),
        };
        async move { reply }.into_ffi()
    }
}

fn bytes(document: &Value) -> RVec<u8> {
    document.to_string().into_bytes().into()
}

fn lossy(document: &[u8]) -> String {
    String::from_utf8_lossy(document).into_owned()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn check(op: &str, holds: bool, document: &Value) -> Tried<()> {
    if !holds {
        return Err(format!("{op}: {document}"));
    }
    println!("ok  {op}");
    Ok(())
}

/// A reply that must be a result.
fn value(op: &str, reply: Reply) -> Tried<Value> {
    match reply {
        RResult::ROk(document) => read(op, &document),
        RResult::RErr(fault) => Err(format!("{op}: {}", lossy(&fault))),
    }
}

/// A reply that must be a fault of this kind.
fn fault(op: &str, reply: Reply, kind: &str) -> Tried<()> {
    match reply {
        RResult::ROk(document) => Err(format!("{op}: answered {}", lossy(&document))),
        RResult::RErr(fault) => {
            let fault = read(op, &fault)?;
            check(op, fault["kind"] == kind && fault["message"].is_string(), &fault)
        }
    }
}

/// One line of JSON, and perhaps a body after it.
fn read(op: &str, document: &[u8]) -> Tried<Value> {
    let line = document.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let value: Value = serde_json::from_slice(line).map_err(|error| format!("{op}: {error}"))?;
    if value.is_object() { Ok(value) } else { Err(format!("{op}: no object")) }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on this thread: this host has no runtime.
fn wait<T>(future: FfiFuture<T>) -> Tried<T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    let begun = Instant::now();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Ok(value);
        }
        if begun.elapsed() > LIMIT {
            return Err("an operation never ended".into());
        }
        thread::park_timeout(Duration::from_millis(100));
    }
}
