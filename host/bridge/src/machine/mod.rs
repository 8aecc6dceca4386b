//! Claims, turns and replies of one account, as one pure function.
//!
//! [`Machine::step`] takes what happened and answers what to do. It sees the durable [`State`]
//! and changes it only by asking for a commit; it knows no clock, no file and no socket. What
//! follows from a commit (a turn, a send, the acknowledgement of a batch) is asked for only
//! after [`Input::Committed`]: that is why no claim is lost, no turn starts twice, and nothing
//! is sent that a restart would not know of.

mod asks;
mod commands;
mod commits;
mod delivery;
mod inbox;
mod phrases;
mod prompt;
mod text;
mod turns;

use scv_plugin_api::wire::{Batch, Outgoing, SendOutcome, Unprompted};
use scv_protocol::Senders;

use crate::{
    limits::HELD_AGE_SECONDS,
    store::{Change, Held, State},
};
use commits::{Commits, Purpose};
use delivery::Delivery;
use inbox::Inbox;
use turns::Turns;

pub use asks::{Ask, AskError, AskId};
pub use text::split;
pub use turns::{Failure, Turn, TurnEnd};

/// What the machine must know of the channel and the account.
pub struct Config {
    /// The largest part of a reply in bytes, at least 4.
    pub max_message_bytes: usize,
    /// Parts that may carry the reply handle; none: all.
    pub sends_per_reply: Option<u32>,
    /// Where parts without a reply handle can go.
    pub unprompted: Unprompted,
    /// The account's owner.
    pub owner: Option<String>,
    /// Whether the owner's direct chat has tools.
    pub owner_has_tools: bool,
    /// Who is answered.
    pub senders: Senders,
    /// Makes a new client id.
    pub new_id: Box<dyn FnMut() -> String + Send>,
}

/// Names a commit in its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(u64);

/// A wait that the shell keeps for the machine. One that is set again replaces the earlier.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Failed commits are tried again.
    Commit,
    /// A conversation's delivery goes on.
    Conversation(String),
    /// A pause of all deliveries is over.
    Pause(u64),
}

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// The store is open; comes first, once.
    Started,
    /// A session is there.
    Connected,
    /// The session is gone; what it was still sending has ended, or will.
    Disconnected,
    /// What the session returned for [`Output::Poll`].
    Batch(Batch),
    /// A commit is durable, and applied to the state.
    Committed(CommitId),
    /// A commit is not durable, and not applied.
    CommitFailed(CommitId),
    /// A turn is over.
    TurnEnded {
        /// The message that it answers.
        message_id: String,
        /// How.
        end: TurnEnd,
    },
    /// A send is over.
    SendEnded {
        /// From [`Output::Send`].
        reply: String,
        /// How.
        outcome: SendOutcome,
    },
    /// A wait is over.
    Timer(Timer),
    /// A person asks for something; answered by [`Output::Answer`].
    Ask(AskId, Ask),
    /// Nothing new starts from here on; what is under way is still recorded.
    Stop,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Output {
    /// Make these changes durable and apply them; answered by `Committed` or `CommitFailed`.
    Commit {
        /// Names it.
        id: CommitId,
        /// In order.
        changes: Vec<Change>,
    },
    /// Ask the session for a batch.
    Poll {
        /// The token of its last one.
        ack: Option<String>,
    },
    /// Run a turn; answered by `TurnEnded`.
    StartTurn(Turn),
    /// End the turn that runs in a conversation; `TurnEnded` comes as ever.
    CancelTurn(String),
    /// End a conversation's session, and with it the turn that runs.
    ForgetConversation(String),
    /// What became of a request.
    Answer(AskId, Result<(), AskError>),
    /// Send a part; answered by `SendEnded`.
    Send {
        /// Names the reply.
        reply: String,
        /// The part.
        message: Outgoing,
    },
    /// Answer with `Timer` after this long.
    SetTimer {
        /// Which.
        timer: Timer,
        /// In milliseconds.
        after_ms: u64,
    },
    /// Something for status and the log.
    Note(Note),
}

/// What status and the log want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// New messages came in.
    Received,
    /// The platform took a message.
    Accepted {
        /// Whether it gave a receipt.
        receipt: bool,
    },
    /// The platform refused a message for good.
    Refused {
        /// Its code.
        code: String,
        /// Its words.
        message: Option<String>,
        /// The credentials are no longer good.
        signed_out: bool,
    },
    /// A send is tried again later.
    Retrying {
        /// Why.
        reason: String,
    },
}

/// One step's surroundings, and its outputs.
struct Step<'a> {
    state: &'a State,
    now_ms: u64,
    out: Vec<Output>,
}

/// See the module.
pub struct Machine {
    config: Config,
    commits: Commits,
    inbox: Inbox,
    turns: Turns,
    delivery: Delivery,
    is_recovered: bool,
    is_stopping: bool,
}

impl Machine {
    /// A machine over a store that was just opened.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            commits: Commits::default(),
            inbox: Inbox::default(),
            turns: Turns::default(),
            delivery: Delivery::default(),
            is_recovered: false,
            is_stopping: false,
        }
    }

    /// Takes what happened at `now_ms` (Unix time) and answers what to do, in order.
    pub fn step(&mut self, state: &State, now_ms: u64, input: Input) -> Vec<Output> {
        let mut step = Step { state, now_ms, out: Vec::new() };
        match input {
            Input::Started => self.recover(&mut step),
            Input::Connected => {
                self.inbox.connected();
                self.delivery.is_online = true;
            }
            Input::Disconnected => {
                self.inbox.disconnected();
                self.delivery.is_online = false;
            }
            Input::Batch(batch) => self.receive(&mut step, batch),
            Input::Committed(id) => self.committed(&mut step, id),
            Input::CommitFailed(id) => self.commits.failed(id, &mut step),
            Input::Ask(id, ask) => self.asked(&mut step, id, ask),
            Input::TurnEnded { message_id, end } => self.turn_ended(&mut step, &message_id, end),
            Input::SendEnded { reply, outcome } => self.send_ended(&mut step, &reply, outcome),
            Input::Timer(Timer::Commit) => self.commits.try_again(&mut step),
            Input::Timer(Timer::Conversation(key)) => self.delivery.waited(&key),
            Input::Timer(Timer::Pause(pause)) => self.delivery.resume(pause),
            Input::Stop => {
                self.is_stopping = true;
                // Their timer would come too late.
                self.commits.try_again(&mut step);
            }
        }
        self.go_on(&mut step);
        step.out
    }

    /// Conversations with a turn that runs, or whose answer is not durable yet: until it is
    /// pending, a message is never nowhere.
    pub fn running(&self) -> usize {
        self.turns.unanswered()
    }

    /// Messages that wait for their turn, or for the commit of their claim.
    pub fn waiting(&self) -> usize {
        self.turns.waiting() + self.commits.unclaimed()
    }

    /// Whether a turn runs or waits, or its answer is not durable yet.
    pub fn has_turns(&self) -> bool {
        self.running() + self.waiting() > 0
    }

    /// Whether nothing is under way that would still change the state; failed commits that
    /// wait for another try do not count.
    pub fn is_settled(&self) -> bool {
        !self.turns.are_running()
            && !self.commits.are_under_way()
            && !self.delivery.is_sending()
            && !self.inbox.is_polling()
    }

    /// Starts whatever may start now.
    fn go_on(&mut self, step: &mut Step<'_>) {
        if self.is_stopping || !self.is_recovered {
            return;
        }
        self.turns.start(step);
        self.deliver(step);
        self.inbox.poll(step);
    }

    fn committed(&mut self, step: &mut Step<'_>, id: CommitId) {
        match self.commits.done(id) {
            None => {}
            Some(Purpose::Recovery) => self.is_recovered = true,
            Some(Purpose::Ask(id)) => step.out.push(Output::Answer(id, Ok(()))),
            Some(Purpose::Batch(turns)) => {
                self.inbox.durable();
                turns.into_iter().for_each(|turn| self.turns.queue(turn));
            }
            Some(Purpose::Answer { key }) => {
                self.turns.answered(&key);
                if !self.turns.knows(&key) && self.inbox.fresh.remove(&key) {
                    step.out.push(Output::ForgetConversation(key));
                }
            }
            Some(Purpose::Delivery { key, pause_ms }) => {
                self.delivery.recorded(step, &key, pause_ms);
            }
        }
    }
}

impl<'a> Step<'a> {
    fn set_timer(&mut self, timer: Timer, after_ms: u64) {
        self.out.push(Output::SetTimer { timer, after_ms });
    }

    fn note(&mut self, note: Note) {
        self.out.push(Output::Note(note));
    }

    /// Held replies that may still be sent.
    fn young_held(&self) -> Vec<&'a Held> {
        let oldest = self.oldest_held();
        self.state.held().iter().filter(|held| held.held_at >= oldest).collect()
    }

    const fn now_seconds(&self) -> u64 {
        self.now_ms / 1_000
    }

    /// Held replies from before this moment are too old, in Unix seconds.
    const fn oldest_held(&self) -> u64 {
        self.now_seconds().saturating_sub(HELD_AGE_SECONDS)
    }
}
