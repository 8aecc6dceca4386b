//! The plugin ABI of scv: three objects and two functions over bytes, and nothing else.
//!
//! **Frozen** as 1.0.0 on 2026-12-01, after it was read against what WeChat, Feishu and webhook
//! needed and against the wishes that are known. This file's code does not change any more:
//! abi_stable refuses a plugin whose types are *older* than the host's, so everything that may
//! evolve is a JSON document inside an `RVec<u8>`, and every later operation goes through a
//! `call`. `tests/frozen.rs` compares, and `cargo xtask abi-check` tries it.
//!
//! A byte document is one line of compact JSON, always an object, then nothing, or LF and a
//! raw body. Futures may be polled on any thread and dropped at any time.

// abi_stable's macros make names like `RawHost_TO` and impls that these lints speak about.
#![allow(non_camel_case_types, non_local_definitions)]
// There is no `unsafe` written here: the macros write it, as vtables over thin pointers.
#![allow(unsafe_code)]

use abi_stable::{
    StableAbi, declare_root_module_statics,
    library::RootModule,
    package_version_strings, sabi_trait,
    sabi_types::VersionStrings,
    std_types::{RArc, RBox, RResult, RStr, RString, RVec},
};
use async_ffi::FfiFuture;

/// What an operation answers: a result document, or a fault document.
pub type Reply = RResult<RVec<u8>, RVec<u8>>;

/// The host, as a plugin sees it: shared, so it never dangles.
pub type RawHostArc = RawHost_TO<'static, RArc<()>>;
/// A plugin, as the host owns it.
pub type RawPluginBox = RawPlugin_TO<'static, RBox<()>>;
/// A session, as the host owns it.
pub type RawSessionBox = RawSession_TO<'static, RBox<()>>;

/// What the host offers a plugin.
#[sabi_trait]
pub trait RawHost: Send + Sync {
    /// Whether a line of this level would be kept: 1 error … 5 trace.
    fn log_enabled(&self, level: u8) -> bool;
    /// Keeps a line: JSON `{text, session_id?, login_id?, fields?}`; anything else is the text.
    fn log(&self, level: u8, target: RStr<'_>, record: RStr<'_>);
    /// Asks the host for an operation: `login.event`, and later ones.
    #[sabi(last_prefix_field)]
    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply>;
}

/// One plugin.
#[sabi_trait]
pub trait RawPlugin: Send + Sync {
    /// Whose credentials these are: pure, under a second, no network.
    fn inspect(&self, request: RVec<u8>) -> Reply;
    /// Signs an account in.
    fn login(&self, request: RVec<u8>) -> FfiFuture<Reply>;
    /// Starts a session.
    fn connect(&self, request: RVec<u8>) -> FfiFuture<RResult<RawSessionBox, RVec<u8>>>;
    /// Any later operation.
    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply>;
    /// Ends the plugin's runtime; answers `{"tasks_left":n}`.
    #[sabi(last_prefix_field)]
    fn shutdown(&self, grace_ms: u32) -> FfiFuture<Reply>;
}

/// One session.
#[sabi_trait]
pub trait RawSession: Send + Sync {
    /// Waits for a batch; at most one call at a time; dropping it loses nothing.
    fn next_batch(&self, request: RVec<u8>) -> FfiFuture<Reply>;
    /// Sends a message.
    fn send(&self, request: RVec<u8>) -> FfiFuture<Reply>;
    /// Any later operation.
    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply>;
    /// Ends the session; answers `{"tasks_left":n}`.
    #[sabi(last_prefix_field)]
    fn close(&self, grace_ms: u32) -> FfiFuture<Reply>;
}

/// What a plugin's library exports.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginModule_Ref)))]
pub struct PluginModule {
    /// The manifest, byte for byte what the exported symbol holds.
    pub manifest: extern "C" fn() -> RStr<'static>,
    /// Makes the plugin from a configuration document.
    #[sabi(last_prefix_field)]
    pub create:
        extern "C" fn(config: RVec<u8>, host: RawHostArc) -> RResult<RawPluginBox, RVec<u8>>,
}

impl RootModule for PluginModule_Ref {
    declare_root_module_statics! {PluginModule_Ref}
    const BASE_NAME: &'static str = "scv_channel";
    const NAME: &'static str = "scv_channel";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}
