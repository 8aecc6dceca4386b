//! Sending what is pending: in order within a conversation, four at once, again until the
//! platform accepts or refuses.

use std::collections::{BTreeSet, HashMap};

use scv_plugin_api::wire::{Outgoing, Recipient, ReplyTo, Scope, SendOutcome, Unprompted};

use super::{Config, Machine, Note, Output, Purpose, Step, Timer, text};
use crate::{
    Backoff,
    limits::{PLATFORM_PAUSE_MAX_MS, PLATFORM_PAUSE_MIN_MS, SENDS_IN_FLIGHT_COUNT},
    store::{Change, Pending},
};

#[derive(Default)]
pub(super) struct Delivery {
    pub(super) is_online: bool,
    /// Pauses of everything that the platform asked for. Each has its timer, and only that: the
    /// wall clock may be set meanwhile.
    pauses: BTreeSet<u64>,
    next_pause: u64,
    /// Conversations where something is under way; all others are idle.
    lanes: HashMap<String, Lane>,
}

#[derive(Default)]
struct Lane {
    phase: Phase,
    backoff: Backoff,
}

#[derive(Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Sending,
    Storing,
    Waiting,
}

/// What to do about the reply at the head of a conversation.
enum Action {
    Send(Outgoing),
    Record(Change),
}

impl Delivery {
    pub(super) fn is_sending(&self) -> bool {
        self.sending() > 0
    }

    fn sending(&self) -> usize {
        let phases = self.lanes.values().map(|lane| &lane.phase);
        phases.filter(|phase| **phase == Phase::Sending).count()
    }

    fn is_idle(&self, key: &str) -> bool {
        let lane = self.lanes.get(key);
        lane.is_none_or(|lane| lane.phase == Phase::Idle)
    }

    fn enter(&mut self, key: &str, phase: Phase) {
        self.lanes.entry(key.to_owned()).or_default().phase = phase;
    }

    /// A conversation's wait is over.
    pub(super) fn waited(&mut self, key: &str) {
        if let Some(lane) = self.lanes.get_mut(key)
            && lane.phase == Phase::Waiting
        {
            lane.phase = Phase::Idle;
        }
    }

    /// One pause of everything is over.
    pub(super) fn resume(&mut self, pause: u64) {
        self.pauses.remove(&pause);
    }

    /// What a send came to is durable.
    pub(super) fn recorded(&mut self, step: &mut Step<'_>, key: &str, pause_ms: Option<u64>) {
        match pause_ms {
            Some(ms) => self.wait(step, key, ms),
            None => drop(self.lanes.remove(key)),
        }
    }

    fn wait(&mut self, step: &mut Step<'_>, key: &str, ms: u64) {
        self.enter(key, Phase::Waiting);
        step.set_timer(Timer::Conversation(key.to_owned()), ms);
    }

    fn pause(&mut self, step: &mut Step<'_>, ms: u64) {
        let pause = self.next_pause;
        self.next_pause += 1;
        self.pauses.insert(pause);
        step.set_timer(Timer::Pause(pause), ms);
    }
}

impl Machine {
    /// Starts every send that may start, in the order the replies became ready.
    pub(super) fn deliver(&mut self, step: &mut Step<'_>) {
        if !self.delivery.is_online || !self.delivery.pauses.is_empty() {
            return;
        }
        let mut sending = self.delivery.sending();
        for pending in step.state.pending() {
            if sending >= SENDS_IN_FLIGHT_COUNT {
                return;
            }
            // Either action makes the conversation busy: its later replies wait.
            if !self.delivery.is_idle(&pending.key) {
                continue;
            }
            match self.next_action(step, pending) {
                Action::Send(message) => {
                    sending += 1;
                    self.delivery.enter(&pending.key, Phase::Sending);
                    let reply = pending.id().to_owned();
                    step.out.push(Output::Send { reply, message });
                }
                Action::Record(change) => self.record(step, pending, change, None),
            }
        }
    }

    fn next_action(&mut self, step: &Step<'_>, pending: &Pending) -> Action {
        let parts = text::split(&pending.reply, self.config.max_message_bytes);
        let id = pending.id().to_owned();
        let next = pending.next_chunk;
        let Some(part) = parts.get(next) else {
            return Action::Record(Change::Delivered(id));
        };
        let Some(client_id) = pending.client_ids.get(next) else {
            let missing = parts.len() - pending.client_ids.len();
            let more = (0..missing).map(|_| (self.config.new_id)()).collect();
            return Action::Record(Change::Ids(id, more));
        };
        let reply = reply_handle(&self.config, pending);
        let recipient = recipient(pending);
        if reply.is_none() && !can_go_unprompted(self.config.unprompted, &recipient) {
            return Action::Record(self.hold(step, pending));
        }
        Action::Send(Outgoing {
            client_id: client_id.clone(),
            text: (*part).to_owned(),
            reply,
            recipient,
        })
    }

    pub(super) fn send_ended(&mut self, step: &mut Step<'_>, reply: &str, outcome: SendOutcome) {
        let Some(pending) = step.state.pending_by_id(reply) else {
            return;
        };
        match outcome {
            SendOutcome::Accepted { receipt } => {
                let receipt = receipt.is_some();
                step.note(Note::Accepted { receipt });
                let change = self.accepted(pending);
                self.record(step, pending, change, None);
            }
            SendOutcome::Refused { code, message, signed_out, pause_ms, scope } => {
                step.note(Note::Refused { code, message, signed_out });
                let hold = self.hold(step, pending);
                let pause_ms = pause_ms.map(asked_wait_ms);
                let own_pause_ms = pause_ms.filter(|_| scope != Scope::Account);
                if let (Some(ms), None) = (pause_ms, own_pause_ms) {
                    self.delivery.pause(step, ms);
                }
                self.record(step, pending, hold, own_pause_ms);
            }
            SendOutcome::Retry { reason, after_ms, scope } => {
                step.note(Note::Retrying { reason });
                self.send_again_later(step, &pending.key, after_ms, scope);
            }
        }
    }

    fn accepted(&self, pending: &Pending) -> Change {
        let parts = text::split(&pending.reply, self.config.max_message_bytes).len();
        let next = pending.next_chunk + 1;
        match next < parts {
            true => Change::Progress(pending.id().to_owned(), next),
            false => Change::Delivered(pending.id().to_owned()),
        }
    }

    /// What is not accepted is kept, cut to half a message; notices are not.
    fn hold(&self, step: &Step<'_>, pending: &Pending) -> Change {
        let max = self.config.max_message_bytes;
        let text = match (pending.next_chunk, pending.own.as_str()) {
            (0, own) if !own.is_empty() => own.to_owned(),
            (next, _) => {
                let parts = text::split(&pending.reply, max);
                parts.get(next..).unwrap_or_default().concat()
            }
        };
        let keep = !pending.transient && !text.is_empty();
        Change::Hold {
            reply: pending.id().to_owned(),
            text: keep.then(|| text::truncate(text, max / 2)),
            held_at: step.now_seconds(),
        }
    }

    fn record(
        &mut self,
        step: &mut Step<'_>,
        pending: &Pending,
        change: Change,
        pause_ms: Option<u64>,
    ) {
        self.delivery.enter(&pending.key, Phase::Storing);
        let purpose = Purpose::Delivery { key: pending.key.clone(), pause_ms };
        self.commits.begin(step, purpose, vec![change]);
    }

    fn send_again_later(
        &mut self,
        step: &mut Step<'_>,
        key: &str,
        after_ms: Option<u64>,
        scope: Scope,
    ) {
        let lane = self.delivery.lanes.entry(key.to_owned()).or_default();
        // What the platform asks for replaces the backoff, and is no sign of trouble.
        let wait_ms = after_ms.map_or_else(|| lane.backoff.next_ms(), asked_wait_ms);
        lane.phase = Phase::Idle;
        match scope {
            Scope::Account => self.delivery.pause(step, wait_ms),
            Scope::Conversation | Scope::Message => self.delivery.wait(step, key, wait_ms),
        }
    }
}

/// A wait that the platform asks for, within what is sensible.
fn asked_wait_ms(ms: u64) -> u64 {
    ms.clamp(PLATFORM_PAUSE_MIN_MS, PLATFORM_PAUSE_MAX_MS)
}

/// The handle of the message that a part answers, while the platform takes more parts on it.
fn reply_handle(config: &Config, pending: &Pending) -> Option<ReplyTo> {
    let parts_with_handle = config.sends_per_reply.map_or(usize::MAX, |n| n as usize);
    if pending.message_id.is_empty() || pending.next_chunk >= parts_with_handle {
        return None;
    }
    let token = &pending.context_token;
    Some(ReplyTo {
        message_id: pending.message_id.clone(),
        reply_token: (!token.expose().is_empty()).then(|| token.clone()),
    })
}

fn recipient(pending: &Pending) -> Recipient {
    Recipient {
        user: pending.to_user_id.clone(),
        group: pending.key.split_once('\0').map(|(group, _)| group.to_owned()),
    }
}

fn can_go_unprompted(unprompted: Unprompted, recipient: &Recipient) -> bool {
    match unprompted {
        Unprompted::Any => true,
        Unprompted::Direct => recipient.group.is_none(),
        Unprompted::None | Unprompted::Unknown => false,
    }
}
