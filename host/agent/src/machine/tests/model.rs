//! The session a second time, written from the protocol alone: what each input must bring forth.
//!
//! It shares types with the machine and no code. It is naive on purpose: it copies the memory to
//! restore it, counts everything anew, and writes events as the JSON that a client reads.

use std::collections::VecDeque;

use scv_protocol::{ClientMessage, ToolError, limits::MAX_PROMPT_BYTES};
use serde_json::{Value, json};

use crate::{
    limits::{FRAME_ENVELOPE_BYTES, MAX_QUEUE_BYTES, MAX_QUEUE_ENTRIES_COUNT},
    machine::{Facts, Input, WorkId},
    message::ToolCall,
    provider::{ProviderEvent, Response},
    tools::ToolOutcome,
};

/// What the shell is told to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    Ask,
    Run,
    Stop,
}

pub(super) struct Model {
    facts: Facts,
    ids: u64,
    seq: u64,
    /// Entries as they stand on the wire.
    queue: Vec<Value>,
    paused: bool,
    closed: bool,
    memory: Memory,
    turn: Option<Turn>,
    /// The last work that the machine named.
    work: Option<WorkId>,
    events: Vec<Value>,
    orders: Vec<Order>,
}

/// Sizes of messages, by turn.
#[derive(Clone, Default)]
struct Memory {
    turns: Vec<Vec<usize>>,
    /// This many of the oldest turns are in no request any more.
    left_out: usize,
}

struct Turn {
    id: String,
    request: String,
    before: Memory,
    steps: u32,
    tokens: Option<u64>,
    calls: VecDeque<ToolCall>,
    stage: Stage,
}

enum Stage {
    Asking,
    Approving { approval: String, call: ToolCall },
    Running { call: ToolCall, cancelled: bool },
}

impl Model {
    pub(super) fn new(facts: Facts) -> Self {
        Self {
            facts,
            ids: 0,
            seq: 0,
            queue: Vec::new(),
            paused: false,
            closed: false,
            memory: Memory::default(),
            turn: None,
            work: None,
            events: Vec::new(),
            orders: Vec::new(),
        }
    }

    /// The events and the orders that must follow from an input.
    pub(super) fn step(&mut self, input: &Input) -> (Vec<Value>, Vec<Order>) {
        match input {
            Input::Client(_) if self.closed => {}
            Input::Client(message) => self.client(message),
            Input::Provider(work, event) if self.work == Some(*work) => self.provider(event),
            Input::Tool(work, outcome) if self.work == Some(*work) => self.tool(outcome),
            Input::Progress(work, text) if self.work == Some(*work) => self.progress(text),
            Input::Provider(..) | Input::Tool(..) | Input::Progress(..) => {}
            Input::Shutdown => {
                self.closed = true;
                self.queue.clear();
                self.cancel();
            }
        }
        (std::mem::take(&mut self.events), std::mem::take(&mut self.orders))
    }

    /// How the machine named the work that was ordered.
    pub(super) fn name_work(&mut self, work: WorkId) {
        self.work = Some(work);
    }

    fn client(&mut self, message: &ClientMessage) {
        let request = message.request_id();
        match message {
            ClientMessage::TurnStart { prompt, .. } => self.start(request, prompt),
            ClientMessage::TurnCancel { turn_id, .. } => match &self.turn {
                Some(turn) if turn.id == turn_id.as_str() => self.cancel(),
                _ => self.error(request, "turn_not_found"),
            },
            ClientMessage::ApprovalResolve { approval_id, approved, .. } => {
                self.resolve(request, approval_id.as_str(), *approved)
            }
            ClientMessage::QueueUpdate { queue_id, revision, prompt, .. } => {
                if prompt.trim().is_empty() {
                    return self.error(request, "invalid_request");
                }
                let Some(at) = self.current(request, queue_id.as_str(), *revision) else {
                    return;
                };
                self.queue[at]["prompt"] = json!(prompt);
                let entry = self.revised(at);
                self.say(request, json!({"type": "queue.updated", "entry": entry}));
            }
            ClientMessage::QueueMove { queue_id, revision, before_queue_id, .. } => {
                let before = before_queue_id.as_ref().map(|id| id.as_str());
                self.relocate(request, queue_id.as_str(), *revision, before)
            }
            ClientMessage::QueueRemove { queue_id, revision, .. } => {
                let Some(at) = self.current(request, queue_id.as_str(), *revision) else {
                    return;
                };
                self.queue.remove(at);
                self.say(request, json!({"type": "queue.removed", "queue_id": queue_id}));
            }
            ClientMessage::SessionPause { paused, .. } => {
                self.paused = *paused;
                self.say(request, json!({"type": "session.paused", "paused": paused}));
                self.start_next();
            }
            ClientMessage::SessionClear { .. } if self.turn.is_some() => {
                self.error(request, "turn_active")
            }
            ClientMessage::SessionClear { .. } => {
                self.memory = Memory::default();
                self.queue.clear();
                self.say(request, json!({"type": "session.cleared"}));
            }
            other => panic!("the histories have no {other:?}"),
        }
    }

    fn start(&mut self, request: &str, prompt: &str) {
        if prompt.trim().is_empty() || prompt.len() > MAX_PROMPT_BYTES {
            return self.error(request, "invalid_request");
        }
        if self.turn.is_none() {
            return self.begin(request, prompt);
        }
        let queue_id = self.id();
        let texts = self.queue.iter().map(|entry| entry["prompt"].as_str().map_or(0, str::len));
        if self.queue.len() == MAX_QUEUE_ENTRIES_COUNT
            || texts.sum::<usize>() + prompt.len() > MAX_QUEUE_BYTES
        {
            return self.error(request, "queue_limit");
        }
        let entry =
            json!({"queue_id": queue_id, "revision": 1, "prompt": prompt, "submitter": request});
        let position = self.queue.len();
        self.queue.push(entry.clone());
        self.say(request, json!({"type": "queue.enqueued", "entry": entry, "position": position}));
    }

    fn relocate(&mut self, request: &str, id: &str, revision: u64, before: Option<&str>) {
        let Some(from) = self.current(request, id, revision) else {
            return;
        };
        let goal = before.map(|before| self.place(before));
        if goal == Some(None) {
            return self.error(request, "queue_not_found");
        }
        let moved = self.revised(from);
        if before != Some(id) {
            self.queue.remove(from);
            let to = before.and_then(|before| self.place(before)).unwrap_or(self.queue.len());
            self.queue.insert(to, moved.clone());
        }
        let position = self.place(id);
        self.say(request, json!({"type": "queue.moved", "entry": moved, "position": position}));
    }

    /// Where a queued prompt is, unless the client is wrong about it and told so.
    fn current(&mut self, request: &str, id: &str, revision: u64) -> Option<usize> {
        let Some(at) = self.place(id) else {
            self.error(request, "queue_not_found");
            return None;
        };
        if self.queue[at]["revision"] == revision {
            return Some(at);
        }
        self.events.push(json!({"type": "error", "request_id": request, "code": "queue_conflict",
            "fatal": false, "entry": self.queue[at]}));
        None
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.queue.iter().position(|entry| entry["queue_id"] == id)
    }

    fn revised(&mut self, at: usize) -> Value {
        let revision = self.queue[at]["revision"].as_u64().unwrap_or_default();
        self.queue[at]["revision"] = json!(revision + 1);
        self.queue[at].clone()
    }

    fn start_next(&mut self) {
        if self.paused || self.closed || self.turn.is_some() || self.queue.is_empty() {
            return;
        }
        let entry = self.queue.remove(0);
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let request = text("submitter");
        self.say(&request, json!({"type": "queue.dequeued", "queue_id": text("queue_id")}));
        self.begin(&request, &text("prompt"));
    }

    fn begin(&mut self, request: &str, prompt: &str) {
        let before = self.memory.clone();
        self.memory.turns.push(vec![prompt.len()]);
        self.turn = Some(Turn {
            id: self.id(),
            request: request.to_owned(),
            before,
            steps: 0,
            tokens: None,
            calls: VecDeque::new(),
            stage: Stage::Asking,
        });
        self.say_of_turn(json!({"type": "turn.started"}));
        self.ask();
    }

    fn ask(&mut self) {
        if self.turn().steps == self.facts.max_steps {
            return self.fail("step_limit");
        }
        self.turn().steps += 1;
        self.turn().stage = Stage::Asking;
        let budget = self.facts.context.budget_bytes() as usize - self.facts.overhead_bytes;
        let (before, first) = (self.memory.request_bytes(), self.memory.left_out);
        let memory = &mut self.memory;
        while memory.request_bytes() > budget && memory.left_out + 1 < memory.turns.len() {
            memory.left_out += 1;
        }
        let after = memory.request_bytes();
        if after > budget {
            return self.fail("context_limit");
        }
        let removed: usize = memory.turns[first..memory.left_out].iter().map(Vec::len).sum();
        if removed > 0 {
            let tokens = |bytes: usize| {
                let bytes = (bytes + self.facts.overhead_bytes) as f64;
                (bytes / self.facts.context.bytes_per_token as f64).ceil() as u64
            };
            self.say_of_turn(json!({"type": "context.compacted", "before_tokens": tokens(before),
                "after_tokens": tokens(after), "removed_messages": removed}));
        }
        self.orders.push(Order::Ask);
    }

    fn provider(&mut self, event: &ProviderEvent) {
        if !matches!(&self.turn, Some(Turn { stage: Stage::Asking, .. })) {
            return;
        }
        match event {
            ProviderEvent::Delta(text) if text.is_empty() => {}
            ProviderEvent::Delta(text) if !self.fits(text) => {
                self.orders.push(Order::Stop);
                self.fail("response_limit");
            }
            ProviderEvent::Delta(text) => {
                self.say_of_turn(json!({"type": "assistant.delta", "content": text}))
            }
            ProviderEvent::Completed(response) => self.response(response),
            ProviderEvent::Failed(_) => self.fail("provider_error"),
        }
    }

    fn response(&mut self, Response { message, usage }: &Response) {
        if !self.fits(&message.text) {
            return self.fail("response_limit");
        }
        self.say_of_turn(json!({"type": "assistant.completed", "content": message.text}));
        let calls = message.calls.iter();
        let sizes = calls.map(|call| call.id.len() + call.name.len() + call.arguments.len());
        let size = message.text.len() + sizes.sum::<usize>();
        if let Some(tokens) = usage.and_then(|usage| usage.input_tokens) {
            *self.turn().tokens.get_or_insert(0) += tokens;
        }
        self.turn().calls.extend(message.calls.iter().cloned());
        if !self.remember(size) {
            return;
        }
        if message.calls.is_empty() {
            return self.complete();
        }
        self.next_call();
    }

    fn next_call(&mut self) {
        let Some(call) = self.turn().calls.pop_front() else {
            return self.ask();
        };
        let arguments: Value = serde_json::from_str(&call.arguments).expect("arguments are JSON");
        let (id, name) = (call.id.clone(), call.name.clone());
        self.say_of_turn(json!({"type": "tool.proposed", "call_id": id, "name": name,
            "arguments": arguments}));
        // What a call needs is the tools' business.
        let plan = match self.facts.toolbox.plan(&name, &arguments) {
            Ok(plan) => plan,
            Err(refusal) => return self.call_ended(&call, &refusal.into()),
        };
        if !self.facts.toolbox.needs_approval(plan.risk) {
            return self.run(call);
        }
        let approval = self.id();
        self.turn().stage = Stage::Approving { approval: approval.clone(), call };
        self.say_of_turn(json!({"type": "approval.requested", "approval_id": approval,
            "call_id": id, "name": name, "risk": plan.risk, "cwd": "/work"}));
    }

    fn resolve(&mut self, request: &str, id: &str, approved: bool) {
        let call = match &self.turn {
            Some(Turn { stage: Stage::Approving { approval, call }, .. }) if approval == id => {
                call.clone()
            }
            _ => return self.error(request, "approval_not_found"),
        };
        match approved {
            true => self.run(call),
            false => self.call_ended(&call, &ToolOutcome::denied()),
        }
    }

    fn run(&mut self, call: ToolCall) {
        self.say_of_turn(json!({"type": "tool.started", "call_id": call.id, "name": call.name}));
        self.turn().stage = Stage::Running { call, cancelled: false };
        self.orders.push(Order::Run);
    }

    fn tool(&mut self, outcome: &ToolOutcome) {
        let Some(Turn { stage: Stage::Running { call, cancelled }, .. }) = &self.turn else {
            return;
        };
        let (call, cancelled) = (call.clone(), *cancelled);
        if !cancelled {
            return self.call_ended(&call, outcome);
        }
        let error = Some(ToolError::Cancelled);
        self.say_completed(&call, &ToolOutcome { error, ..outcome.clone() });
        self.undo(json!({"type": "turn.cancelled"}));
    }

    fn progress(&mut self, text: &str) {
        let Some(Turn { stage: Stage::Running { call, .. }, .. }) = &self.turn else {
            return;
        };
        if self.facts.protocol_version == 3 {
            let call_id = call.id.clone();
            self.say_of_turn(json!({"type": "tool.progress", "call_id": call_id, "text": text}));
        }
    }

    fn call_ended(&mut self, call: &ToolCall, outcome: &ToolOutcome) {
        self.say_completed(call, outcome);
        if self.remember(call.id.len() + outcome.output.len()) {
            self.next_call();
        }
    }

    fn cancel(&mut self) {
        match self.turn.as_mut().map(|turn| &mut turn.stage) {
            None | Some(Stage::Running { cancelled: true, .. }) => {}
            Some(Stage::Running { cancelled, .. }) => {
                *cancelled = true;
                self.orders.push(Order::Stop);
            }
            Some(Stage::Asking) => {
                self.orders.push(Order::Stop);
                self.undo(json!({"type": "turn.cancelled"}));
            }
            Some(Stage::Approving { call, .. }) => {
                let call = call.clone();
                self.say_completed(&call, &ToolOutcome::cancelled());
                self.undo(json!({"type": "turn.cancelled"}));
            }
        }
    }

    /// False when that was too much for the session, and the turn has failed.
    fn remember(&mut self, size: usize) -> bool {
        let turn = self.memory.turns.last_mut().expect("a turn is running");
        turn.push(size);
        let limits = &self.facts.history;
        let fits =
            turn.len() <= limits.max_messages && turn.iter().sum::<usize>() <= limits.max_bytes;
        if !fits {
            self.fail("history_limit");
        }
        fits
    }

    fn fits(&self, text: &str) -> bool {
        let quoted = json!(text).to_string();
        quoted.len() - 2 + FRAME_ENVELOPE_BYTES <= self.facts.max_server_frame_bytes
    }

    fn fail(&mut self, code: &str) {
        self.undo(json!({"type": "turn.failed", "code": code}));
    }

    /// Ends the turn as if it had never been.
    fn undo(&mut self, terminal: Value) {
        self.memory = self.turn().before.clone();
        self.end(terminal);
    }

    fn complete(&mut self) {
        let Turn { steps, tokens, .. } = *self.turn();
        let mut event = json!({"type": "turn.completed", "steps": steps});
        if let Some(tokens) = tokens {
            event["usage"] = json!({"input_tokens": tokens});
        }
        self.end(event);
    }

    fn end(&mut self, terminal: Value) {
        self.say_of_turn(terminal);
        let request = self.turn.take().expect("a turn is running").request;
        let (limits, mut removed) = (self.facts.history, 0);
        while self.memory.bytes() > limits.max_bytes || self.memory.len() > limits.max_messages {
            removed += self.memory.turns.remove(0).len();
            self.memory.left_out = self.memory.left_out.saturating_sub(1);
        }
        if removed > 0 {
            let bytes = self.memory.bytes();
            self.say(
                &request,
                json!({"type": "session.trimmed", "removed_messages": removed, "history_bytes": bytes}),
            );
        }
        self.start_next();
    }

    fn say_completed(&mut self, call: &ToolCall, outcome: &ToolOutcome) {
        let mut event = json!({"type": "tool.completed", "call_id": call.id, "name": call.name,
            "success": outcome.error.is_none(), "output": outcome.output,
            "truncated": outcome.truncated});
        if let Some(error) = outcome.error {
            event["error"] = json!(error);
        }
        self.say_of_turn(event);
    }

    fn say_of_turn(&mut self, mut event: Value) {
        let turn = self.turn();
        event["turn_id"] = json!(turn.id);
        let request = turn.request.clone();
        self.say(&request, event);
    }

    fn say(&mut self, request: &str, mut event: Value) {
        self.seq += 1;
        event["request_id"] = json!(request);
        event["session_id"] = json!(self.facts.session_id);
        event["seq"] = json!(self.seq);
        self.events.push(event);
    }

    fn error(&mut self, request: &str, code: &str) {
        self.events
            .push(json!({"type": "error", "request_id": request, "code": code, "fatal": false}));
    }

    fn turn(&mut self) -> &mut Turn {
        self.turn.as_mut().expect("a turn is running")
    }

    fn id(&mut self) -> String {
        self.ids += 1;
        format!("id-{}", self.ids)
    }
}

impl Memory {
    fn bytes(&self) -> usize {
        self.turns.iter().flatten().sum()
    }

    fn len(&self) -> usize {
        self.turns.iter().map(Vec::len).sum()
    }

    fn request_bytes(&self) -> usize {
        self.turns[self.left_out..].iter().flatten().sum()
    }
}
