//! The state of one account in memory, and the one function that changes it.

use std::ops::AddAssign;

use serde_json::{Map, Value};

use super::{
    change::{Change, Claim, Held, Pending},
    held,
    keys::Keys,
    seen::Seen,
};

/// Everything that is durable about one account. Changes go through [`State::apply`] only, so
/// that replaying a journal does exactly what was done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub(super) fingerprint: Option<String>,
    pub(super) cursor: String,
    pub(super) seen: Seen,
    pub(super) claims: Vec<Claim>,
    pub(super) pending: Vec<Pending>,
    pub(super) held: Vec<Held>,
    pub(super) keys: Keys,
    pub(super) extra: Map<String, Value>,
}

/// What had to go because of a limit; the caller logs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Applied {
    /// Held replies.
    pub held_dropped: usize,
    /// Second de-duplication keys younger than 25 hours.
    pub keys_dropped: usize,
}

impl AddAssign for Applied {
    fn add_assign(&mut self, other: Self) {
        self.held_dropped += other.held_dropped;
        self.keys_dropped += other.keys_dropped;
    }
}

/// A change that does not fit the state: in a journal it means damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a change does not fit the state")]
pub struct Inconsistent;

impl State {
    /// An empty state bound to an identity.
    pub fn new(fingerprint: impl Into<String>) -> Self {
        Self { fingerprint: Some(fingerprint.into()), ..Self::default() }
    }

    /// Whose state it is; none: nobody's yet.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// The plugin's last checkpoint; none before the first.
    pub fn cursor(&self) -> Option<&str> {
        Some(self.cursor.as_str()).filter(|cursor| !cursor.is_empty())
    }

    /// Whether a message is handled.
    pub fn is_seen(&self, id: &str) -> bool {
        self.seen.contains(id)
    }

    /// Whether a message is handled, being worked on, or waiting for its reply's delivery.
    pub fn is_known(&self, id: &str) -> bool {
        self.is_seen(id)
            || self.claims.iter().any(|claim| claim.message_id == id)
            || self.pending.iter().any(|pending| pending.message_id == id)
    }

    /// Whether a message with this second key came within the last 25 hours.
    pub fn is_known_key(&self, key: &str, now_ms: u64) -> bool {
        self.keys.contains(key, now_ms)
    }

    /// When the last message with a second key came, as far as that is kept.
    pub fn last_key_ms(&self) -> Option<u64> {
        self.keys.newest_ms()
    }

    /// Handled messages, newest last.
    pub fn seen(&self) -> impl Iterator<Item = &str> {
        self.seen.iter()
    }

    /// Messages that are being worked on.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Replies that are not wholly accepted, in the order they became ready.
    pub fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// One of them.
    pub fn pending_by_id(&self, id: &str) -> Option<&Pending> {
        self.pending.iter().find(|pending| pending.id() == id)
    }

    /// Refused replies that are kept, per conversation oldest first.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Makes one change.
    ///
    /// # Errors
    /// [`Inconsistent`] when it does not fit; the state is then as it was.
    pub fn apply(&mut self, change: &Change) -> Result<Applied, Inconsistent> {
        let mut applied = Applied::default();
        match change {
            Change::Cursor(cursor) => self.cursor.clone_from(cursor),
            Change::Seen(ids) => ids.iter().for_each(|id| self.seen.touch(id)),
            Change::Key(key, ms) => applied.keys_dropped = self.keys.insert(key, *ms),
            Change::Claim(claim) => self.claim(claim)?,
            Change::Reply(reply) => self.reply(reply)?,
            Change::Ids(id, more) => self.pending_mut(id)?.client_ids.extend_from_slice(more),
            Change::Progress(id, next) => self.pending_mut(id)?.next_chunk = *next,
            Change::Delivered(id) => {
                self.take_pending(id)?;
            }
            Change::Hold { reply, text, held_at } => {
                applied.held_dropped = self.hold(reply, text.as_deref(), *held_at)?
            }
            Change::Expire(before) => {
                let count = self.held.len();
                self.held.retain(|held| held.held_at >= *before);
                applied.held_dropped = count - self.held.len();
            }
            Change::GiveUp(ids) => self.held.retain(|held| !ids.contains(&held.id())),
        }
        Ok(applied)
    }

    fn claim(&mut self, claim: &Claim) -> Result<(), Inconsistent> {
        if self.claims.iter().any(|other| other.message_id == claim.message_id) {
            return Err(Inconsistent);
        }
        self.claims.push(claim.clone());
        Ok(())
    }

    fn reply(&mut self, reply: &Pending) -> Result<(), Inconsistent> {
        if self.pending_by_id(reply.id()).is_some() {
            return Err(Inconsistent);
        }
        self.claims.retain(|claim| claim.message_id != reply.message_id);
        self.held.retain(|held| !reply.carried.contains(held));
        self.pending.push(reply.clone());
        Ok(())
    }

    fn hold(&mut self, id: &str, text: Option<&str>, held_at: u64) -> Result<usize, Inconsistent> {
        let pending = self.take_pending(id)?;
        // What it carries stands at the head of its first part.
        if pending.next_chunk == 0 {
            held::give_back(&mut self.held, pending.carried);
        }
        self.held.extend(text.map(|text| Held {
            key: pending.key.clone(),
            to_user_id: pending.to_user_id,
            reply: text.to_owned(),
            held_at,
            extra: Map::new(),
        }));
        Ok(held::trim(&mut self.held, &pending.key))
    }

    /// Takes a reply out; the message that it answers is handled now.
    fn take_pending(&mut self, id: &str) -> Result<Pending, Inconsistent> {
        let at = self.pending.iter().position(|pending| pending.id() == id);
        let pending = self.pending.remove(at.ok_or(Inconsistent)?);
        if !pending.message_id.is_empty() {
            self.seen.touch(&pending.message_id);
        }
        Ok(pending)
    }

    fn pending_mut(&mut self, id: &str) -> Result<&mut Pending, Inconsistent> {
        let mut all = self.pending.iter_mut();
        all.find(|pending| pending.id() == id).ok_or(Inconsistent)
    }
}
