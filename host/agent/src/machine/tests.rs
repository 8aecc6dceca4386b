//! Random histories against the rules of the protocol, and the cases that the rules do not show.

mod model;
mod random;
mod rules;

use scv_protocol::{
    ClientMessage, ErrorCode, QueueId, ServerEvent, SessionId, ToolError, TurnFailure, TurnId,
    Usage,
};

use serde_json::Value;

use super::*;
use crate::{
    config::{ApprovalPolicy, ToolsConfig},
    limits::MAX_QUEUE_ENTRIES_COUNT,
    message::{AssistantMessage, Item, ToolCall},
    provider::{Failure, Response},
};
use model::Order;

struct CountingIds(u64);

impl IdSource for CountingIds {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!("id-{}", self.0)
    }
}

fn facts() -> Facts {
    Facts {
        session_id: session(),
        protocol_version: 2,
        cwd: "/work".into(),
        toolbox: Toolbox { enabled: true, config: ToolsConfig::default() },
        max_steps: 3,
        context: ContextConfig::default(),
        overhead_bytes: 0,
        history: HistoryConfig::default(),
        max_server_frame_bytes: 8 << 20,
    }
}

fn session() -> SessionId {
    SessionId::new("s")
}

/// A machine, and what its last step gave.
struct Bench {
    machine: Machine,
    events: Vec<ServerEvent>,
    asked: Option<WorkId>,
    running: Option<WorkId>,
    stopped: Option<WorkId>,
    /// The last request or call.
    ordered: Option<WorkId>,
    orders: Vec<Order>,
}

impl Bench {
    fn new(facts: Facts) -> Self {
        let machine = Machine::new(facts, Box::new(CountingIds(0)));
        Self {
            machine,
            events: Vec::new(),
            asked: None,
            running: None,
            stopped: None,
            ordered: None,
            orders: Vec::new(),
        }
    }

    fn step(&mut self, input: Input) -> &[ServerEvent] {
        self.events.clear();
        for output in self.machine.step(input) {
            match output {
                Output::Emit(event) => self.events.push(event),
                Output::Ask(work) => {
                    (self.asked, self.ordered) = (Some(work), Some(work));
                    self.orders.push(Order::Ask);
                }
                Output::Run(work, _) => {
                    (self.running, self.ordered) = (Some(work), Some(work));
                    self.orders.push(Order::Run);
                }
                Output::Stop(work) => {
                    self.stopped = Some(work);
                    self.orders.push(Order::Stop);
                }
            }
        }
        &self.events
    }

    fn start(&mut self, prompt: &str) -> &[ServerEvent] {
        let message = ClientMessage::TurnStart {
            request_id: format!("r-{prompt}"),
            session_id: session(),
            prompt: prompt.to_owned(),
        };
        self.step(Input::Client(message))
    }

    fn answer(&mut self, text: &str, calls: &[(&str, &str)]) -> &[ServerEvent] {
        let calls = calls.iter().enumerate().map(|(index, (name, arguments))| ToolCall {
            id: format!("c{index}"),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
        });
        let message = AssistantMessage {
            text: text.to_owned().into(),
            calls: calls.collect(),
            reasoning: None,
        };
        let usage = Some(Usage { input_tokens: Some(2), output_tokens: None });
        self.provider(ProviderEvent::Completed(Response { message, usage }))
    }

    fn provider(&mut self, event: ProviderEvent) -> &[ServerEvent] {
        let work = self.asked.expect("the provider was asked");
        self.step(Input::Provider(work, event))
    }

    fn tool_ends(&mut self, output: &str) -> &[ServerEvent] {
        let work = self.running.expect("a tool runs");
        let outcome = ToolOutcome { output: output.to_owned(), truncated: false, error: None };
        self.step(Input::Tool(work, outcome))
    }

    fn resolve(&mut self, approved: bool) -> &[ServerEvent] {
        let open = self.events.iter().find_map(|event| match event {
            ServerEvent::ApprovalRequested { approval_id, .. } => Some(approval_id.clone()),
            _ => None,
        });
        let approval_id = open.expect("an approval is open");
        self.step(Input::Client(ClientMessage::ApprovalResolve {
            request_id: "a".into(),
            session_id: session(),
            approval_id,
            approved,
        }))
    }

    fn cancel(&mut self) -> &[ServerEvent] {
        let turn_id = self.machine.turn.as_ref().map(|turn| turn.id.clone());
        self.step(Input::Client(ClientMessage::TurnCancel {
            request_id: "x".into(),
            session_id: session(),
            turn_id: turn_id.unwrap_or_else(|| TurnId::new("none")),
        }))
    }

    fn remembered(&self) -> Vec<Item> {
        self.machine.history().window().cloned().collect()
    }
}

/// The `type` of each event.
fn kinds(events: &[ServerEvent]) -> Vec<String> {
    let kind = |event: &ServerEvent| serde_json::to_value(event).expect("JSON")["type"].clone();
    events.iter().map(|event| kind(event).as_str().expect("a type").to_owned()).collect()
}

fn error_code(events: &[ServerEvent]) -> ErrorCode {
    match events {
        [ServerEvent::Error { code, .. }] => *code,
        other => panic!("one error, not {other:?}"),
    }
}

#[test]
fn a_turn_with_tools_goes_through_all_its_events() {
    let mut bench = Bench::new(facts());
    assert_eq!(kinds(bench.start("go")), ["turn.started"]);
    let events = bench.answer("", &[("bash", r#"{"command":"ls"}"#)]);
    assert_eq!(kinds(events), ["assistant.completed", "tool.proposed", "approval.requested"]);
    assert_eq!(kinds(bench.resolve(true)), ["tool.started"]);
    assert_eq!(kinds(bench.tool_ends("out")), ["tool.completed"]);
    assert_eq!(kinds(bench.provider(ProviderEvent::Delta("ok".into()))), ["assistant.delta"]);
    let events = bench.answer("ok", &[]);
    assert_eq!(kinds(events), ["assistant.completed", "turn.completed"]);
    let usage = Some(Usage { input_tokens: Some(4), output_tokens: None });
    assert!(
        matches!(&events[1], ServerEvent::TurnCompleted { steps: 2, usage: u, .. } if *u == usage)
    );
}

#[test]
fn a_tool_tells_what_it_does_only_while_it_runs() {
    let mut bench = Bench::new(Facts { protocol_version: 3, ..facts() });
    bench.start("go");
    bench.answer("", &[("read", r#"{"path":"a"}"#)]);
    let work = bench.running.expect("a tool runs");
    let progress = || Input::Progress(work, "half".into());
    assert_eq!(kinds(bench.step(progress())), ["tool.progress"]);
    bench.tool_ends("all");
    assert!(bench.step(progress()).is_empty());
    assert_eq!(bench.remembered().len(), 3, "it is not remembered");
}

#[test]
fn a_denied_call_goes_to_the_model_and_the_turn_goes_on() {
    let mut bench = Bench::new(facts());
    bench.start("go");
    bench.answer("", &[("bash", r#"{"command":"ls"}"#)]);
    let events = bench.resolve(false);
    assert_eq!(kinds(events), ["tool.completed"]);
    assert!(matches!(
        &events[0],
        ServerEvent::ToolCompleted { success: false, error: Some(ToolError::Denied), .. }
    ));
    assert_eq!(bench.answer("fine", &[]).len(), 2);
    assert_eq!(bench.remembered().len(), 4);
}

#[test]
fn calls_that_cannot_run_never_start() {
    let mut facts = facts();
    facts.toolbox.config.approval_policy = ApprovalPolicy::Never;
    let mut bench = Bench::new(facts);
    bench.start("go");
    let calls =
        [("fly", "{}"), ("bash", "{}"), ("bash", r#"{"command":"x","timeout_seconds":99999}"#)];
    let events = bench.answer("", &calls);
    let pair = ["tool.proposed", "tool.completed"];
    assert_eq!(kinds(events), [&["assistant.completed"], &pair[..], &pair, &pair].concat());
    assert_eq!(bench.running, None);
}

#[test]
fn a_cancelled_tool_ends_before_its_turn() {
    let mut bench = Bench::new(facts());
    bench.start("go");
    bench.answer("", &[("read", r#"{"path":"a"}"#)]);
    assert!(bench.cancel().is_empty());
    assert_eq!(bench.stopped, bench.running);
    assert!(bench.cancel().is_empty(), "a second cancel changes nothing");
    let events = bench.tool_ends("half");
    assert_eq!(kinds(events), ["tool.completed", "turn.cancelled"]);
    assert!(matches!(
        &events[0],
        ServerEvent::ToolCompleted { error: Some(ToolError::Cancelled), .. }
    ));
    assert!(bench.remembered().is_empty());
    assert_eq!(error_code(bench.cancel()), ErrorCode::TurnNotFound);
}

#[test]
fn cancel_ends_a_request_and_an_approval_at_once() {
    let mut bench = Bench::new(facts());
    bench.start("go");
    assert_eq!(kinds(bench.cancel()), ["turn.cancelled"]);
    assert_eq!(bench.stopped, bench.asked);
    assert!(bench.provider(ProviderEvent::Delta("late".into())).is_empty());
    bench.start("again");
    bench.answer("", &[("bash", r#"{"command":"ls"}"#)]);
    assert_eq!(kinds(bench.cancel()), ["tool.completed", "turn.cancelled"]);
}

#[test]
fn an_approval_is_valid_once() {
    let mut bench = Bench::new(facts());
    bench.start("go");
    bench.answer("", &[("bash", r#"{"command":"ls"}"#)]);
    let asked = bench.events.clone();
    bench.resolve(true);
    bench.events = asked;
    assert_eq!(error_code(bench.resolve(true)), ErrorCode::ApprovalNotFound);
}

#[test]
fn queued_prompts_start_after_the_terminal_event() {
    let mut bench = Bench::new(facts());
    bench.start("one");
    assert_eq!(kinds(bench.start("two")), ["queue.enqueued"]);
    let events =
        bench.provider(ProviderEvent::Failed(Failure::new(TurnFailure::ProviderError, "no")));
    assert_eq!(kinds(events), ["turn.failed", "queue.dequeued", "turn.started"]);
}

#[test]
fn pausing_holds_the_queue_and_not_an_idle_session() {
    let mut bench = Bench::new(facts());
    let pause = |paused| {
        let (request_id, session_id) = ("p".to_owned(), session());
        Input::Client(ClientMessage::SessionPause { request_id, session_id, paused })
    };
    assert_eq!(kinds(bench.step(pause(true))), ["session.paused"]);
    assert_eq!(kinds(bench.start("one")), ["turn.started"]);
    bench.start("two");
    assert_eq!(kinds(bench.answer("a", &[])), ["assistant.completed", "turn.completed"]);
    let events = bench.step(pause(false));
    assert_eq!(kinds(events), ["session.paused", "queue.dequeued", "turn.started"]);
}

#[test]
fn the_step_limit_counts_requests() {
    let mut bench = Bench::new(facts());
    bench.start("go");
    for _ in 0..2 {
        bench.answer("", &[("fly", "{}")]);
    }
    let events = bench.answer("", &[("fly", "{}")]);
    assert!(matches!(
        events.last(),
        Some(ServerEvent::TurnFailed { code: TurnFailure::StepLimit, .. })
    ));
    assert!(bench.remembered().is_empty());
}

#[test]
fn an_answer_that_no_frame_holds_fails_before_it_is_sent() {
    for event in ["delta", "completed"] {
        let mut bench = Bench::new(Facts { max_server_frame_bytes: 20_000, ..facts() });
        bench.start("go");
        let text = "\u{1}".repeat(1000);
        let events = match event {
            "delta" => bench.provider(ProviderEvent::Delta(text)),
            _ => bench.answer(&text, &[]),
        };
        assert!(matches!(
            events,
            [ServerEvent::TurnFailed { code: TurnFailure::ResponseLimit, .. }]
        ));
    }
}

#[test]
fn old_turns_leave_the_request_and_then_the_memory() {
    let mut facts = facts();
    facts.context = ContextConfig {
        max_tokens: 10,
        reserve_output_tokens: 0,
        safety_margin_tokens: 0,
        bytes_per_token: 1,
    };
    facts.history.max_messages = 3;
    let mut bench = Bench::new(facts);
    bench.start("12345");
    bench.answer("abc", &[]);
    assert_eq!(kinds(bench.start("6789")), ["turn.started", "context.compacted"]);
    let events = bench.answer("d", &[]);
    assert_eq!(kinds(events), ["assistant.completed", "turn.completed", "session.trimmed"]);
    assert_eq!(bench.remembered().len(), 2);
    let events = bench.start("this is more than ten");
    assert!(matches!(
        events.last(),
        Some(ServerEvent::TurnFailed { code: TurnFailure::ContextLimit, .. })
    ));
    assert_eq!(bench.remembered().len(), 2);
}

#[test]
fn a_turn_that_outgrows_the_memory_fails() {
    let mut facts = facts();
    facts.history.max_bytes = 10;
    let mut bench = Bench::new(facts);
    bench.start("12345");
    let events = bench.answer("123456", &[]);
    assert!(matches!(
        events.last(),
        Some(ServerEvent::TurnFailed { code: TurnFailure::HistoryLimit, .. })
    ));
}

#[test]
fn wrong_requests_get_the_contracts_errors() {
    let mut bench = Bench::new(facts());
    assert_eq!(error_code(bench.start("  ")), ErrorCode::InvalidRequest);
    let long = "x".repeat(scv_protocol::limits::MAX_PROMPT_BYTES + 1);
    assert_eq!(error_code(bench.start(&long)), ErrorCode::InvalidRequest);
    let other = SessionId::new("other");
    let message = ClientMessage::SessionClear { request_id: "r".into(), session_id: other };
    assert_eq!(error_code(bench.step(Input::Client(message))), ErrorCode::SessionNotFound);
    let message = ClientMessage::SessionAttach { request_id: "r".into() };
    assert_eq!(error_code(bench.step(Input::Client(message))), ErrorCode::Unsupported);
    let message = ClientMessage::QueueRemove {
        request_id: "r".into(),
        session_id: session(),
        queue_id: QueueId::new("q"),
        revision: 1,
    };
    assert_eq!(error_code(bench.step(Input::Client(message))), ErrorCode::QueueNotFound);
    bench.start("go");
    let message = ClientMessage::SessionClear { request_id: "r".into(), session_id: session() };
    assert_eq!(error_code(bench.step(Input::Client(message))), ErrorCode::TurnActive);
}

#[test]
fn nothing_begins_after_a_shutdown() {
    let mut bench = Bench::new(facts());
    bench.start("one");
    bench.start("two");
    assert_eq!(kinds(bench.step(Input::Shutdown)), ["turn.cancelled"]);
    assert!(bench.machine.is_idle());
    assert!(bench.start("three").is_empty());
}

#[test]
fn what_version_2_does_not_know_is_left_out_without_a_gap() {
    for (protocol_version, sent) in [(2, vec![]), (3, vec!["tool.progress"])] {
        let mut bench = Bench::new(Facts { protocol_version, ..facts() });
        let began = bench.start("go").len() as u64;
        bench.machine.emit_turn(|at| ServerEvent::ToolProgress {
            at,
            call_id: "c0".into(),
            text: "half".into(),
        });
        let events = bench.cancel().to_vec();
        let after = [sent, vec!["turn.cancelled"]].concat();
        assert_eq!(kinds(&events), after);
        let seq = serde_json::to_value(events.last()).expect("JSON")["seq"].clone();
        assert_eq!(seq, began + after.len() as u64, "version {protocol_version}");
    }
}
