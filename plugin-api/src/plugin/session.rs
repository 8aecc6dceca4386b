//! Serves the raw session object over an author's [`Session`].

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RString, RVec},
};
use async_ffi::FfiFuture;
use scv_plugin_abi::{RawSession, RawSession_TO, RawSessionBox, Reply};
use tokio::time::{Instant, timeout_at};

use super::{
    guard::Guarded,
    owned::Owned,
    reader::Reader,
    reply::{answer, object},
    tasks::Tasks,
};
use crate::{
    Result, Session, Stop,
    wire::{CloseReply, decode, encode},
};

/// One session, as the host owns it.
pub(super) struct ServedSession<S: Session>(Arc<Inner<S>>);

struct Inner<S: Session> {
    session: Owned<S>,
    reader: Arc<Reader<S>>,
    /// Reads, sends and calls: what `close` waits for.
    tasks: Tasks,
    /// Where `close` itself runs.
    plugin_tasks: Tasks,
    stop: Stop,
    closed: AtomicBool,
}

impl<S: Session> ServedSession<S> {
    pub(super) fn boxed(
        session: S,
        tasks: Tasks,
        plugin_tasks: Tasks,
        stop: Stop,
    ) -> RawSessionBox {
        let session = Owned::new(session, tasks.runtime());
        let reader = Arc::new(Reader::new(session.clone(), tasks.clone(), stop.clone()));
        let served = Self(Arc::new(Inner {
            session,
            reader,
            tasks,
            plugin_tasks,
            stop,
            closed: AtomicBool::new(false),
        }));
        RawSession_TO::from_value(served, TD_Opaque)
    }
}

impl<S: Session> RawSession for ServedSession<S> {
    fn next_batch(&self, request: RVec<u8>) -> FfiFuture<Reply> {
        answer(|| {
            let reading = self.0.reader.clone().next(request.to_vec());
            Guarded::new(reading, self.0.tasks.runtime())
        })
    }

    fn send(&self, request: RVec<u8>) -> FfiFuture<Reply> {
        answer(|| {
            let session = self.0.session.clone();
            self.0.tasks.start(async move {
                let outcome = session.send(decode("send", &request)?).await?;
                encode(&outcome)
            })
        })
    }

    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply> {
        answer(|| {
            let session = self.0.session.clone();
            self.0.tasks.start(async move {
                let result = session.call(&op, decode("call", &payload)?).await?;
                encode(&object(result)?)
            })
        })
    }

    fn close(&self, grace_ms: u32) -> FfiFuture<Reply> {
        answer(|| {
            let inner = self.0.clone();
            let grace = Duration::from_millis(grace_ms.into());
            self.0.plugin_tasks.start(async move { encode(&inner.close(grace).await) })
        })
    }
}

impl<S: Session> Inner<S> {
    /// Tells everything to stop, gives it half the grace, ends what is left, and waits.
    async fn close(&self, grace: Duration) -> CloseReply {
        let deadline = Instant::now() + grace;
        self.stop.fire();
        self.tasks.quiet_within(grace / 2).await;
        self.tasks.end();
        self.tasks.quiet_within(deadline.saturating_duration_since(Instant::now())).await;
        let mut tasks_left = self.tasks.running();
        let first = !self.closed.swap(true, Ordering::Relaxed);
        if first && timeout_at(deadline, self.say_goodbye()).await.is_err() {
            tasks_left += 1;
        }
        CloseReply { tasks_left }
    }

    async fn say_goodbye(&self) {
        let session = self.session.clone();
        let close = async move {
            session.close().await;
            Ok(())
        };
        // A panic in it is in the log; the session is closed all the same.
        let _: Result<()> = Guarded::new(close, self.tasks.runtime()).await;
    }
}

impl<S: Session> Drop for ServedSession<S> {
    fn drop(&mut self) {
        self.0.stop.fire();
        self.0.tasks.end();
    }
}
