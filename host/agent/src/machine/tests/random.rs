//! Random histories: clients that ask for anything at any time, providers and tools that answer
//! late or twice.

use proptest::prelude::*;
use scv_protocol::{ApprovalId, ClientMessage, QueueEntry, QueueId, ServerEvent, TurnId};

use super::{
    rules::{Rules, check_pairs},
    *,
};

/// One thing that happens. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Act {
    Start,
    Cancel { stale: bool },
    Resolve { stale: bool, approved: bool },
    Update { entry: usize, stale: bool },
    Move { entry: usize, before: Option<usize> },
    Remove { entry: usize },
    Pause(bool),
    Clear,
    Delta { stale: bool },
    Answer { calls: Vec<u8> },
    Fail,
    Progress { stale: bool },
    ToolEnds { stale: bool },
    Shutdown,
}

fn act() -> impl Strategy<Value = Act> {
    let entry = 0_usize..4;
    prop_oneof![
        4 => Just(Act::Start),
        2 => prop::bool::weighted(0.2).prop_map(|stale| Act::Cancel { stale }),
        4 => (prop::bool::weighted(0.1), any::<bool>())
            .prop_map(|(stale, approved)| Act::Resolve { stale, approved }),
        1 => (entry.clone(), any::<bool>()).prop_map(|(entry, stale)| Act::Update { entry, stale }),
        1 => (entry.clone(), prop::option::of(entry.clone()))
            .prop_map(|(entry, before)| Act::Move { entry, before }),
        1 => entry.prop_map(|entry| Act::Remove { entry }),
        1 => any::<bool>().prop_map(Act::Pause),
        1 => Just(Act::Clear),
        3 => prop::bool::weighted(0.2).prop_map(|stale| Act::Delta { stale }),
        6 => prop::collection::vec(0_u8..5, 0..4).prop_map(|calls| Act::Answer { calls }),
        1 => Just(Act::Fail),
        3 => prop::bool::weighted(0.2).prop_map(|stale| Act::Progress { stale }),
        6 => prop::bool::weighted(0.1).prop_map(|stale| Act::ToolEnds { stale }),
        1 => prop::bool::weighted(0.05).prop_map(|end| if end { Act::Shutdown } else { Act::Start }),
    ]
}

/// A client's view, as far as it needs one to ask for things that are there.
struct World {
    bench: Bench,
    rules: Rules,
    queue: Vec<QueueEntry>,
    turn: Option<TurnId>,
    approval: Option<ApprovalId>,
    finished: Vec<WorkId>,
    prompts: usize,
    /// The history at the start of the running turn.
    before: Vec<Item>,
}

impl World {
    fn new() -> Self {
        let mut facts = facts();
        facts.protocol_version = 3;
        facts.max_steps = 5;
        facts.history.max_messages = 20;
        Self {
            bench: Bench::new(facts),
            rules: Rules::default(),
            queue: Vec::new(),
            turn: None,
            approval: None,
            finished: Vec::new(),
            prompts: 0,
            before: Vec::new(),
        }
    }

    fn act(&mut self, act: &Act) {
        let approved = matches!(act, Act::Resolve { stale: false, approved: true });
        let Some(input) = self.input(act) else {
            return;
        };
        let was_idle = self.bench.machine.is_idle();
        if was_idle {
            self.before = self.bench.remembered();
        }
        self.bench.step(input);
        for event in std::mem::take(&mut self.bench.events) {
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
            Act::Start => {
                self.prompts += 1;
                let prompt = format!("prompt {}", self.prompts);
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
            Act::Update { entry, stale } => {
                let (queue_id, revision) = self.entry(*entry);
                let revision = revision + u64::from(*stale);
                let prompt = "updated".to_owned();
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
            Act::Delta { .. }
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
            Act::Delta { stale: false } => {
                Some(Input::Provider(self.bench.asked?, ProviderEvent::Delta("d".into())))
            }
            Act::Delta { stale: true } => {
                Some(Input::Provider(stale?, ProviderEvent::Failed(failure())))
            }
            Act::Answer { calls } => {
                let work = self.finish_request()?;
                Some(Input::Provider(work, ProviderEvent::Completed(response(calls))))
            }
            Act::Fail => {
                let work = self.finish_request()?;
                Some(Input::Provider(work, ProviderEvent::Failed(failure())))
            }
            Act::Progress { stale: is_stale } => {
                let work = if *is_stale { stale } else { self.bench.running };
                Some(Input::Progress(work?, "half".into()))
            }
            Act::ToolEnds { stale: is_stale } => {
                let work = if *is_stale { stale } else { self.bench.running.take() };
                let outcome = ToolOutcome { output: "out".into(), truncated: false, error: None };
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
                // Later turns of the same step begin with what this one has left.
                self.before = self.until_the_running_turn();
            }
            _ => {}
        }
    }

    fn check_that_nothing_was_left_behind(&self) {
        assert_eq!(self.until_the_running_turn(), self.before, "the history is as it was");
    }

    /// The history without a turn that has started since.
    fn until_the_running_turn(&self) -> Vec<Item> {
        let mut items = self.bench.remembered();
        if !self.bench.machine.is_idle() {
            let start = items.iter().rposition(|item| matches!(item, Item::User(_)));
            items.truncate(start.unwrap_or(0));
        }
        items
    }
}

fn response(calls: &[u8]) -> Response {
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
    let message = AssistantMessage { text: "text".into(), calls: calls.collect(), reasoning: None };
    Response { message, usage: None }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_history_keeps_the_rules(acts in prop::collection::vec(act(), 1..120)) {
        let mut world = World::new();
        for act in &acts {
            world.act(act);
        }
        // Whatever was going on ends with exactly one terminal event.
        world.act(&Act::Shutdown);
        world.act(&Act::ToolEnds { stale: false });
        prop_assert!(world.bench.machine.is_idle());
    }
}
