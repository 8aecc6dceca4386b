//! One run of one account: the shell around the machine. It gives it a store, a session of the
//! plugin, sessions of the agent, and timers, and takes all their answers in one loop.

mod asking;
mod context;
mod ids;
mod link;
mod report;
mod start;
mod stop;
mod storing;

use std::{collections::HashMap, sync::Arc, time::Duration};

use scv_plugin_api::{
    host::ChannelSession,
    wire::{Batch, CloseReply, Fault, SendOutcome},
};
use tokio::{
    task::{AbortHandle, JoinSet},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

pub use context::{AccountContext, RunError, RunErrorKind};

use crate::{
    Health,
    conversation::Sessions,
    desk::Request,
    machine::{Input, Machine, Output, Timer, Turn, TurnEnd},
    store::State,
};
use asking::Asking;
use link::Link;
use report::Reporter;
use storing::{Stored, Storing};

/// Runs one account until `stop`, or until it cannot go on.
///
/// Lost contact is handled inside: it connects again by itself after 1 to 60 seconds, with
/// turns running on. What it returns is for the supervisor, see [`RunErrorKind`]. It ends
/// within about ten seconds after `stop`; dropping the future instead loses nothing durable.
///
/// # Errors
/// See [`RunErrorKind`].
pub async fn run_account(
    context: AccountContext,
    health: Arc<Health>,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let mut run = match start::start(context, health, &stop).await? {
        Some(run) => run,
        None => return Ok(()),
    };
    let ended = run.until_end(&stop).await;
    let wound_down = run.wind_down().await;
    // A plugin that did not stop concerns more than this run.
    wound_down.and(ended)
}

/// What a task of the run came to.
enum Event {
    /// The run should end.
    Stop,
    /// Somebody asks for something.
    Requested(Request),
    Connected(Result<Box<dyn ChannelSession>, Fault>),
    /// The wait before connecting again is over.
    Reconnect,
    /// What a session returned; the number tells which one.
    Polled(u64, Result<Batch, Fault>),
    Closed(Result<CloseReply, Fault>),
    Stored(Stored),
    /// The job that had the log is gone, and the log with it.
    StoreLost,
    TurnEnded {
        key: String,
        message_id: String,
        end: TurnEnd,
    },
    SendEnded {
        reply: String,
        outcome: SendOutcome,
    },
    Timer(Timer),
}

struct Run {
    context: AccountContext,
    reporter: Reporter,
    machine: Machine,
    state: State,
    storing: Storing,
    asking: Asking,
    sessions: Sessions,
    link: Link,
    tasks: JoinSet<Event>,
    timers: HashMap<Timer, AbortHandle>,
}

impl Run {
    async fn until_end(&mut self, stop: &CancellationToken) -> Result<(), RunError> {
        self.feed(Input::Started);
        self.connect();
        self.go_on();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => Event::Stop,
                event = next_event(&mut self.tasks) => event?,
                Some(request) = self.asking.requests.recv() => Event::Requested(request),
            };
            match event {
                Event::Stop => return Ok(()),
                Event::Requested(request) => self.requested(request),
                Event::Connected(result) => self.connected(result)?,
                Event::Reconnect => self.reconnect(),
                Event::Polled(session, result) => {
                    if let Err(fault) = self.polled(session, result) {
                        self.lost(fault)?;
                    }
                }
                Event::Closed(reply) => self.closed(&reply)?,
                Event::Stored(stored) => self.stored(stored)?,
                Event::StoreLost => return Err(report::inconsistent()),
                Event::TurnEnded { key, message_id, end } => {
                    self.turn_ended(&key, message_id, end);
                }
                Event::SendEnded { reply, outcome } => {
                    self.feed(Input::SendEnded { reply, outcome });
                }
                Event::Timer(timer) => self.timer(timer),
            }
            if self.reporter.take_signed_out() && self.link.session.is_some() {
                self.lost(Fault::auth("the platform refused the credentials"))?;
            }
            self.go_on();
            self.leave_if_signed_out()?;
        }
    }

    /// Tells the machine what happened, and does what it answers.
    fn feed(&mut self, input: Input) {
        let now_ms = self.context.clock.unix_ms();
        for output in self.machine.step(&self.state, now_ms, input) {
            match output {
                Output::Commit { id, changes } => self.storing.queue(id, changes),
                Output::Poll { ack } => self.poll(ack),
                Output::StartTurn(turn) => self.start_turn(turn),
                Output::CancelTurn(key) => self.sessions.cancel(&key),
                Output::ForgetConversation(key) => self.sessions.forget(&key),
                Output::Answer(id, result) => self.asking.answer(id, result),
                Output::Send { reply, message } => self.send(reply, message),
                Output::SetTimer { timer, after_ms } => self.set_timer(timer, after_ms),
                Output::Note(note) => self.reporter.note(note),
            }
        }
    }

    /// After each event: everything that it made worth storing goes into one record.
    fn go_on(&mut self) {
        self.storing.go_on(&self.state, &mut self.tasks);
        self.reporter.counts(&self.machine, &self.state);
    }

    fn start_turn(&mut self, turn: Turn) {
        let (key, message_id) = (turn.key.clone(), turn.message_id.clone());
        let work = self.sessions.run(turn);
        self.tasks.spawn(async move {
            let end = work.await;
            Event::TurnEnded { key, message_id, end }
        });
    }

    fn turn_ended(&mut self, key: &str, message_id: String, end: TurnEnd) {
        self.sessions.ended(key);
        self.feed(Input::TurnEnded { message_id, end });
    }

    fn set_timer(&mut self, timer: Timer, after_ms: u64) {
        let name = timer.clone();
        let task = self.tasks.spawn(async move {
            sleep(Duration::from_millis(after_ms)).await;
            Event::Timer(timer)
        });
        if let Some(earlier) = self.timers.insert(name, task) {
            earlier.abort();
        }
    }

    fn timer(&mut self, timer: Timer) {
        self.timers.remove(&timer);
        self.feed(Input::Timer(timer));
    }
}

/// Waits for the next task that ends by itself.
async fn next_event(tasks: &mut JoinSet<Event>) -> Result<Event, RunError> {
    loop {
        match tasks.join_next().await {
            Some(Ok(event)) => return Ok(event),
            Some(Err(error)) if error.is_cancelled() => {}
            Some(Err(_)) => return Err(report::inconsistent()),
            // Only while stopping: a run always connects, polls or waits to connect.
            None => std::future::pending().await,
        }
    }
}
