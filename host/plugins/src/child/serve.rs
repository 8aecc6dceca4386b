//! The child: `scv __plugin-host COPY` and `scv __plugin-probe COPY`.
//!
//! It loads one library and passes documents between it and the socket. What they mean, and how
//! long anything may take, is the host's business.

use std::{
    collections::HashMap,
    future::Future,
    os::unix::net::UnixStream as StdUnixStream,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use abi_stable::std_types::{RResult, RVec};
use scv_plugin_abi::{PluginModule_Ref, RawPluginBox, RawSessionBox, Reply};
use scv_plugin_api::wire::{Fault, encode};
use tokio::{
    io::BufReader,
    net::{UnixStream, unix::OwnedReadHalf},
    task::{AbortHandle, spawn_blocking},
};

use super::{
    far_host::{FarHost, raw_host},
    frame::{Frame, Kind, take, take_text},
    link::fault,
    outlet::Outlet,
};
use crate::{Refusal, adapter::guarded, cache::HeldCopy, library};

type Sessions = Arc<Mutex<HashMap<u64, Arc<RawSessionBox>>>>;

/// Serves until the host closes the socket or breaks its rules.
pub(super) async fn serve(socket: StdUnixStream, copy: &Path) -> std::io::Result<()> {
    socket.set_nonblocking(true)?;
    let (read, write) = UnixStream::from_std(socket)?.into_split();
    let outlet = Outlet::new(write);
    tokio::spawn(Arc::clone(&outlet).drain());
    // Flushed: what comes now may end this process.
    outlet.send(&Frame::new(0, Kind::Hello, []));
    outlet.flush().await;
    let module = match HeldCopy::open(copy).and_then(library::open) {
        Ok(module) => module,
        Err(refusal) => {
            outlet.send(&Frame::new(0, Kind::Refused, encoded(&refusal)));
            outlet.flush().await;
            return Ok(());
        }
    };
    let manifest = module.manifest()();
    outlet.send(&Frame::new(0, Kind::Loaded, manifest.as_str()));
    outlet.flush().await;
    let far = FarHost::new(Arc::clone(&outlet));
    let (sessions, running) = (Sessions::default(), HashMap::new());
    Child { module, outlet, far, plugin: None, sessions, running }.run(read).await
}

fn encoded(refusal: &Refusal) -> Vec<u8> {
    serde_json::to_vec(refusal).unwrap_or_default()
}

struct Child {
    module: PluginModule_Ref,
    outlet: Arc<Outlet>,
    far: Arc<FarHost>,
    /// Once `create` has succeeded.
    plugin: Option<Arc<RawPluginBox>>,
    sessions: Sessions,
    running: HashMap<u64, AbortHandle>,
}

impl Child {
    async fn run(mut self, socket: OwnedReadHalf) -> std::io::Result<()> {
        let mut socket = BufReader::new(socket);
        while let Some(frame) = Frame::read(&mut socket).await? {
            if self.take(frame).is_none() {
                return Err(std::io::ErrorKind::InvalidData.into());
            }
        }
        Ok(())
    }

    fn take(&mut self, frame: Frame) -> Option<()> {
        let Frame { id, kind, document } = frame;
        let mut rest = &document[..];
        match kind {
            Kind::Level => self.far.set_level(take::<1>(&mut rest)?[0]),
            Kind::Create => self.create(id, document),
            Kind::Answer => self.far.answer(id, RResult::ROk(document.into())),
            Kind::Fault => self.far.answer(id, RResult::RErr(document.into())),
            Kind::Cancel => {
                if let Some(request) = self.running.remove(&id) {
                    request.abort();
                }
            }
            Kind::Forget => drop(sessions(&self.sessions).remove(&id)),
            Kind::Inspect | Kind::Login | Kind::Connect | Kind::Call | Kind::Shutdown => {
                self.ask_plugin(id, kind, rest)?;
            }
            Kind::NextBatch | Kind::Send | Kind::SessionCall | Kind::Close => {
                self.ask_session(id, kind, rest)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Nothing else is asked before this is answered, so it may block.
    fn create(&mut self, id: u64, config: Vec<u8>) {
        let reply = match self.module.create()(config.into(), raw_host(Arc::clone(&self.far))) {
            RResult::ROk(plugin) => {
                self.plugin = Some(Arc::new(plugin));
                RResult::ROk(empty())
            }
            RResult::RErr(fault) => RResult::RErr(fault),
        };
        self.outlet.send(&answer(id, reply));
    }

    fn ask_plugin(&mut self, id: u64, kind: Kind, mut rest: &[u8]) -> Option<()> {
        let plugin = Arc::clone(self.plugin.as_ref()?);
        match kind {
            Kind::Inspect => {
                let request: RVec<u8> = rest.to_vec().into();
                let inspecting = spawn_blocking(move || plugin.inspect(request));
                self.run_one(id, async move { inspecting.await.unwrap_or_else(|_| failed()) });
            }
            Kind::Login => self.run_one(id, plugin.login(rest.to_vec().into())),
            Kind::Connect => {
                let connecting = plugin.connect(rest.to_vec().into());
                let all = Arc::clone(&self.sessions);
                self.run_one(id, async move {
                    connecting.await.map(|session| {
                        sessions(&all).insert(id, Arc::new(session));
                        empty()
                    })
                });
            }
            Kind::Call => {
                let op = take_text(&mut rest)?;
                self.run_one(id, plugin.call(op.into(), rest.to_vec().into()));
            }
            _ => {
                let grace_ms = u32::from_le_bytes(take(&mut rest)?);
                self.run_one(id, plugin.shutdown(grace_ms));
            }
        }
        Some(())
    }

    fn ask_session(&mut self, id: u64, kind: Kind, mut rest: &[u8]) -> Option<()> {
        let session = u64::from_le_bytes(take(&mut rest)?);
        let session = sessions(&self.sessions).get(&session).cloned();
        let Some(session) = session else {
            let over = Fault::cancelled("the session is over");
            self.outlet.send(&answer(id, fault(&over)));
            return Some(());
        };
        match kind {
            Kind::NextBatch => self.run_one(id, session.next_batch(rest.to_vec().into())),
            Kind::Send => self.run_one(id, session.send(rest.to_vec().into())),
            Kind::SessionCall => {
                let op = take_text(&mut rest)?;
                self.run_one(id, session.call(op.into(), rest.to_vec().into()));
            }
            _ => {
                let grace_ms = u32::from_le_bytes(take(&mut rest)?);
                self.run_one(id, session.close(grace_ms));
            }
        }
        Some(())
    }

    /// Answers when the plugin has; until then the host can cancel it.
    fn run_one(&mut self, id: u64, work: impl Future<Output = Reply> + Send + 'static) {
        let outlet = Arc::clone(&self.outlet);
        let task = tokio::spawn(async move {
            let reply = guarded(work).await.unwrap_or_else(|panicked| fault(&panicked));
            outlet.send(&answer(id, reply));
        });
        self.running.retain(|_, request| !request.is_finished());
        self.running.insert(id, task.abort_handle());
    }
}

fn answer(id: u64, reply: Reply) -> Frame {
    match reply {
        RResult::ROk(document) => Frame::new(id, Kind::Answer, document),
        RResult::RErr(fault) => Frame::new(id, Kind::Fault, fault),
    }
}

fn empty() -> RVec<u8> {
    b"{}".to_vec().into()
}

fn failed() -> Reply {
    let fault = Fault::other("inspect could not be run; use another version of the plugin");
    RResult::RErr(encode(&fault).unwrap_or_default().into())
}

fn sessions(
    sessions: &Mutex<HashMap<u64, Arc<RawSessionBox>>>,
) -> MutexGuard<'_, HashMap<u64, Arc<RawSessionBox>>> {
    sessions.lock().unwrap_or_else(PoisonError::into_inner)
}
