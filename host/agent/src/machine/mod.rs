//! The session as a pure machine: one closed set of inputs, events and orders out.
//!
//! It has no clock, no channel and no I/O. It owns `seq`, the queue, the history and the turn; that
//! a turn has exactly one terminal event and that nothing overtakes it is decided here alone.

mod client;
mod emit;
mod history;
mod queue;
mod turn;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use scv_protocol::{ApprovalId, ClientMessage, QueueId, ServerEvent, SessionId, TurnId};

use crate::{
    config::{ContextConfig, HistoryConfig},
    id::IdSource,
    provider::ProviderEvent,
    tools::{Call, ToolOutcome, Toolbox},
};

pub(crate) use history::History;
use queue::Queue;
use turn::Turn;

/// Names one piece of work that the machine ordered; results of older work are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WorkId(u64);

/// What can happen to a session.
#[derive(Debug)]
pub(crate) enum Input {
    /// The client said something.
    Client(ClientMessage),
    /// The provider answered.
    Provider(WorkId, ProviderEvent),
    /// A tool tells what it is doing.
    Progress(WorkId, String),
    /// A tool ended.
    Tool(WorkId, ToolOutcome),
    /// The connection or the daemon ends.
    Shutdown,
}

/// What the shell must do, in this order.
#[derive(Debug)]
pub(crate) enum Output {
    /// Send this to the client.
    Emit(ServerEvent),
    /// Ask the provider, with the history's window as it is now.
    Ask(WorkId),
    /// Run a call and report its outcome, even after a [`Output::Stop`].
    Run(WorkId, Call),
    /// End the work: drop a request, cancel a call.
    Stop(WorkId),
}

/// What a session is told at its start.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) session_id: SessionId,
    /// 2 or 3.
    pub(crate) protocol_version: u32,
    pub(crate) cwd: PathBuf,
    pub(crate) toolbox: Toolbox,
    pub(crate) max_steps: u32,
    pub(crate) context: ContextConfig,
    /// What each request takes beside its messages.
    pub(crate) overhead_bytes: usize,
    pub(crate) history: HistoryConfig,
    pub(crate) max_server_frame_bytes: usize,
}

/// A session.
pub(crate) struct Machine {
    facts: Facts,
    ids: Box<dyn IdSource>,
    seq: u64,
    last_work: u64,
    history: History,
    queue: Queue,
    paused: bool,
    closing: bool,
    turn: Option<Turn>,
    out: Vec<Output>,
}

impl Machine {
    pub(crate) fn new(facts: Facts, ids: Box<dyn IdSource>) -> Self {
        Self {
            facts,
            ids,
            seq: 0,
            last_work: 0,
            history: History::default(),
            queue: Queue::default(),
            paused: false,
            closing: false,
            turn: None,
            out: Vec::new(),
        }
    }

    /// The first event after `session.started`.
    pub(crate) fn open(&mut self, request_id: String) -> ServerEvent {
        ServerEvent::QueueSnapshot {
            at: self.session_ref(Some(request_id)),
            entries: self.queue.snapshot(),
        }
    }

    /// Takes one input and says what follows from it.
    pub(crate) fn step(&mut self, input: Input) -> Vec<Output> {
        match input {
            Input::Client(message) if !self.closing => self.client(message),
            Input::Client(_) => {}
            Input::Provider(work, event) => self.provider(work, event),
            Input::Progress(work, text) => self.progress(work, text),
            Input::Tool(work, outcome) => self.tool(work, outcome),
            Input::Shutdown => self.shutdown(),
        }
        std::mem::take(&mut self.out)
    }

    /// What the next request is made of.
    pub(crate) const fn history(&self) -> &History {
        &self.history
    }

    /// Whether the model is offered tools.
    pub(crate) const fn offers_tools(&self) -> bool {
        self.facts.toolbox.enabled
    }

    /// Whether no turn is running.
    pub(crate) const fn is_idle(&self) -> bool {
        self.turn.is_none()
    }

    fn shutdown(&mut self) {
        self.closing = true;
        self.queue.clear();
        self.cancel();
    }

    fn next_work(&mut self) -> WorkId {
        self.last_work += 1;
        WorkId(self.last_work)
    }

    fn turn_id(&mut self) -> TurnId {
        TurnId::new(self.ids.next())
    }

    fn approval_id(&mut self) -> ApprovalId {
        ApprovalId::new(self.ids.next())
    }

    fn queue_id(&mut self) -> QueueId {
        QueueId::new(self.ids.next())
    }
}
