//! What a person asks of a running account from outside the chat: durable before it is answered.

use scv_plugin_api::wire::Unprompted;

use super::{Machine, Output, Purpose, Step};
use crate::{
    limits::{MAX_ANSWER_BYTES, MAX_PENDING_COUNT},
    store::{Change, Pending},
};

/// Names a request in its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AskId(pub u64);

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Send this text to the owner, answering nothing.
    Send(String),
    /// Give up these held replies, by their ids.
    GiveUp(Vec<String>),
}

/// Why nothing was done about a request; whole sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nobody is known to send to.
    #[error(
        "this account has no known owner; sign in again and name one, see `scv channels login CHANNEL --help`"
    )]
    NoOwner,
    /// The platform takes answers only.
    #[error("this channel takes answers only; write to the bot first and it will answer")]
    NoUnprompted,
    /// Nothing to send.
    #[error("the text is empty; give some text")]
    Empty,
    /// More than an answer may have.
    #[error("the text has more than 64 KiB; send it in smaller pieces")]
    TooLong,
    /// As many replies wait as may.
    #[error(
        "too many replies wait to be delivered; try again when `scv channels status` shows fewer"
    )]
    TooManyPending,
    /// An id of nothing.
    #[error("there is no held reply with this id; list them with `scv channels held`")]
    NoSuchHeld,
    /// The disk said no.
    #[error("it could not be stored; `scv channels status` says why")]
    NotStored,
}

const _: () = assert!(MAX_ANSWER_BYTES == 64 * 1024, "AskError::TooLong says so");

impl Machine {
    pub(super) fn asked(&mut self, step: &mut Step<'_>, id: AskId, ask: Ask) {
        let change = match ask {
            Ask::Send(text) => self.message_to_owner(step, text).map(Change::Reply),
            Ask::GiveUp(ids) => give_up(step, ids),
        };
        match change {
            Ok(change) => self.commits.begin(step, Purpose::Ask(id), vec![change]),
            Err(error) => step.out.push(Output::Answer(id, Err(error))),
        }
    }

    fn message_to_owner(&mut self, step: &Step<'_>, text: String) -> Result<Pending, AskError> {
        let owner = self.config.owner.as_deref().filter(|owner| !owner.is_empty());
        let owner = owner.ok_or(AskError::NoOwner)?.to_owned();
        if !matches!(self.config.unprompted, Unprompted::Direct | Unprompted::Any) {
            return Err(AskError::NoUnprompted);
        }
        if text.trim().is_empty() {
            return Err(AskError::Empty);
        }
        if text.len() > MAX_ANSWER_BYTES {
            return Err(AskError::TooLong);
        }
        if step.state.pending().len() >= MAX_PENDING_COUNT {
            return Err(AskError::TooManyPending);
        }
        Ok(Pending { client_ids: self.new_ids(&text), ..Pending::unprompted(owner, text) })
    }
}

fn give_up(step: &Step<'_>, ids: Vec<String>) -> Result<Change, AskError> {
    let held: Vec<String> = step.state.held().iter().map(|held| held.id()).collect();
    match ids.iter().all(|id| held.contains(id)) {
        true => Ok(Change::GiveUp(ids)),
        false => Err(AskError::NoSuchHeld),
    }
}
