//! One account, its disk, its agent and its platform, over a clock that only events move.

use std::collections::{BTreeMap, HashMap, HashSet};

use scv_bridge::{
    Backoff,
    machine::{CommitId, Config, Failure, Input, Machine, Output, Timer, TurnEnd},
    store::{Change, State},
};
use scv_plugin_api::wire::{Batch, SendOutcome, Unprompted};
use scv_protocol::Senders;

use super::{
    oracle::Oracle,
    platform::{Platform, outcome},
    rng::Rng,
};

/// In milliseconds.
const HOUR: u64 = 3_600_000;
/// How long people write and things break, in milliseconds.
const TROUBLE: u64 = 120_000;

/// What happens by itself, at its time.
enum Event {
    Write,
    Repeat,
    /// The wall clock is set, by a signed number of hours.
    SetClock(i64),
    /// The machine sleeps for eight hours: connections are gone, and no timer has moved.
    Sleep,
    Crash,
    Connected,
    LoseConnection,
    Polled,
    Stored,
    TurnEnded(String),
    SendEnded(String),
    Timer(Timer),
}

pub(super) struct World {
    rng: Rng,
    machine: Machine,
    state: State,
    platform: Platform,
    oracle: Oracle,
    /// The wall clock, and the one that events go by.
    wall_ms: u64,
    now_ms: u64,
    /// By time, then by when they were planned; `lives` tells those of an earlier life.
    events: BTreeMap<(u64, u64), (u32, Event)>,
    planned: u64,
    life: u32,
    commits: Vec<(CommitId, Vec<Change>)>,
    storing: Vec<(CommitId, Vec<Change>)>,
    timers: HashMap<Timer, u64>,
    turns: HashMap<String, String>,
    sends: HashSet<String>,
    is_online: bool,
    poll: Option<u64>,
    place: usize,
    retry: Backoff,
    /// Nothing is sent before this moment.
    paused_until_ms: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut world = Self {
            rng: Rng::new(seed),
            machine: machine(seed, 0),
            state: State::new("f"),
            platform: Platform::default(),
            oracle: Oracle::default(),
            wall_ms: 1_790_000_000_000,
            now_ms: 0,
            events: BTreeMap::new(),
            planned: 0,
            life: 0,
            commits: Vec::new(),
            storing: Vec::new(),
            timers: HashMap::new(),
            turns: HashMap::new(),
            sends: HashSet::new(),
            is_online: false,
            poll: None,
            place: 0,
            retry: Backoff::retry(),
            paused_until_ms: 0,
        };
        world.plan_troubles();
        world.start();
        world
    }

    /// What people and the world do, for ever: it outlives crashes.
    fn plan_troubles(&mut self) {
        let mut plan = |count: u64, event: fn(&mut Rng) -> Event| {
            for _ in 0..count {
                let (at, event) = (self.rng.below(TROUBLE), event(&mut self.rng));
                self.events.insert((at, self.planned), (u32::MAX, event));
                self.planned += 1;
            }
        };
        plan(14, |_| Event::Write);
        plan(5, |_| Event::Repeat);
        plan(2, |rng| Event::SetClock(if rng.chance(50) { 1 } else { -1 }));
        plan(1, |_| Event::Sleep);
        plan(2, |_| Event::LoseConnection);
        plan(2, |_| Event::Crash);
    }

    fn plan(&mut self, after_ms: u64, event: Event) {
        self.events.insert((self.now_ms + after_ms, self.planned), (self.life, event));
        self.planned += 1;
    }

    fn is_trouble(&self) -> bool {
        self.now_ms < TROUBLE
    }

    fn troubled(&mut self, percent: u64) -> bool {
        self.is_trouble() && self.rng.chance(percent)
    }

    fn start(&mut self) {
        self.feed(Input::Started);
        self.plan(100, Event::Connected);
    }

    /// Runs to the end, when nothing is left to do.
    pub(super) fn run(mut self) {
        let mut steps = 0;
        while let Some(((at, _), (life, event))) = self.events.pop_first() {
            self.wall_ms += at - self.now_ms;
            self.now_ms = at;
            if life == self.life || life == u32::MAX {
                self.happens(event);
            }
            self.oracle.limits(&self.state);
            steps += 1;
            assert!(steps < 20_000, "it does not calm down");
            if !self.is_trouble() && self.is_quiet() {
                break;
            }
        }
        self.oracle.end(&self.state);
    }

    fn is_quiet(&self) -> bool {
        let is_stored = self.commits.is_empty() && self.storing.is_empty();
        let is_idle = is_stored && !self.timers.contains_key(&Timer::Commit);
        let has_read = self.is_online && !self.platform.is_ahead_of(self.place);
        is_idle && has_read && self.state.pending().is_empty() && !self.machine.has_turns()
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Write => self.platform.write(&mut self.rng),
            Event::Repeat => self.platform.repeat(&mut self.rng),
            Event::SetClock(hours) => {
                self.wall_ms = self.wall_ms.saturating_add_signed(hours * HOUR.cast_signed());
            }
            Event::Sleep => {
                self.wall_ms += 8 * HOUR;
                self.lose_connection();
            }
            Event::LoseConnection => self.lose_connection(),
            Event::Crash => self.crash(),
            Event::Connected => {
                self.is_online = true;
                self.place = self.state.cursor().map_or(0, |place| place.parse().unwrap());
                self.feed(Input::Connected);
            }
            Event::Polled => self.polled(),
            Event::Stored => self.stored(),
            Event::TurnEnded(message_id) => self.turn_ended(message_id),
            Event::SendEnded(reply) => self.send_ended(reply),
            Event::Timer(timer) => {
                // One that was set again counts no more.
                if self.timers.get(&timer) == Some(&self.now_ms) {
                    self.timers.remove(&timer);
                    self.feed(Input::Timer(timer));
                }
            }
        }
    }

    fn feed(&mut self, input: Input) {
        for output in self.machine.step(&self.state, self.wall_ms, input) {
            match output {
                Output::Commit { id, changes } => self.commits.push((id, changes)),
                Output::Poll { .. } => {
                    assert!(self.is_online && self.poll.is_none(), "two polls at once");
                    self.poll = Some(self.planned);
                    let held_ms = self.rng.below(2_000);
                    self.plan(held_ms, Event::Polled);
                }
                Output::StartTurn(turn) => {
                    self.turns.insert(turn.message_id.clone(), turn.key.clone());
                    self.oracle.turn(&self.state, &turn, self.turns.len());
                    let takes_ms = self.rng.below(30_000);
                    self.plan(takes_ms, Event::TurnEnded(turn.message_id));
                }
                Output::Send { reply, message } => {
                    assert!(self.is_online && self.now_ms >= self.paused_until_ms, "paused");
                    assert!(self.sends.insert(reply.clone()), "sent while it is being sent");
                    self.oracle.send(&self.state, &reply, &message, self.sends.len());
                    let takes_ms = self.rng.below(5_000);
                    self.plan(takes_ms, Event::SendEnded(reply));
                }
                Output::SetTimer { timer, after_ms } => {
                    let at_ms = self.now_ms + after_ms;
                    if matches!(timer, Timer::Pause(_)) {
                        self.paused_until_ms = self.paused_until_ms.max(at_ms);
                    }
                    self.timers.insert(timer.clone(), at_ms);
                    self.plan(after_ms, Event::Timer(timer));
                }
                Output::CancelTurn(key) | Output::ForgetConversation(key) => self.cancel(&key),
                Output::Answer(..) | Output::Note(_) => {}
            }
        }
        self.store();
    }

    fn cancel(&mut self, key: &str) {
        let running = self.turns.iter().find(|(_, other)| *other == key);
        if let Some(message_id) = running.map(|(message_id, _)| message_id.clone()) {
            self.plan(5, Event::TurnEnded(message_id));
        }
    }

    /// Everything that waits becomes one record, as long as none is being written.
    fn store(&mut self) {
        if self.storing.is_empty() && !self.commits.is_empty() {
            self.storing = std::mem::take(&mut self.commits);
            let takes_ms = self.rng.below(50);
            self.plan(takes_ms, Event::Stored);
        }
    }

    fn stored(&mut self) {
        let commits = std::mem::take(&mut self.storing);
        if self.troubled(5) {
            for (id, _) in commits {
                self.feed(Input::CommitFailed(id));
            }
            return;
        }
        self.apply(&commits);
        for (id, _) in commits {
            self.feed(Input::Committed(id));
        }
        self.store();
    }

    fn apply(&mut self, commits: &[(CommitId, Vec<Change>)]) {
        for change in commits.iter().flat_map(|(_, changes)| changes) {
            self.oracle.change(&self.state, change);
            self.state.apply(change).expect("a change that does not fit");
        }
    }

    fn polled(&mut self) {
        if self.poll.take().is_none() {
            return;
        }
        if self.troubled(5) {
            return self.lose_connection();
        }
        let (messages, until) = self.platform.batch(&mut self.rng, self.place);
        self.place = until;
        self.oracle.batch(&messages);
        self.retry.reset();
        let checkpoint = if until == 0 { String::new() } else { until.to_string() };
        let batch = Batch { token: "t".into(), checkpoint, messages, ..Batch::default() };
        self.feed(Input::Batch(batch));
    }

    fn lose_connection(&mut self) {
        if !std::mem::take(&mut self.is_online) {
            return;
        }
        self.poll = None;
        self.feed(Input::Disconnected);
        let wait_ms = self.retry.next_ms();
        self.plan(wait_ms, Event::Connected);
    }

    fn turn_ended(&mut self, message_id: String) {
        if self.turns.remove(&message_id).is_none() {
            return;
        }
        let end = match self.rng.below(8) {
            0 => TurnEnd::Failed(Failure::TimedOut),
            1 => TurnEnd::Answer(String::new()),
            _ => TurnEnd::Answer("ä".repeat(self.rng.below(250) as usize)),
        };
        self.feed(Input::TurnEnded { message_id, end });
    }

    fn send_ended(&mut self, reply: String) {
        self.sends.remove(&reply);
        let outcome = match self.is_trouble() {
            true => outcome(&mut self.rng),
            false => SendOutcome::Accepted { receipt: Some("r".into()) },
        };
        let is_signed_out = matches!(outcome, SendOutcome::Refused { signed_out: true, .. });
        self.feed(Input::SendEnded { reply, outcome });
        if is_signed_out {
            self.lose_connection();
        }
    }

    /// Everything in memory is gone; the record that was being written is durable or not.
    fn crash(&mut self) {
        let commits = std::mem::take(&mut self.storing);
        if self.rng.chance(50) {
            self.apply(&commits);
        }
        self.life += 1;
        self.commits.clear();
        self.timers.clear();
        self.turns.clear();
        self.sends.clear();
        self.is_online = false;
        self.poll = None;
        self.paused_until_ms = 0;
        self.machine = machine(self.rng.number(), self.life);
        self.start();
    }
}

fn machine(seed: u64, life: u32) -> Machine {
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
            format!("{seed}-{life}-{count}")
        }),
    })
}
