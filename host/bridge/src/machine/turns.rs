//! Which turn runs when: in order within a conversation, four conversations at once.

use std::collections::{HashMap, VecDeque};

use super::{Machine, Output, Purpose, Step, phrases, text};
use crate::{
    limits::{MAX_ANSWER_BYTES, RUNNING_CONVERSATIONS_COUNT},
    store::{Change, Claim, Held, Pending},
};

/// A turn to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The conversation.
    pub key: String,
    /// The message that it answers.
    pub message_id: String,
    /// What the agent reads.
    pub prompt: String,
    /// Whether the session has tools: only for the owner in a direct chat.
    pub tools: bool,
    /// Whether it must not know what was said before.
    pub is_fresh: bool,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent's answer.
    Answer(String),
    /// There is none, and the sender is told so.
    Failed(Failure),
    /// The account is stopping: the claim stays, and the sender is told at the next start.
    Stopped,
}

/// Why there is no answer. Each has one line for the chat that tells nothing private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It took too long.
    TimedOut,
    /// The model's service failed.
    Provider,
    /// The conversation or the answer is too large.
    TooLarge,
    /// It needed too many steps.
    TooManySteps,
    /// It was cancelled.
    Cancelled,
    /// The agent could not be reached, or failed.
    Unavailable,
}

#[derive(Default)]
pub(super) struct Turns {
    conversations: HashMap<String, Conversation>,
    /// Idle conversations with something to do, the longest waiting first.
    ready: VecDeque<String>,
    /// Turns that run: what counts against their limit.
    running: usize,
}

#[derive(Default)]
struct Conversation {
    waiting: VecDeque<Turn>,
    /// A turn runs, or its answer is not durable yet.
    current: Option<String>,
    is_running: bool,
}

impl Turns {
    /// Whether a turn runs.
    pub(super) const fn are_running(&self) -> bool {
        self.running > 0
    }

    /// Conversations with a turn that runs, or whose answer is not durable yet.
    pub(super) fn unanswered(&self) -> usize {
        self.conversations.values().filter(|c| c.current.is_some()).count()
    }

    /// Whether a turn runs or waits in a conversation, or its answer is not durable yet.
    pub(super) fn knows(&self, key: &str) -> bool {
        self.conversations.contains_key(key)
    }

    /// Whether a conversation's turn runs.
    pub(super) fn runs(&self, key: &str) -> bool {
        self.conversations.get(key).is_some_and(|conversation| conversation.is_running)
    }

    /// Whether a conversation's turn runs, or its answer is not durable yet.
    pub(super) fn is_unanswered(&self, key: &str) -> bool {
        self.conversations.get(key).is_some_and(|conversation| conversation.current.is_some())
    }

    pub(super) fn waiting(&self) -> usize {
        self.conversations.values().map(|c| c.waiting.len()).sum()
    }

    pub(super) fn queue(&mut self, turn: Turn) {
        let conversation = self.conversations.entry(turn.key.clone()).or_default();
        if conversation.current.is_none() && conversation.waiting.is_empty() {
            self.ready.push_back(turn.key.clone());
        }
        conversation.waiting.push_back(turn);
    }

    pub(super) fn start(&mut self, step: &mut Step<'_>) {
        while self.running < RUNNING_CONVERSATIONS_COUNT
            && let Some(key) = self.ready.pop_front()
        {
            let Some(conversation) = self.conversations.get_mut(&key) else {
                continue;
            };
            let Some(turn) = conversation.waiting.pop_front() else {
                continue;
            };
            conversation.current = Some(turn.message_id.clone());
            conversation.is_running = true;
            self.running += 1;
            step.out.push(Output::StartTurn(turn));
        }
    }

    /// The turn on a message is over: frees its slot, and answers its conversation.
    fn ended(&mut self, message_id: &str) -> Option<String> {
        let mut all = self.conversations.iter_mut();
        let is_its = |c: &Conversation| c.current.as_deref() == Some(message_id);
        let (key, conversation) = all.find(|(_, c)| is_its(c))?;
        conversation.is_running = false;
        self.running -= 1;
        Some(key.clone())
    }

    /// The answer is durable: the conversation's next turn may run.
    pub(super) fn answered(&mut self, key: &str) {
        let Some(conversation) = self.conversations.get_mut(key) else {
            return;
        };
        conversation.current = None;
        if conversation.waiting.is_empty() {
            self.conversations.remove(key);
        } else {
            self.ready.push_back(key.to_owned());
        }
    }
}

impl Machine {
    pub(super) fn turn_ended(&mut self, step: &mut Step<'_>, message_id: &str, end: TurnEnd) {
        let Some(key) = self.turns.ended(message_id) else {
            return;
        };
        let own = match end {
            TurnEnd::Stopped => return,
            TurnEnd::Failed(failure) => phrases::failure(failure).to_owned(),
            TurnEnd::Answer(answer) if answer.trim().is_empty() => phrases::NO_ANSWER.to_owned(),
            TurnEnd::Answer(answer) => {
                text::cut_to_parts(answer, MAX_ANSWER_BYTES, self.config.max_message_bytes)
            }
        };
        let mut claims = step.state.claims().iter();
        let claim = claims.find(|claim| claim.message_id == message_id);
        let claim = claim.expect("a claim stays until its reply is durable");
        let reply = self.answer(claim, own, &step.young_held());
        self.commits.begin(step, Purpose::Answer { key }, vec![Change::Reply(reply)]);
    }

    /// Interrupted claims are answered with a short failure, never with a second turn.
    pub(super) fn recover(&mut self, step: &mut Step<'_>) {
        let mut held = step.young_held();
        let mut changes = Vec::new();
        for claim in step.state.claims() {
            let reply = self.answer(claim, phrases::INTERRUPTED.to_owned(), &held);
            held.retain(|held| !reply.carried.contains(held));
            changes.push(Change::Reply(reply));
        }
        if changes.is_empty() {
            self.is_recovered = true;
        } else {
            self.commits.begin(step, Purpose::Recovery, changes);
        }
    }

    /// The answer to a claim, with as many held replies of its conversation as fit beside it.
    fn answer(&mut self, claim: &Claim, own: String, held: &[&Held]) -> Pending {
        let waiting: Vec<&Held> = held.iter().copied().filter(|h| h.key == claim.key).collect();
        let (reply, carried) = text::carry(&waiting, &own, self.config.max_message_bytes);
        let own = if carried.is_empty() { String::new() } else { own };
        Pending { carried, own, ..self.reply(claim, reply) }
    }

    pub(super) fn reply(&mut self, claim: &Claim, reply: String) -> Pending {
        Pending {
            message_id: claim.message_id.clone(),
            to_user_id: claim.to_user_id.clone(),
            context_token: claim.context_token.clone(),
            key: claim.key.clone(),
            client_ids: self.new_ids(&reply),
            reply,
            next_chunk: 0,
            carried: Vec::new(),
            own: String::new(),
            transient: false,
            extra: claim.extra.clone(),
        }
    }

    /// One client id for each part of a text.
    pub(super) fn new_ids(&mut self, reply: &str) -> Vec<String> {
        let parts = text::split(reply, self.config.max_message_bytes).len();
        (0..parts).map(|_| (self.config.new_id)()).collect()
    }
}
