//! What must hold in every history.

use std::collections::{HashMap, HashSet};

use scv_bridge::{
    limits::{
        MAX_CLAIMS_COUNT, MAX_CLAIMS_PER_CONVERSATION_COUNT, MAX_HELD_PER_CONVERSATION_COUNT,
        RUNNING_CONVERSATIONS_COUNT, SENDS_IN_FLIGHT_COUNT,
    },
    machine::Turn,
    store::{Change, State},
};
use scv_plugin_api::wire::{Inbound, InboundKind, Outgoing};

#[derive(Default)]
pub(super) struct Oracle {
    /// Second keys of the messages that had a turn.
    turns: HashSet<String>,
    /// Replies that were stored, by the message that they answer.
    replies: HashMap<String, usize>,
    /// The one text of each client id.
    texts: HashMap<String, String>,
    /// Client ids that went out with each reply handle.
    handles: HashMap<String, HashSet<String>>,
    /// What was delivered, by id.
    delivered: HashMap<String, Inbound>,
}

impl Oracle {
    pub(super) fn batch(&mut self, messages: &[Inbound]) {
        for message in messages {
            self.delivered.insert(message.id.clone(), message.clone());
        }
    }

    pub(super) fn turn(&mut self, state: &State, turn: &Turn, running: usize) {
        let has_claim = state.claims().iter().any(|claim| claim.message_id == turn.message_id);
        assert!(has_claim, "a turn without a durable claim: {}", turn.message_id);
        let key = self.key(&turn.message_id);
        assert!(self.turns.insert(key), "a second turn for {}", turn.message_id);
        assert!(running <= RUNNING_CONVERSATIONS_COUNT);
    }

    pub(super) fn send(
        &mut self,
        state: &State,
        reply: &str,
        message: &Outgoing,
        under_way: usize,
    ) {
        let pending = state.pending_by_id(reply).expect("sent without being pending");
        assert_eq!(pending.client_ids[pending.next_chunk], message.client_id);
        let mut own = state.pending().iter().filter(|other| other.key == pending.key);
        assert_eq!(own.next(), Some(pending), "an earlier reply was passed");
        let text =
            self.texts.entry(message.client_id.clone()).or_insert_with(|| message.text.clone());
        assert_eq!(*text, message.text, "a client id names two texts");
        if let Some(reply) = &message.reply {
            let ids = self.handles.entry(reply.message_id.clone()).or_default();
            ids.insert(message.client_id.clone());
            assert_eq!(ids.len(), 1, "two messages with one handle");
        }
        assert!(under_way <= SENDS_IN_FLIGHT_COUNT);
    }

    /// A change is durable now.
    pub(super) fn change(&mut self, state: &State, change: &Change) {
        match change {
            Change::Reply(reply) => {
                *self.replies.entry(reply.message_id.clone()).or_default() += 1;
            }
            Change::Hold { reply, text, .. } => {
                let pending = state.pending_by_id(reply).expect("held without being pending");
                assert!(text.is_some() || pending.transient, "a refused reply is lost");
            }
            _ => {}
        }
    }

    pub(super) fn limits(&self, state: &State) {
        assert!(state.claims().len() <= MAX_CLAIMS_COUNT);
        for claim in state.claims() {
            let own = state.claims().iter().filter(|other| other.key == claim.key).count();
            assert!(own <= MAX_CLAIMS_PER_CONVERSATION_COUNT);
        }
        for held in state.held() {
            let own = state.held().iter().filter(|other| other.key == held.key).count();
            assert!(own <= MAX_HELD_PER_CONVERSATION_COUNT);
        }
    }

    /// Everything has calmed down.
    pub(super) fn end(&self, state: &State) {
        assert!(state.claims().is_empty() && state.pending().is_empty());
        let mut answers: HashMap<String, usize> = HashMap::new();
        for (id, message) in &self.delivered {
            assert!(state.is_seen(id), "{id} is not handled");
            let replies = self.replies.get(id).copied().unwrap_or(0);
            *answers.entry(self.key(id)).or_default() += replies;
            if !wants_answer(message) {
                assert!(replies <= 1, "{id} was answered {replies} times");
            }
        }
        for message in self.delivered.values().filter(|message| wants_answer(message)) {
            assert_eq!(answers[&self.key(&message.id)], 1, "answers of {}", message.id);
        }
    }

    fn key(&self, id: &str) -> String {
        self.delivered[id].dedup_key.clone().expect("every message has one")
    }
}

fn wants_answer(message: &Inbound) -> bool {
    let text = message.text.as_deref().unwrap_or_default();
    message.kind == InboundKind::Text && text.contains(|c: char| c.is_ascii_graphic())
}
