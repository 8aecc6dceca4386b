//! An agent behind the client protocol. The prompt says what it does:
//! `say TEXT`, `tool`, `fail`, `hang`, `deaf`, `drop`, or `gate NAME` (waits until the gate opens).
//! What stands before the last line of a prompt is ignored.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use scv_bridge::Dialer;
use scv_plugin_api::host::BoxFuture;
use scv_protocol::{
    ApprovalId, ClientInfo, ClientMessage, Risk, ServerEvent, SessionId, TurnFailure, TurnId,
    TurnRef,
    client::{Client, ClientError},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    sync::Notify,
};

use super::wait_for;

#[derive(Clone, Default)]
pub(crate) struct Agent(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<AgentState>,
    changed: Notify,
}

#[derive(Default)]
pub(crate) struct AgentState {
    /// Every prompt that began a turn.
    pub(crate) prompts: Vec<String>,
    /// `no_tools` of every session.
    pub(crate) sessions: Vec<bool>,
    /// Turns that ended because they were cancelled.
    pub(crate) cancelled: usize,
    /// Connections that are open.
    pub(crate) open: usize,
    /// Turns that run, and the most that ever ran at once.
    pub(crate) running: usize,
    pub(crate) most_running: usize,
    gates: HashSet<String>,
}

impl Agent {
    pub(crate) fn state<T>(&self, look: impl FnOnce(&mut AgentState) -> T) -> T {
        let value = look(&mut self.0.state.lock().unwrap());
        self.0.changed.notify_waiters();
        value
    }

    pub(crate) fn open_gate(&self, name: &str) {
        self.state(|state| state.gates.insert(name.to_owned()));
    }

    pub(crate) async fn wait<T>(&self, what: &str, look: impl Fn(&AgentState) -> Option<T>) -> T {
        let look = || look(&self.0.state.lock().unwrap());
        wait_for(&self.0.changed, what, look).await
    }

    pub(crate) async fn prompts(&self, count: usize) -> Vec<String> {
        self.wait("prompts", |s| (s.prompts.len() >= count).then(|| s.prompts.clone())).await
    }

    pub(crate) fn prompt_count(&self) -> usize {
        self.state(|state| state.prompts.len())
    }
}

impl Dialer for Agent {
    fn dial(&self) -> BoxFuture<'_, Result<Client, ClientError>> {
        Box::pin(async {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            tokio::spawn(serve(self.clone(), theirs));
            let info = ClientInfo { name: "bridge-test".into(), version: "0".into() };
            Client::handshake(ours, info).await
        })
    }
}

struct Connection {
    agent: Agent,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
    seq: u64,
}

/// How a wait inside a turn ended.
#[derive(PartialEq)]
enum Waited {
    Passed,
    Cancelled,
}

/// Leaves its count right however the connection ends.
struct Counted(Agent);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.state(|state| state.open -= 1);
    }
}

async fn serve(agent: Agent, stream: DuplexStream) {
    agent.state(|state| state.open += 1);
    let _counted = Counted(agent.clone());
    let (read, out) = tokio::io::split(stream);
    let mut connection = Connection { agent, lines: BufReader::new(read).lines(), out, seq: 0 };
    while let Some(message) = connection.read().await {
        if connection.answer(message).await.is_none() {
            return;
        }
    }
}

impl Connection {
    async fn read(&mut self) -> Option<ClientMessage> {
        let line = self.lines.next_line().await.ok()??;
        Some(ClientMessage::decode(line.as_bytes()).unwrap())
    }

    async fn write(&mut self, event: ServerEvent) -> Option<()> {
        let mut line = serde_json::to_vec(&event).unwrap();
        line.push(b'\n');
        self.out.write_all(&line).await.ok()
    }

    /// `None` ends the connection.
    async fn answer(&mut self, message: ClientMessage) -> Option<()> {
        match message {
            ClientMessage::Initialize { request_id, .. } => {
                let server = ClientInfo { name: "agent".into(), version: "0".into() };
                self.write(ServerEvent::Initialized { request_id, protocol_version: 3, server })
                    .await
            }
            ClientMessage::SessionStart(start) => {
                self.agent.state(|state| state.sessions.push(start.no_tools));
                self.write(ServerEvent::SessionStarted {
                    request_id: start.request_id,
                    session_id: SessionId::new("s"),
                    cwd: start.cwd,
                    model: "m".into(),
                    context_max_tokens: 1,
                    max_server_frame_bytes: 1,
                    max_transcript_bytes: 1,
                    max_transcript_items: 1,
                    max_prompt_history_bytes: 1,
                    max_prompt_history_items: 1,
                })
                .await
            }
            ClientMessage::TurnStart { request_id, prompt, .. } => {
                self.agent.state(|state| {
                    state.prompts.push(prompt.clone());
                    state.running += 1;
                    state.most_running = state.most_running.max(state.running);
                });
                let went_on = self.turn(request_id, &prompt).await;
                self.agent.state(|state| state.running -= 1);
                went_on
            }
            _ => Some(()),
        }
    }

    async fn turn(&mut self, request_id: String, prompt: &str) -> Option<()> {
        let started = ServerEvent::TurnStarted { at: self.at(&request_id), origin: None };
        self.write(started).await?;
        let last = prompt.lines().last().unwrap_or_default();
        let (verb, rest) = last.split_once(' ').unwrap_or((last, ""));
        match verb {
            "say" => self.say(&request_id, rest).await?,
            "tool" => self.tool(&request_id).await?,
            "gate" => {
                if self.pass_gate(rest).await? == Waited::Cancelled {
                    return self.cancelled(&request_id).await;
                }
                self.say(&request_id, rest).await?;
            }
            "fail" => {
                let at = self.at(&request_id);
                return self
                    .write(ServerEvent::TurnFailed {
                        at,
                        code: TurnFailure::ProviderError,
                        message: "key sk-secret at https://x.example?token=1".into(),
                        origin: None,
                    })
                    .await;
            }
            "hang" => {
                self.until_cancelled().await?;
                return self.cancelled(&request_id).await;
            }
            "deaf" => loop {
                self.until_cancelled().await?;
            },
            "drop" => return None,
            other => panic!("the test agent cannot {other:?}"),
        }
        let at = self.at(&request_id);
        self.write(ServerEvent::TurnCompleted { at, steps: 1, usage: None, origin: None }).await
    }

    async fn say(&mut self, request_id: &str, text: &str) -> Option<()> {
        let at = self.at(request_id);
        self.write(ServerEvent::AssistantCompleted { at, content: text.to_owned().into() }).await
    }

    /// Asks for approval, and says what came of it.
    async fn tool(&mut self, request_id: &str) -> Option<()> {
        let at = self.at(request_id);
        self.write(ServerEvent::ApprovalRequested {
            at,
            approval_id: ApprovalId::new("a-1"),
            call_id: "c".into(),
            name: "bash".into(),
            risk: Risk::Process,
            cwd: "/".into(),
            summary: "run".into(),
        })
        .await?;
        let ClientMessage::ApprovalResolve { approved, .. } = self.read().await? else {
            panic!("the approval request was not answered");
        };
        self.say(request_id, if approved { "approved" } else { "denied" }).await
    }

    async fn pass_gate(&mut self, name: &str) -> Option<Waited> {
        let agent = self.agent.clone();
        tokio::select! {
            () = agent.wait("a gate", |state| state.gates.contains(name).then_some(())) => {
                Some(Waited::Passed)
            }
            waited = self.until_cancelled() => waited,
        }
    }

    /// A client can only cancel while its turn runs; `None` when it leaves.
    async fn until_cancelled(&mut self) -> Option<Waited> {
        match self.read().await? {
            ClientMessage::TurnCancel { .. } => Some(Waited::Cancelled),
            other => panic!("not while a turn runs: {other:?}"),
        }
    }

    async fn cancelled(&mut self, request_id: &str) -> Option<()> {
        self.agent.state(|state| state.cancelled += 1);
        let at = self.at(request_id);
        self.write(ServerEvent::TurnCancelled { at, origin: None }).await
    }

    fn at(&mut self, request_id: &str) -> TurnRef {
        self.seq += 1;
        TurnRef {
            request_id: request_id.to_owned(),
            session_id: SessionId::new("s"),
            turn_id: TurnId::new(format!("turn of {request_id}")),
            seq: self.seq,
        }
    }
}
