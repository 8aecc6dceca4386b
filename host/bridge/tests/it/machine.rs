//! Random histories of the machine over a store in memory, with crashes between any two steps.
//!
//! The oracle: no message starts two turns, nothing is sent that is not pending at that moment,
//! first tries keep the order of a conversation, and when everything has calmed down every
//! sender was answered.

use std::collections::{HashMap, HashSet, VecDeque};

use proptest::prelude::*;
use scv_bridge::{
    limits::HELD_AGE_SECONDS,
    machine::{
        Ask, AskError, AskId, CommitId, Config, Failure, Input, Machine, Output, Timer, TurnEnd,
    },
    store::{Change, State},
};
use scv_plugin_api::wire::{Batch, Inbound, Scope, SendOutcome, Unprompted};
use scv_protocol::Senders;

use crate::support::platform::{direct, in_group};

/// One thing that the world does; the numbers pick among what is possible.
#[derive(Debug, Clone)]
enum Act {
    /// The platform has new messages, some of them again.
    Deliver(Vec<(u8, u8)>),
    Store {
        ok: bool,
    },
    EndTurn {
        pick: u8,
        ok: bool,
        length: u16,
    },
    EndSend {
        pick: u8,
        outcome: u8,
    },
    Timers,
    Reconnect,
    /// Everything in memory is gone; the commit under way is durable or not.
    Crash {
        stored: bool,
    },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => prop::collection::vec((0_u8..12, 0_u8..4), 1..6).prop_map(Act::Deliver),
        8 => prop::bool::weighted(0.85).prop_map(|ok| Act::Store { ok }),
        4 => (any::<u8>(), prop::bool::weighted(0.8), 0_u16..300)
            .prop_map(|(pick, ok, length)| Act::EndTurn { pick, ok, length }),
        6 => (any::<u8>(), 0_u8..8).prop_map(|(pick, outcome)| Act::EndSend { pick, outcome }),
        3 => Just(Act::Timers),
        1 => Just(Act::Reconnect),
        1 => any::<bool>().prop_map(|stored| Act::Crash { stored }),
    ]
}

/// The world around one machine.
struct World {
    machine: Machine,
    state: State,
    now_ms: u64,
    commits: VecDeque<(CommitId, Vec<Change>)>,
    turns: Vec<String>,
    sends: Vec<String>,
    timers: HashSet<Timer>,
    /// How long the last timer was set for.
    last_wait_ms: u64,
    is_polling: bool,
    fresh: Vec<String>,
    cancelled: Vec<String>,
    forgotten: Vec<String>,
    answers: Vec<(AskId, Result<(), AskError>)>,
    /// All messages that a batch ever brought and that want an answer.
    asked: Vec<Inbound>,
    turns_started: HashSet<String>,
    /// Parts accepted or held, by the message that they answer.
    answered: HashMap<String, usize>,
}

impl World {
    fn new() -> Self {
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

    fn start(&mut self) {
        self.feed(Input::Started);
        self.feed(Input::Connected);
    }

    fn feed(&mut self, input: Input) {
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

    fn act(&mut self, act: Act) {
        match act {
            Act::Deliver(picks) => self.deliver(&picks),
            Act::Store { ok } => self.store(ok),
            Act::EndTurn { pick, ok, length } => self.end_turn(pick, ok, length),
            Act::EndSend { pick, outcome } => self.end_send(pick, outcome),
            Act::Timers => self.fire_timers(),
            Act::Reconnect => {
                self.is_polling = false;
                self.feed(Input::Disconnected);
                self.feed(Input::Connected);
            }
            Act::Crash { stored } => self.crash(stored),
        }
    }

    fn deliver(&mut self, picks: &[(u8, u8)]) {
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

    fn apply(&mut self, changes: &[Change]) {
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

    fn store(&mut self, ok: bool) {
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

    fn end_turn(&mut self, pick: u8, ok: bool, length: u16) {
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

    fn end_send(&mut self, pick: u8, outcome: u8) {
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
    fn pause(&mut self, ms: u64) -> u64 {
        let reply = self.sends.remove(0);
        let (reason, scope) = ("pace".into(), Scope::Account);
        let outcome = SendOutcome::Retry { reason, after_ms: Some(ms), scope };
        self.feed(Input::SendEnded { reply, outcome });
        self.last_wait_ms
    }

    fn fire_timers(&mut self) {
        for timer in std::mem::take(&mut self.timers) {
            self.feed(Input::Timer(timer));
        }
    }

    fn crash(&mut self, stored: bool) {
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
    fn calm_down(&mut self) {
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

fn check(acts: Vec<Act>) {
    let mut world = World::new();
    acts.into_iter().for_each(|act| world.act(act));
    world.calm_down();
    assert!(world.state.claims().is_empty(), "a claim is left");
    for message in &world.asked {
        let answers = world.answered.get(&message.id).copied().unwrap_or(0);
        assert!(answers > 0, "{} was never answered", message.id);
        assert!(world.state.is_seen(&message.id));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_claim_is_lost_and_no_turn_runs_twice(acts in prop::collection::vec(act(), 1..120)) {
        check(acts);
    }
}

fn hello(world: &mut World, messages: Vec<Inbound>) {
    world.is_polling = false;
    let (token, checkpoint) = ("t".into(), "c".into());
    world.feed(Input::Batch(Batch { token, checkpoint, messages, ..Batch::default() }));
    world.store(true);
}

#[test]
fn a_ninth_message_of_a_conversation_gets_a_busy_notice() {
    let mut world = World::new();
    let messages = (0..9).map(|n| direct(&format!("m{n}"), "u", "hello")).collect();
    hello(&mut world, messages);
    assert_eq!(world.state.claims().len(), 8);
    let [notice] = world.state.pending() else {
        panic!("one notice expected");
    };
    assert_eq!(notice.message_id, "m8");
    assert!(notice.transient);
}

#[test]
fn the_65th_message_of_an_account_gets_a_busy_notice() {
    let mut world = World::new();
    let messages = (0..65).map(|n| direct(&format!("m{n}"), &format!("u{n}"), "hi")).collect();
    hello(&mut world, messages);
    assert_eq!(world.state.claims().len(), 64);
    assert_eq!(world.state.pending()[0].message_id, "m64");
}

#[test]
fn a_refused_reply_rides_with_the_next_and_comes_back_when_that_is_refused() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 2);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    assert_eq!(world.state.held()[0].reply, "ää");
    world.fire_timers();

    hello(&mut world, vec![direct("m2", "u", "two")]);
    world.end_turn(0, true, 3);
    world.store(true);
    assert!(world.state.held().is_empty());
    let pending = &world.state.pending()[0];
    assert_eq!(
        pending.reply,
        "[Earlier reply that could not be delivered at the time]\nää\n\n\
         [Reply to your latest message]\näää"
    );
    assert_eq!(pending.own, "äää");

    world.end_send(0, 0);
    world.store(true);
    let held: Vec<&str> = world.state.held().iter().map(|h| h.reply.as_str()).collect();
    assert_eq!(held, ["ää", "äää"]);
    assert!(world.state.is_seen("m1") && world.state.is_seen("m2"));
}

/// A run may last for months.
#[test]
fn held_replies_go_after_seven_days_with_the_next_commit() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 2);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    world.fire_timers();
    world.now_ms += HELD_AGE_SECONDS * 1_000 - 60_000;
    hello(&mut world, vec![direct("m2", "v", "two")]);
    assert_eq!(world.state.held().len(), 1, "not yet");
    world.now_ms += 61_000;
    hello(&mut world, vec![direct("m3", "w", "three")]);
    assert!(world.state.held().is_empty());
}

/// The wall clock may be set back by any amount: a pause lasts as long as it was asked for.
#[test]
fn a_pause_does_not_follow_the_wall_clock() {
    for back_ms in [3_600_000, 86_400_000] {
        let mut world = World::new();
        let senders = ["u", "v"];
        hello(&mut world, senders.map(|sender| direct(sender, sender, "hello")).to_vec());
        for _ in senders {
            world.end_turn(0, true, 2);
            world.store(true);
        }
        world.pause(5_000);
        world.now_ms -= back_ms;
        assert_eq!(world.pause(1_000), 1_000);
        let pauses: Vec<Timer> = world.timers.drain().collect();
        assert_eq!(pauses.len(), 2);
        for pause in pauses {
            assert!(world.sends.is_empty(), "the longer of two pauses counts");
            world.feed(Input::Timer(pause));
        }
        assert_eq!(world.sends.len(), 2);
    }
}

/// Until its answer is pending, a message waits or runs: status must never say that all is done.
#[test]
fn a_message_is_counted_until_its_answer_is_pending() {
    let mut world = World::new();
    world.is_polling = false;
    let messages = vec![direct("m1", "u", "one")];
    world.feed(Input::Batch(Batch { token: "t".into(), messages, ..Batch::default() }));
    assert_eq!((world.machine.waiting(), world.machine.running()), (1, 0));
    world.store(false);
    assert_eq!((world.machine.waiting(), world.machine.running()), (1, 0));
    world.fire_timers();
    world.store(true);
    assert_eq!((world.machine.waiting(), world.machine.running()), (0, 1));
    world.end_turn(0, true, 2);
    assert_eq!((world.machine.running(), world.state.pending().len()), (1, 0));
    world.store(false);
    assert_eq!((world.machine.running(), world.state.pending().len()), (1, 0));
    world.fire_timers();
    world.store(true);
    assert_eq!((world.machine.running(), world.state.pending().len()), (0, 1));
}

#[test]
fn failed_commits_are_tried_again_after_1_to_30_seconds() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 2);
    let waits = [1, 2, 4, 8, 16, 30, 30].map(|seconds| seconds * 1_000);
    for wait in waits {
        world.store(false);
        assert_eq!(world.last_wait_ms, wait);
        world.fire_timers();
    }
}

/// A turn that has ended while the account stops is recorded like any other.
#[test]
fn a_stop_waits_for_answers_and_gives_failed_commits_a_last_try() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one"), direct("m2", "v", "two")]);
    world.end_turn(0, true, 2);
    world.store(false);
    assert!(world.commits.is_empty(), "it waits for its timer");
    world.is_polling = false;
    world.feed(Input::Disconnected);
    world.feed(Input::Stop);
    world.store(true);
    assert_eq!(world.state.pending().len(), 1);
    assert!(!world.machine.is_settled(), "a turn has not ended yet");
    world.end_turn(0, true, 3);
    assert!(!world.machine.is_settled(), "its answer is not durable yet");
    world.store(true);
    assert!(world.machine.is_settled());
    assert_eq!(world.state.pending().len(), 2);
    assert!(world.state.claims().is_empty());
}

#[test]
fn what_is_not_accepted_of_a_long_reply_is_held() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 140);
    world.store(true);
    world.end_send(0, 7);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    assert_eq!(world.state.held()[0].reply, "ä".repeat(40));
}

#[test]
fn in_a_group_parts_beyond_the_handle_are_held_unsent() {
    let mut world = World::new();
    hello(&mut world, vec![in_group("m1", "g", "u", "one")]);
    world.end_turn(0, true, 140);
    world.store(true);
    world.end_send(0, 7);
    world.store(true);
    world.store(true);
    assert_eq!(world.state.held()[0].key, "g\0u");
    assert!(world.sends.is_empty());
}

#[test]
fn duplicates_alone_need_no_commit() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one")]);
    world.calm_down();
    world.is_polling = false;
    world.feed(Input::Batch(Batch {
        token: "t2".into(),
        checkpoint: "c".into(),
        messages: vec![direct("m1", "u", "one")],
        ..Batch::default()
    }));
    assert!(world.commits.is_empty());
    assert!(world.is_polling, "acknowledged at once");
}

#[test]
fn a_second_key_catches_a_redelivery_under_a_new_id() {
    let mut world = World::new();
    let with_key =
        |id: &str, key: &str| Inbound { dedup_key: Some(key.into()), ..direct(id, "u", "yes") };
    hello(&mut world, vec![with_key("m1", "k1")]);
    hello(&mut world, vec![with_key("m2", "k1"), with_key("m3", "k3"), with_key("m4", "k3")]);
    world.calm_down();
    assert_eq!(world.turns_started, HashSet::from(["m1".to_owned(), "m3".to_owned()]));
    assert!(world.state.is_seen("m2") && world.state.is_seen("m4"));
}

#[test]
fn unreadable_messages_get_one_notice_in_ten_minutes_in_direct_chats() {
    let mut world = World::new();
    let unreadable = |message: Inbound| Inbound {
        kind: scv_plugin_api::wire::InboundKind::Unreadable,
        text: None,
        ..message
    };
    hello(
        &mut world,
        vec![
            unreadable(direct("m1", "u", "")),
            unreadable(direct("m2", "u", "")),
            unreadable(in_group("m3", "g", "u", "")),
        ],
    );
    let noticed: Vec<&str> = world.state.pending().iter().map(|p| p.message_id.as_str()).collect();
    assert_eq!(noticed, ["m1"]);
    assert!(world.state.is_seen("m2") && world.state.is_seen("m3"));
    world.now_ms += 10 * 60_000;
    hello(&mut world, vec![unreadable(direct("m4", "u", ""))]);
    assert_eq!(world.state.pending().len(), 2);
}

#[test]
fn a_prompt_beyond_the_protocol_gets_a_notice() {
    let mut world = World::new();
    let long = "x".repeat(scv_protocol::limits::MAX_PROMPT_BYTES + 1);
    hello(&mut world, vec![direct("m1", "u", &long)]);
    assert!(world.state.claims().is_empty());
    assert!(world.state.pending()[0].transient);
}

#[test]
fn a_refused_notice_is_not_held() {
    let mut world = World::new();
    let long = "x".repeat(scv_protocol::limits::MAX_PROMPT_BYTES + 1);
    hello(&mut world, vec![direct("m1", "u", &long)]);
    world.end_send(0, 0);
    world.store(true);
    assert!(world.state.held().is_empty() && world.state.is_seen("m1"));
}

#[test]
fn interrupted_claims_are_answered_once_and_never_run_again() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one"), direct("m2", "v", "two")]);
    world.crash(false);
    world.asked = vec![direct("m1", "u", "one"), direct("m2", "v", "two")];
    assert!(!world.is_polling, "nothing is read before the claims have replies");
    world.store(true);
    assert!(world.state.claims().is_empty());
    hello(&mut world, vec![direct("m1", "u", "one")]);
    world.calm_down();
    assert_eq!(world.turns_started.len(), 2);
    assert_eq!(world.answered.len(), 2);
}

#[test]
fn nothing_is_read_while_256_replies_wait() {
    let mut world = World::new();
    let long = "x".repeat(scv_protocol::limits::MAX_PROMPT_BYTES + 1);
    let messages = (0..256).map(|n| direct(&format!("m{n}"), &format!("u{n}"), &long)).collect();
    hello(&mut world, messages);
    assert!(!world.is_polling);
    world.end_send(0, 7);
    world.store(true);
    assert!(world.is_polling);
}

/// The texts of replies that wait, by the message that they answer.
fn notice(world: &World, id: &str) -> String {
    let mut all = world.state.pending().iter().filter(|p| p.message_id == id);
    let notice = all.next().unwrap_or_else(|| panic!("{id} has no answer"));
    assert!(notice.transient && all.next().is_none());
    notice.reply.clone()
}

#[test]
fn commands_need_no_slot_and_count_for_nothing() {
    let mut world = World::new();
    let mut messages: Vec<Inbound> =
        (0..8).map(|n| direct(&format!("m{n}"), "u", "hello")).collect();
    messages.extend(["/status", "/help", "/STOP ", "\u{ff0f}new"].map(|c| direct(c, "u", c)));
    messages.push(direct("m8", "u", "/new and more"));
    hello(&mut world, messages);
    assert_eq!(world.state.claims().len(), 8);
    assert!(notice(&world, "/status").contains("8 messages wait"));
    assert!(notice(&world, "/help").contains("/stop"));
    assert!(notice(&world, "/STOP ").contains("not working on any message"));
    assert!(notice(&world, "m8").starts_with("I am still working"), "the 9th message");
    assert_eq!(world.forgotten, ["u"]);
    assert!(world.cancelled.is_empty());
}

#[test]
fn stop_concerns_the_running_turn_of_the_sender_alone() {
    let mut world = World::new();
    hello(
        &mut world,
        vec![
            in_group("m1", "g", "u", "one"),
            in_group("m2", "g", "v", "two"),
            direct("m3", "u", "three"),
            direct("m4", "u", "four"),
        ],
    );
    hello(&mut world, vec![in_group("s1", "g", "u", "/stop")]);
    assert_eq!(world.cancelled, ["g\0u"]);
    hello(&mut world, vec![direct("s2", "u", "/stop"), direct("s3", "w", "/stop")]);
    assert_eq!(world.cancelled, ["g\0u", "u"]);
    assert!(notice(&world, "s2").contains("One message waits"));
    assert_eq!(world.state.claims().len(), 4, "what waits stays");
}

#[test]
fn after_new_the_next_message_knows_nothing_of_those_before() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one"), direct("m2", "u", "two")]);
    hello(&mut world, vec![direct("n", "u", "/new"), direct("m3", "u", "three")]);
    hello(&mut world, vec![direct("m4", "u", "four")]);
    assert_eq!(world.forgotten, ["u"]);
    world.calm_down();
    assert_eq!(world.fresh, ["m3"]);
    assert_eq!(world.forgotten, ["u"]);
}

#[test]
fn after_new_what_still_waits_is_forgotten_when_it_is_done() {
    let mut world = World::new();
    hello(&mut world, vec![direct("m1", "u", "one"), direct("n", "u", "/new")]);
    world.calm_down();
    assert_eq!(world.forgotten, ["u", "u"]);
    hello(&mut world, vec![direct("m2", "u", "two")]);
    world.calm_down();
    assert!(world.fresh.is_empty(), "there is no session to replace");
}

/// Asks, and answers what became of it with the first try to store it.
fn ask(world: &mut World, ask: Ask, ok: bool) -> Result<(), AskError> {
    let id = AskId(world.answers.len() as u64);
    world.feed(Input::Ask(id, ask));
    world.store(ok);
    let (answered, result) = world.answers.pop().expect("no answer");
    assert_eq!(answered, id);
    result
}

#[test]
fn a_message_to_the_owner_is_stored_before_it_is_sent_and_held_when_refused() {
    let mut world = World::new();
    let send = |text: &str| Ask::Send(text.into());
    assert_eq!(ask(&mut world, send("x"), false), Err(AskError::NotStored));
    assert!(world.state.pending().is_empty() && world.sends.is_empty());
    assert_eq!(ask(&mut world, send(&"x".repeat(300)), true), Ok(()));
    assert_eq!(world.state.pending()[0].to_user_id, "u0");
    world.end_send(0, 7);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    assert_eq!(world.state.held()[0].reply, "x".repeat(100));
    assert_eq!(ask(&mut world, send(" "), true), Err(AskError::Empty));
    assert_eq!(ask(&mut world, send(&"x".repeat(65_537)), true), Err(AskError::TooLong));
}

#[test]
fn held_replies_are_given_up_by_their_ids_or_not_at_all() {
    let mut world = World::new();
    for text in ["one", "two"] {
        ask(&mut world, Ask::Send(text.into()), true).unwrap();
        world.end_send(0, 0);
        world.store(true);
        world.fire_timers();
    }
    let ids: Vec<String> = world.state.held().iter().map(|held| held.id()).collect();
    assert_ne!(ids[0], ids[1]);
    let unknown = Ask::GiveUp(vec![ids[0].clone(), "0".into()]);
    assert_eq!(ask(&mut world, unknown, true), Err(AskError::NoSuchHeld));
    assert_eq!(ask(&mut world, Ask::GiveUp(vec![ids[0].clone()]), true), Ok(()));
    let [left] = world.state.held() else { panic!("one is left") };
    assert_eq!(left.reply, "two");
}
