//! Random histories: clients that ask for anything at any time, providers and tools that answer
//! late or twice. The machine's events are those of the [`Model`], word for word.

use std::{cell::RefCell, collections::BTreeSet};

use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use scv_protocol::{ApprovalId, ClientMessage, QueueEntry, QueueId, ServerEvent, TurnId};

use super::{
    model::Model,
    rules::{Rules, check_pairs},
    *,
};

/// One thing that happens. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Act {
    Start(Size),
    /// Fills the queue.
    Flood,
    Cancel {
        stale: bool,
    },
    Resolve {
        stale: bool,
        approved: bool,
    },
    Update {
        entry: usize,
        stale: bool,
        size: Size,
    },
    Move {
        entry: usize,
        before: Option<usize>,
    },
    Remove {
        entry: usize,
    },
    Pause(bool),
    Clear,
    Delta {
        stale: bool,
        size: Size,
    },
    Answer {
        calls: Vec<u8>,
        size: Size,
    },
    Fail,
    Progress {
        stale: bool,
    },
    ToolEnds {
        stale: bool,
        failed: bool,
    },
    Shutdown,
}

/// Of a text.
#[derive(Debug, Clone, Copy)]
enum Size {
    Empty,
    Small,
    /// A few of these fill the context, some more the session.
    Large,
    /// More than a frame holds.
    Huge,
}

impl Size {
    fn text(self, small: &str) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Small => small.to_owned(),
            Self::Large => small.repeat(20),
            Self::Huge => "\u{1}".repeat(1000),
        }
    }
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        1 => Just(Size::Empty),
        20 => Just(Size::Small),
        5 => Just(Size::Large),
        1 => Just(Size::Huge),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let entry = 0_usize..4;
    prop_oneof![
        8 => size().prop_map(Act::Start),
        4 => prop::bool::weighted(0.2).prop_map(|stale| Act::Cancel { stale }),
        8 => (prop::bool::weighted(0.1), any::<bool>())
            .prop_map(|(stale, approved)| Act::Resolve { stale, approved }),
        2 => (entry.clone(), any::<bool>(), size())
            .prop_map(|(entry, stale, size)| Act::Update { entry, stale, size }),
        2 => (entry.clone(), prop::option::of(entry.clone()))
            .prop_map(|(entry, before)| Act::Move { entry, before }),
        2 => entry.prop_map(|entry| Act::Remove { entry }),
        2 => any::<bool>().prop_map(Act::Pause),
        2 => Just(Act::Clear),
        6 => (prop::bool::weighted(0.2), size()).prop_map(|(stale, size)| Act::Delta { stale, size }),
        12 => (prop::collection::vec(0_u8..5, 0..4), size())
            .prop_map(|(calls, size)| Act::Answer { calls, size }),
        2 => Just(Act::Fail),
        6 => prop::bool::weighted(0.2).prop_map(|stale| Act::Progress { stale }),
        12 => (prop::bool::weighted(0.1), prop::bool::weighted(0.2))
            .prop_map(|(stale, failed)| Act::ToolEnds { stale, failed }),
        1 => prop::sample::select(vec![Act::Shutdown, Act::Flood, Act::Pause(false), Act::Clear]),
    ]
}

/// A client's view, as far as it needs one to ask for things that are there.
struct World {
    bench: Bench,
    model: Model,
    rules: Rules,
    queue: Vec<QueueEntry>,
    turn: Option<TurnId>,
    approval: Option<ApprovalId>,
    finished: Vec<WorkId>,
    prompts: usize,
    /// What was remembered before the running turn, if that was seen.
    before: Option<Vec<Item>>,
    kinds: BTreeSet<String>,
}

impl World {
    fn new(protocol_version: u32, max_messages: usize) -> Self {
        Self {
            bench: Bench::new(narrow(protocol_version, max_messages)),
            model: Model::new(narrow(protocol_version, max_messages)),
            rules: Rules::default(),
            queue: Vec::new(),
            turn: None,
            approval: None,
            finished: Vec::new(),
            prompts: 0,
            before: None,
            kinds: BTreeSet::new(),
        }
    }

    fn act(&mut self, act: &Act) {
        if matches!(act, Act::Flood) {
            return (0..MAX_QUEUE_ENTRIES_COUNT).for_each(|_| self.act(&Act::Start(Size::Small)));
        }
        let approved = matches!(act, Act::Resolve { stale: false, approved: true });
        let Some(input) = self.input(act) else {
            return;
        };
        if self.bench.machine.is_idle() {
            self.before = Some(self.bench.remembered());
        }
        let expected = self.model.step(&input);
        self.bench.step(input);
        let events = std::mem::take(&mut self.bench.events);
        let wire: Vec<Value> = events.iter().map(on_the_wire).collect();
        assert_eq!((wire, std::mem::take(&mut self.bench.orders)), expected, "{act:?}");
        self.kinds.extend(expected.0.iter().map(kind));
        if let Some(work) = self.bench.ordered {
            self.model.name_work(work);
        }
        for event in events {
            self.rules.watch(&event, approved);
            self.follow(event);
        }
        if self.bench.machine.closing {
            // Nobody is told: the connection ends.
            self.queue.clear();
        }
        if self.bench.machine.is_idle() {
            check_pairs(self.bench.machine.history().window());
        }
        assert_eq!(self.turn.is_none(), self.bench.machine.is_idle());
        assert_eq!(self.queue, self.bench.machine.queue.snapshot(), "the client's queue is true");
    }

    fn input(&mut self, act: &Act) -> Option<Input> {
        let (request_id, session_id) = ("r".to_owned(), session());
        let message = match act {
            Act::Start(size) => {
                self.prompts += 1;
                let prompt = size.text(&format!("prompt {}", self.prompts));
                ClientMessage::TurnStart { request_id, session_id, prompt }
            }
            Act::Cancel { stale } => {
                let turn_id = self.turn.clone().filter(|_| !stale);
                let turn_id = turn_id.unwrap_or_else(|| TurnId::new("stale"));
                ClientMessage::TurnCancel { request_id, session_id, turn_id }
            }
            Act::Resolve { stale, approved } => {
                let approval_id = self.approval.clone().filter(|_| !stale);
                let approval_id = approval_id.unwrap_or_else(|| ApprovalId::new("stale"));
                let approved = *approved;
                ClientMessage::ApprovalResolve { request_id, session_id, approval_id, approved }
            }
            Act::Update { entry, stale, size } => {
                let (queue_id, revision) = self.entry(*entry);
                let revision = revision + u64::from(*stale);
                let prompt = size.text("updated");
                ClientMessage::QueueUpdate { request_id, session_id, queue_id, revision, prompt }
            }
            Act::Move { entry, before } => {
                let (queue_id, revision) = self.entry(*entry);
                let before_queue_id = before.map(|before| self.entry(before).0);
                ClientMessage::QueueMove {
                    request_id,
                    session_id,
                    queue_id,
                    revision,
                    before_queue_id,
                }
            }
            Act::Remove { entry } => {
                let (queue_id, revision) = self.entry(*entry);
                ClientMessage::QueueRemove { request_id, session_id, queue_id, revision }
            }
            Act::Pause(paused) => {
                ClientMessage::SessionPause { request_id, session_id, paused: *paused }
            }
            Act::Clear => ClientMessage::SessionClear { request_id, session_id },
            Act::Shutdown => return Some(Input::Shutdown),
            Act::Flood
            | Act::Delta { .. }
            | Act::Answer { .. }
            | Act::Fail
            | Act::Progress { .. }
            | Act::ToolEnds { .. } => return self.work_input(act),
        };
        Some(Input::Client(message))
    }

    fn work_input(&mut self, act: &Act) -> Option<Input> {
        let stale = self.finished.last().copied();
        let failure = || Failure::new(TurnFailure::ProviderError, "no");
        match act {
            Act::Delta { stale: false, size } => {
                Some(Input::Provider(self.bench.asked?, ProviderEvent::Delta(size.text("d"))))
            }
            Act::Delta { stale: true, .. } => {
                Some(Input::Provider(stale?, ProviderEvent::Failed(failure())))
            }
            Act::Answer { calls, size } => {
                let work = self.finish_request()?;
                Some(Input::Provider(work, ProviderEvent::Completed(response(calls, *size))))
            }
            Act::Fail => {
                let work = self.finish_request()?;
                Some(Input::Provider(work, ProviderEvent::Failed(failure())))
            }
            Act::Progress { stale: is_stale } => {
                let work = if *is_stale { stale } else { self.bench.running };
                Some(Input::Progress(work?, "half".into()))
            }
            Act::ToolEnds { stale: is_stale, failed } => {
                let work = if *is_stale { stale } else { self.bench.running.take() };
                let error = failed.then_some(ToolError::Failed);
                let outcome = ToolOutcome { output: "out".into(), truncated: *failed, error };
                self.finished.extend(work);
                Some(Input::Tool(work?, outcome))
            }
            _ => None,
        }
    }

    fn finish_request(&mut self) -> Option<WorkId> {
        let work = self.bench.asked.take();
        self.finished.extend(work);
        work
    }

    fn entry(&self, number: usize) -> (QueueId, u64) {
        let entry = self.queue.get(number);
        entry.map_or((QueueId::new("none"), 1), |entry| (entry.queue_id.clone(), entry.revision))
    }

    fn place(&self, queue_id: &QueueId) -> usize {
        let mut entries = self.queue.iter();
        entries.position(|entry| entry.queue_id == *queue_id).expect("the entry is queued")
    }

    /// Keeps the client's view by the events alone.
    fn follow(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::TurnStarted { at, .. } => self.turn = Some(at.turn_id),
            ServerEvent::ApprovalRequested { approval_id, .. } => self.approval = Some(approval_id),
            ServerEvent::ToolStarted { .. } | ServerEvent::ToolCompleted { .. } => {
                self.approval = None;
            }
            ServerEvent::QueueEnqueued { entry, position, .. } => {
                self.queue.insert(position, entry)
            }
            ServerEvent::QueueUpdated { entry, .. } => {
                let place = self.place(&entry.queue_id);
                self.queue[place] = entry;
            }
            ServerEvent::QueueMoved { entry, position, .. } => {
                let place = self.place(&entry.queue_id);
                self.queue.remove(place);
                self.queue.insert(position, entry);
            }
            ServerEvent::QueueRemoved { queue_id, .. } => {
                let place = self.place(&queue_id);
                self.queue.remove(place);
            }
            ServerEvent::QueueDequeued { queue_id, .. } => {
                assert_eq!(self.place(&queue_id), 0, "the first entry starts");
                self.queue.remove(0);
            }
            ServerEvent::SessionCleared { .. } => {
                self.queue.clear();
                assert!(self.bench.remembered().is_empty());
            }
            ServerEvent::TurnFailed { .. } | ServerEvent::TurnCancelled { .. } => {
                self.turn = None;
                self.approval = None;
                self.check_that_nothing_was_left_behind();
            }
            ServerEvent::TurnCompleted { .. } => {
                self.turn = None;
                // The next turn may have begun in the same step.
                self.before = None;
            }
            _ => {}
        }
    }

    fn check_that_nothing_was_left_behind(&self) {
        if let Some(before) = &self.before
            && self.bench.machine.is_idle()
        {
            assert_eq!(self.bench.remembered(), *before, "the history is as it was");
        }
    }
}

/// A session whose limits are soon reached.
fn narrow(protocol_version: u32, max_messages: usize) -> Facts {
    let context = ContextConfig {
        max_tokens: 320,
        reserve_output_tokens: 15,
        safety_margin_tokens: 5,
        bytes_per_token: 3,
    };
    let history = HistoryConfig { max_bytes: 1200, max_messages };
    Facts {
        protocol_version,
        max_steps: 5,
        context,
        overhead_bytes: 100,
        history,
        max_server_frame_bytes: 20_000,
        ..facts()
    }
}

/// What a client reads, without what is only for people.
fn on_the_wire(event: &ServerEvent) -> Value {
    let mut json = serde_json::to_value(event).expect("JSON");
    let object = json.as_object_mut().expect("an object");
    for field in ["message", "summary"] {
        let text = object.remove(field);
        assert!(text.is_none_or(|text| text.as_str().is_some_and(|text| !text.is_empty())));
    }
    json
}

fn response(calls: &[u8], size: Size) -> Response {
    let calls = calls.iter().enumerate().map(|(index, kind)| {
        let (name, arguments) = match kind {
            0 => ("read", r#"{"path":"a"}"#),
            1 => ("read", r#"{"path":".env"}"#),
            2 => ("bash", r#"{"command":"ls"}"#),
            3 => ("bash", "{}"),
            _ => ("fly", "{}"),
        };
        ToolCall { id: format!("c{index}"), name: name.into(), arguments: arguments.into() }
    });
    let message = AssistantMessage {
        text: size.text("text").into(),
        calls: calls.collect(),
        reasoning: None,
    };
    let usage =
        matches!(size, Size::Small).then_some(Usage { input_tokens: Some(3), output_tokens: None });
    Response { message, usage }
}

/// Gives the kinds of the events.
fn play(protocol_version: u32, max_messages: usize, acts: &[Act]) -> BTreeSet<String> {
    let mut world = World::new(protocol_version, max_messages);
    for act in acts {
        world.act(act);
    }
    // Whatever was going on ends with exactly one terminal event.
    world.act(&Act::Shutdown);
    world.act(&Act::ToolEnds { stale: false, failed: false });
    assert!(world.bench.machine.is_idle());
    world.kinds
}

/// `SCV_LONG_TESTS=1` plays 100,000 histories; `SCV_SEED=N` plays those of a run that failed.
#[test]
fn every_history_is_as_the_model_has_it() {
    let long = std::env::var_os("SCV_LONG_TESTS").is_some();
    let seed = std::env::var("SCV_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| getrandom::u64().expect("random numbers"));
    let config = ProptestConfig {
        cases: if long { 100_000 } else { 1_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let seen = RefCell::new(BTreeSet::new());
    let histories =
        (2_u32..=3, prop::sample::select(vec![10, 30]), prop::collection::vec(act(), 1..120));
    let played =
        TestRunner::new_with_rng(config, rng).run(&histories, |(version, messages, acts)| {
            seen.borrow_mut().extend(play(version, messages, &acts));
            Ok::<_, TestCaseError>(())
        });
    if let Err(error) = played {
        panic!("SCV_SEED={seed}: {error}");
    }
    // A thousand histories come to the rarest of them almost always only.
    if !long {
        return;
    }
    let seen = seen.into_inner();
    let never: Vec<_> = KINDS.iter().filter(|kind| !seen.contains(**kind)).collect();
    assert!(never.is_empty(), "SCV_SEED={seed}: the histories never came to {never:?}");
}

/// An event's type, or the code of what failed.
fn kind(event: &Value) -> String {
    let name = event.get("code").unwrap_or(&event["type"]);
    name.as_str().expect("a name").to_owned()
}

/// What a long run comes to.
const KINDS: [&str; 31] = [
    "approval.requested",
    "approval_not_found",
    "assistant.completed",
    "assistant.delta",
    "context.compacted",
    "context_limit",
    "history_limit",
    "invalid_request",
    "provider_error",
    "queue.dequeued",
    "queue.enqueued",
    "queue.moved",
    "queue.removed",
    "queue.updated",
    "queue_conflict",
    "queue_limit",
    "queue_not_found",
    "response_limit",
    "session.cleared",
    "session.paused",
    "session.trimmed",
    "step_limit",
    "tool.completed",
    "tool.progress",
    "tool.proposed",
    "tool.started",
    "turn.cancelled",
    "turn.completed",
    "turn.started",
    "turn_active",
    "turn_not_found",
];
