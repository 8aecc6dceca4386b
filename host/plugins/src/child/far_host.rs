//! The host, as a plugin in a child sees it: what it asks and logs goes over the socket.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::Instant,
};

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RArc, RStr, RString, RVec},
};
use async_ffi::{FfiFuture, FutureExt};
use scv_plugin_abi::{RawHost, RawHost_TO, RawHostArc, Reply};
use scv_plugin_api::wire::Fault;
use tokio::sync::oneshot;

use super::{
    frame::{Frame, Kind, put_text},
    link::fault,
    outlet::Outlet,
};
use crate::{
    limits::{MAX_LOG_BACKLOG_BYTES, MAX_LOG_RECORD_BYTES},
    rate::RateLimit,
};

/// The way back to the host.
pub(super) struct FarHost {
    outlet: Arc<Outlet>,
    /// The most talkative level that the host keeps: 1 error … 5 trace.
    level: AtomicU8,
    rate: Mutex<RateLimit>,
    next_id: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Reply>>>,
}

impl FarHost {
    pub(super) fn new(outlet: Arc<Outlet>) -> Arc<Self> {
        Arc::new(Self {
            outlet,
            level: AtomicU8::new(0),
            rate: Mutex::new(RateLimit::new(Instant::now())),
            next_id: AtomicU64::new(1),
            waiting: Mutex::default(),
        })
    }

    pub(super) fn set_level(&self, level: u8) {
        self.level.store(level, Ordering::Relaxed);
    }

    /// The host has answered a call.
    pub(super) fn answer(&self, id: u64, reply: Reply) {
        if let Some(waiting) = lock(&self.waiting).remove(&id) {
            // The plugin may have given up meanwhile.
            let _ = waiting.send(reply);
        }
    }

    /// As many lines as the host would take; a host that is behind gets none.
    fn line(&self, level: u8, target: &str, record: &str) {
        if self.outlet.waiting_bytes() > MAX_LOG_BACKLOG_BYTES {
            return;
        }
        let Some(dropped) = lock(&self.rate).pass(Instant::now()) else { return };
        if dropped > 0 {
            self.put(2, "scv", &format!("{dropped} lines of its log were dropped"));
        }
        self.put(level, target, record);
    }

    fn put(&self, level: u8, target: &str, record: &str) {
        let mut document = vec![level];
        put_text(&mut document, target);
        // Whatever a cut breaks is mended by the reader.
        document.extend(record.bytes().take(MAX_LOG_RECORD_BYTES));
        self.outlet.send(&Frame::new(0, Kind::Log, document));
    }
}

/// The object that the plugin is given at `create`. Nothing in it may panic.
pub(super) fn raw_host(far: Arc<FarHost>) -> RawHostArc {
    RawHost_TO::from_ptr(RArc::new(Callbacks(far)), TD_Opaque)
}

struct Callbacks(Arc<FarHost>);

impl RawHost for Callbacks {
    fn log_enabled(&self, level: u8) -> bool {
        level.max(1) <= self.0.level.load(Ordering::Relaxed)
    }

    fn log(&self, level: u8, target: RStr<'_>, record: RStr<'_>) {
        if self.log_enabled(level) {
            self.0.line(level, &target, &record);
        }
    }

    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply> {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        lock(&self.0.waiting).insert(id, answer);
        let mut document = Vec::new();
        put_text(&mut document, &op);
        document.extend_from_slice(&payload);
        self.0.outlet.send(&Frame::new(id, Kind::HostCall, document));
        let waiting = Waiting { far: Arc::clone(&self.0), id };
        async move {
            let reply = answered.await;
            drop(waiting);
            reply.unwrap_or_else(|_| fault(&Fault::cancelled("the host is ending")))
        }
        .into_ffi()
    }
}

/// When the plugin stops waiting, so does the host.
struct Waiting {
    far: Arc<FarHost>,
    id: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if lock(&self.far.waiting).remove(&self.id).is_some() {
            self.far.outlet.send(&Frame::new(self.id, Kind::Cancel, []));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
