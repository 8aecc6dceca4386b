//! What must hold of every event stream, whatever happened.

use std::collections::{HashMap, HashSet};

use scv_protocol::{ServerEvent, TurnRef};
use serde_json::Value;

use crate::message::Item;

/// Watches one session's events.
#[derive(Default)]
pub(super) struct Rules {
    seq: u64,
    turns: HashSet<String>,
    running: Option<String>,
    approvals: HashSet<String>,
    calls: HashMap<String, CallState>,
}

#[derive(PartialEq, Debug)]
enum CallState {
    Proposed,
    Asked,
    Started,
}

impl Rules {
    /// `approved`: the last input allowed a call.
    pub(super) fn watch(&mut self, event: &ServerEvent, approved: bool) {
        let json = serde_json::to_value(event).expect("JSON");
        if let Some(seq) = json.get("seq").and_then(Value::as_u64) {
            assert_eq!(seq, self.seq + 1, "seq has no gap");
            self.seq = seq;
        }
        match event {
            ServerEvent::TurnStarted { at, .. } => self.begin(at),
            ServerEvent::QueueDequeued { .. } | ServerEvent::SessionTrimmed { .. } => {
                assert_eq!(self.running, None, "queue events do not overtake a terminal event");
            }
            _ if json.get("turn_id").is_some() => self.watch_turn(event, &json, approved),
            _ => {}
        }
    }

    fn begin(&mut self, at: &TurnRef) {
        assert_eq!(self.running, None, "one turn at a time");
        let id = at.turn_id.as_str().to_owned();
        assert!(self.turns.insert(id.clone()), "a turn id is used once");
        self.running = Some(id);
        self.calls.clear();
    }

    fn watch_turn(&mut self, event: &ServerEvent, json: &Value, approved: bool) {
        let turn = json["turn_id"].as_str().map(str::to_owned);
        assert_eq!(self.running, turn, "nothing comes before its turn or after its end");
        match event {
            ServerEvent::ToolProposed { call_id, .. } => {
                assert!(self.calls.is_empty(), "one call at a time");
                self.calls.insert(call_id.clone(), CallState::Proposed);
            }
            ServerEvent::ApprovalRequested { call_id, approval_id, .. } => {
                assert!(self.approvals.insert(approval_id.as_str().to_owned()));
                let before = self.calls.insert(call_id.clone(), CallState::Asked);
                assert_eq!(before, Some(CallState::Proposed));
            }
            ServerEvent::ToolStarted { call_id, .. } => {
                let before = self.calls.insert(call_id.clone(), CallState::Started);
                assert!(before == Some(CallState::Proposed) || approved, "{before:?}");
            }
            ServerEvent::ToolProgress { call_id, .. } => {
                assert_eq!(self.calls.get(call_id), Some(&CallState::Started));
            }
            ServerEvent::ToolCompleted { call_id, error, .. } => {
                let before = self.calls.remove(call_id);
                assert!(before.is_some(), "only a proposed call completes");
                assert!(before == Some(CallState::Started) || error.is_some());
            }
            event if event.is_terminal() => {
                assert!(self.calls.is_empty(), "each proposed call completes in its turn");
                self.running = None;
            }
            _ => {}
        }
    }
}

/// Each call has its output, in order, and each output its call.
pub(super) fn check_pairs<'a>(items: impl Iterator<Item = &'a Item>) {
    let mut open: Vec<&str> = Vec::new();
    for item in items {
        match item {
            Item::Assistant(message) => {
                assert!(open.is_empty(), "a call without an output: {open:?}");
                open = message.calls.iter().rev().map(|call| call.id.as_str()).collect();
            }
            Item::ToolOutput { call_id, .. } => {
                assert_eq!(open.pop(), Some(call_id.as_str()), "an output without a call");
            }
            Item::User(_) => assert!(open.is_empty(), "a call without an output: {open:?}"),
        }
    }
    assert!(open.is_empty(), "a call without an output: {open:?}");
}
