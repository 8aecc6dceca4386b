//! The host's end of the socket: requests go out, answers, calls and log lines come in.

use std::{
    collections::HashMap,
    future::Future,
    os::unix::net::UnixStream as StdUnixStream,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use abi_stable::std_types::{RResult, RStr};
use scv_plugin_abi::{RawHostArc, Reply};
use scv_plugin_api::wire::{Fault, encode};
use tokio::{
    io::BufReader,
    net::{UnixStream, unix::OwnedReadHalf},
    sync::{mpsc, oneshot},
    task::AbortHandle,
    time::timeout,
};

use super::{
    frame::{Frame, Kind, take, take_text},
    outlet::Outlet,
    process::Process,
};
use crate::limits::CHILD_END_MS;

/// A child and the requests that wait for its answers. Dropping it kills the child.
pub(crate) struct Link {
    shared: Arc<Shared>,
    next_id: AtomicU64,
}

struct Shared {
    outlet: Arc<Outlet>,
    process: Process,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    waiting: HashMap<u64, oneshot::Sender<Reply>>,
    /// How the child ended; then nothing waits any more.
    ended: Option<String>,
}

/// What a child says before it serves.
pub(super) enum Startup {
    Hello,
    /// With the library's manifest.
    Loaded(String),
    /// A refusal document.
    Refused(Vec<u8>),
}

/// A child says at most this much before it serves.
const STARTUPS: usize = 2;

impl Link {
    /// Listens to a child until its end; the plugin's calls and log lines go to `host`.
    pub(super) fn new(
        process: Process,
        socket: StdUnixStream,
        host: RawHostArc,
    ) -> std::io::Result<(Arc<Self>, mpsc::Receiver<Startup>)> {
        socket.set_nonblocking(true)?;
        let (read, write) = UnixStream::from_std(socket)?.into_split();
        let outlet = Outlet::new(write);
        let shared =
            Arc::new(Shared { outlet: Arc::clone(&outlet), process, pending: Mutex::default() });
        let (startup, started) = mpsc::channel(STARTUPS);
        let listener =
            Listener { shared: Arc::clone(&shared), host, startup, calls: HashMap::new() };
        tokio::spawn(outlet.drain());
        tokio::spawn(listener.run(read));
        Ok((Arc::new(Self { shared, next_id: AtomicU64::new(1) }), started))
    }

    /// The child itself, to be killed when the plugin hangs.
    pub(crate) fn process(&self) -> &Process {
        &self.shared.process
    }

    /// How the child ended, once it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.shared.pending().ended.clone()
    }

    /// Sends what needs no answer.
    pub(super) fn tell(&self, id: u64, kind: Kind, document: impl Into<Vec<u8>>) {
        self.shared.outlet.send(&Frame::new(id, kind, document));
    }

    /// Asks the child; gives the request's id and its answer. Dropping the answer cancels.
    pub(super) fn request(
        &self,
        kind: Kind,
        document: Vec<u8>,
    ) -> (u64, impl Future<Output = Reply> + Send + use<>) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let mut pending = self.shared.pending();
        let ended = pending.ended.clone();
        if ended.is_none() {
            pending.waiting.insert(id, answer);
        }
        drop(pending);
        if ended.is_none() {
            self.tell(id, kind, document);
        }
        let waiting = Waiting { shared: Arc::clone(&self.shared), id };
        let answer = async move {
            let answer = match ended {
                Some(how) => gone(&how),
                None => answered.await.unwrap_or_else(|_| gone("it is gone")),
            };
            drop(waiting);
            answer
        };
        (id, answer)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Nobody has a session of it any more, and what counts is durable here.
        self.shared.process.kill("it was no longer needed");
    }
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels a request that was not answered.
struct Waiting {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.shared.pending().waiting.remove(&self.id).is_some() {
            self.shared.outlet.send(&Frame::new(self.id, Kind::Cancel, []));
        }
    }
}

/// The answer of a child that is not there any more.
fn gone(how: &str) -> Reply {
    fault(&Fault::retry(format!("the plugin's process ended: {how}")))
}

pub(super) fn fault(fault: &Fault) -> Reply {
    RResult::RErr(encode(fault).unwrap_or_default().into())
}

/// Reads what the child sends.
struct Listener {
    shared: Arc<Shared>,
    host: RawHostArc,
    startup: mpsc::Sender<Startup>,
    /// Calls of the plugin that the host is answering.
    calls: HashMap<u64, AbortHandle>,
}

impl Listener {
    async fn run(mut self, socket: OwnedReadHalf) {
        let mut socket = BufReader::new(socket);
        let why = loop {
            match Frame::read(&mut socket).await {
                Ok(Some(frame)) => {
                    if self.take(frame).is_none() {
                        break "it broke the rules of its connection";
                    }
                }
                Ok(None) => break "it closed its connection",
                Err(_) => break "its connection broke",
            }
        };
        self.calls.values().for_each(AbortHandle::abort);
        // A child that crashed has ended or is about to; any other one is of no use any more.
        let limit = Duration::from_millis(CHILD_END_MS);
        let process = &self.shared.process;
        if timeout(limit, process.ended()).await.is_err() {
            process.kill(why);
        }
        let how = process.ended().await;
        let mut pending = self.shared.pending();
        pending.ended = Some(how.to_string());
        let waiting = std::mem::take(&mut pending.waiting);
        drop(pending);
        for answer in waiting.into_values() {
            // Whoever gave up meanwhile needs none.
            let _ = answer.send(gone(&how.to_string()));
        }
    }

    fn take(&mut self, frame: Frame) -> Option<()> {
        let Frame { id, kind, document } = frame;
        match kind {
            Kind::Answer => self.answer(id, RResult::ROk(document.into())),
            Kind::Fault => self.answer(id, RResult::RErr(document.into())),
            Kind::HostCall => self.call(id, &document)?,
            Kind::Cancel => {
                if let Some(call) = self.calls.remove(&id) {
                    call.abort();
                }
            }
            Kind::Log => self.log(&document)?,
            Kind::Hello => self.started(Startup::Hello),
            Kind::Loaded => self.started(Startup::Loaded(String::from_utf8(document).ok()?)),
            Kind::Refused => self.started(Startup::Refused(document)),
            _ => return None,
        }
        Some(())
    }

    fn started(&self, startup: Startup) {
        // Nobody listens once it was loaded, and nobody needs more than a child may say before.
        let _ = self.startup.try_send(startup);
    }

    fn answer(&self, id: u64, reply: Reply) {
        let waiting = self.shared.pending().waiting.remove(&id);
        let unwanted = match waiting {
            Some(answer) => answer.send(reply).is_err(),
            None => true,
        };
        if unwanted {
            // It may be a session that was cancelled while it was made.
            self.shared.outlet.send(&Frame::new(id, Kind::Forget, []));
        }
    }

    fn call(&mut self, id: u64, mut document: &[u8]) -> Option<()> {
        let op = take_text(&mut document)?;
        let answering = self.host.call(op.into(), document.to_vec().into());
        let outlet = Arc::clone(&self.shared.outlet);
        let task = tokio::spawn(async move {
            let frame = match answering.await {
                RResult::ROk(document) => Frame::new(id, Kind::Answer, document),
                RResult::RErr(fault) => Frame::new(id, Kind::Fault, fault),
            };
            outlet.send(&frame);
        });
        self.calls.retain(|_, call| !call.is_finished());
        self.calls.insert(id, task.abort_handle());
        Some(())
    }

    fn log(&self, mut document: &[u8]) -> Option<()> {
        let [level] = take(&mut document)?;
        let target = take_text(&mut document)?;
        let record = String::from_utf8_lossy(document);
        self.host.log(level, RStr::from_str(target), RStr::from_str(&record));
        Some(())
    }
}
