//! The world around one machine: a store in memory, a platform and an agent, each of which does
//! what the test says, and that checks what the machine asks for.

use std::collections::{HashMap, HashSet, VecDeque};

use scv_bridge::{
    machine::{AskError, AskId, CommitId, Config, Failure, Input, Machine, Output, Timer, TurnEnd},
    store::{Change, State},
};
use scv_plugin_api::wire::{Batch, Inbound, Scope, SendOutcome, Unprompted};
use scv_protocol::Senders;

use crate::support::platform::{direct, in_group};

/// The world around one machine.
pub(super) struct World {
    pub(super) machine: Machine,
    pub(super) state: State,
    pub(super) now_ms: u64,
    pub(super) commits: VecDeque<(CommitId, Vec<Change>)>,
    pub(super) turns: Vec<String>,
    pub(super) sends: Vec<String>,
    pub(super) timers: HashSet<Timer>,
    /// How long the last timer was set for.
    pub(super) last_wait_ms: u64,
    pub(super) is_polling: bool,
    pub(super) fresh: Vec<String>,
    pub(super) cancelled: Vec<String>,
    pub(super) forgotten: Vec<String>,
    pub(super) answers: Vec<(AskId, Result<(), AskError>)>,
    /// All messages that a batch ever brought and that want an answer.
    pub(super) asked: Vec<Inbound>,
    pub(super) turns_started: HashSet<String>,
    /// Parts accepted or held, by the message that they answer.
    pub(super) answered: HashMap<String, usize>,
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            machine: machine(0),
            state: State::new("f"),
            now_ms: 1_790_000_000_000,
            commits: VecDeque::new(),
            turns: Vec::new(),
            sends: Vec::new(),
            timers: HashSet::new(),
            last_wait_ms: 0,
            is_polling: false,
            fresh: Vec::new(),
            cancelled: Vec::new(),
            forgotten: Vec::new(),
            answers: Vec::new(),
            asked: Vec::new(),
            turns_started: HashSet::new(),
            answered: HashMap::new(),
        };
        world.start();
        world
    }

    pub(super) fn start(&mut self) {
        self.feed(Input::Started);
        self.feed(Input::Connected);
    }

    pub(super) fn feed(&mut self, input: Input) {
        self.now_ms += 10;
        for output in self.machine.step(&self.state, self.now_ms, input) {
            match output {
                Output::Commit { id, changes } => self.commits.push_back((id, changes)),
                Output::Poll { .. } => {
                    assert!(!self.is_polling, "two polls at once");
                    self.is_polling = true;
                }
                Output::StartTurn(turn) => {
                    let claimed =
                        self.state.claims().iter().any(|c| c.message_id == turn.message_id);
                    assert!(claimed, "a turn without a durable claim");
                    assert!(
                        self.turns_started.insert(turn.message_id.clone()),
                        "a second turn for {}",
                        turn.message_id
                    );
                    self.fresh.extend(turn.is_fresh.then(|| turn.message_id.clone()));
                    self.turns.push(turn.message_id);
                    assert!(self.turns.len() <= 4);
                }
                Output::Send { reply, message } => {
                    let pending = self.state.pending_by_id(&reply).expect("sent but not pending");
                    assert_eq!(pending.client_ids[pending.next_chunk], message.client_id);
                    assert!(!self.sends.contains(&reply));
                    let mut own = self.state.pending().iter().filter(|p| p.key == pending.key);
                    assert_eq!(own.next(), Some(pending), "an earlier reply was passed");
                    self.sends.push(reply);
                    assert!(self.sends.len() <= 4);
                }
                Output::SetTimer { timer, after_ms } => {
                    self.timers.insert(timer);
                    self.last_wait_ms = after_ms;
                }
                Output::CancelTurn(key) => self.cancelled.push(key),
                Output::ForgetConversation(key) => self.forgotten.push(key),
                Output::Answer(id, result) => self.answers.push((id, result)),
                Output::Note(_) => {}
            }
        }
    }

    pub(super) fn deliver(&mut self, picks: &[(u8, u8)]) {
        if !self.is_polling {
            return;
        }
        self.is_polling = false;
        let messages: Vec<Inbound> =
            picks.iter().map(|(id, sender)| message(*id, *sender)).collect();
        for message in &messages {
            if !self.asked.iter().any(|other| other.id == message.id) {
                self.asked.push(message.clone());
            }
        }
        self.feed(Input::Batch(Batch {
            token: "t".into(),
            checkpoint: self.now_ms.to_string(),
            messages,
            ..Batch::default()
        }));
    }

    /// The platform has these messages, and they become durable.
    pub(super) fn hello(&mut self, messages: Vec<Inbound>) {
        self.is_polling = false;
        let (token, checkpoint) = ("t".into(), "c".into());
        self.feed(Input::Batch(Batch { token, checkpoint, messages, ..Batch::default() }));
        self.store(true);
    }

    pub(super) fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            if let Change::Hold { reply, text, .. } = change {
                let pending = self.state.pending_by_id(reply).unwrap();
                // A refused notice was tried; everything else must be kept.
                assert!(text.is_some() || pending.transient, "a refused reply is lost");
                *self.answered.entry(pending.message_id.clone()).or_default() += 1;
            }
            self.state.apply(change).expect("a change that does not fit");
        }
    }

    pub(super) fn store(&mut self, ok: bool) {
        let Some((id, changes)) = self.commits.pop_front() else {
            return;
        };
        if ok {
            self.apply(&changes);
            self.feed(Input::Committed(id));
        } else {
            self.feed(Input::CommitFailed(id));
        }
    }

    pub(super) fn end_turn(&mut self, pick: u8, ok: bool, length: u16) {
        if self.turns.is_empty() {
            return;
        }
        let message_id = self.turns.swap_remove(pick as usize % self.turns.len());
        let end = match ok {
            true => TurnEnd::Answer("ä".repeat(length.into())),
            false => TurnEnd::Failed(Failure::TimedOut),
        };
        self.feed(Input::TurnEnded { message_id, end });
    }

    pub(super) fn end_send(&mut self, pick: u8, outcome: u8) {
        if self.sends.is_empty() {
            return;
        }
        let reply = self.sends.swap_remove(pick as usize % self.sends.len());
        let scope = [Scope::Message, Scope::Conversation, Scope::Account][pick as usize % 3];
        let outcome = match outcome {
            0 => SendOutcome::Refused {
                code: "no".into(),
                message: None,
                signed_out: false,
                pause_ms: (pick > 128).then_some(5_000),
                scope,
            },
            1 | 2 => SendOutcome::Retry {
                reason: "later".into(),
                after_ms: (outcome == 1).then_some(1_000),
                scope,
            },
            _ => {
                let pending = self.state.pending_by_id(&reply).unwrap();
                *self.answered.entry(pending.message_id.clone()).or_default() += 1;
                SendOutcome::Accepted { receipt: None }
            }
        };
        self.feed(Input::SendEnded { reply, outcome });
    }

    /// A send that the platform answers with a pause of the account; answers how long the
    /// timer was set for.
    pub(super) fn pause(&mut self, ms: u64) -> u64 {
        let reply = self.sends.remove(0);
        let (reason, scope) = ("pace".into(), Scope::Account);
        let outcome = SendOutcome::Retry { reason, after_ms: Some(ms), scope };
        self.feed(Input::SendEnded { reply, outcome });
        self.last_wait_ms
    }

    pub(super) fn fire_timers(&mut self) {
        for timer in std::mem::take(&mut self.timers) {
            self.feed(Input::Timer(timer));
        }
    }

    pub(super) fn crash(&mut self, stored: bool) {
        if let Some((_, changes)) = self.commits.pop_front()
            && stored
        {
            self.apply(&changes);
        }
        self.commits.clear();
        self.turns.clear();
        self.sends.clear();
        self.timers.clear();
        self.is_polling = false;
        // What was never durable comes again from the platform.
        let state = &self.state;
        self.asked.retain(|message| state.is_known(&message.id));
        self.machine = machine(self.now_ms);
        self.start();
    }

    /// Lets everything that is under way come to a good end.
    pub(super) fn calm_down(&mut self) {
        for _ in 0..5_000 {
            self.store(true);
            self.end_turn(0, true, 10);
            self.end_send(0, 7);
            self.fire_timers();
            let is_quiet =
                self.commits.is_empty() && self.turns.is_empty() && self.sends.is_empty();
            if is_quiet && self.state.pending().is_empty() && !self.machine.has_turns() {
                return;
            }
        }
        panic!("it does not calm down");
    }
}

fn machine(seed: u64) -> Machine {
    let mut count = 0;
    Machine::new(Config {
        max_message_bytes: 200,
        sends_per_reply: Some(1),
        unprompted: Unprompted::Direct,
        owner: Some("u0".into()),
        owner_has_tools: true,
        senders: Senders::Everyone,
        new_id: Box::new(move || {
            count += 1;
            format!("{seed}-{count}")
        }),
    })
}

/// Sender 3 writes in a group, where nothing can be sent unprompted.
fn message(id: u8, sender: u8) -> Inbound {
    let name = format!("u{sender}");
    match sender {
        3 => in_group(&format!("m{id}-{sender}"), "g", &name, "hello"),
        _ => direct(&format!("m{id}-{sender}"), &name, "hello"),
    }
}
