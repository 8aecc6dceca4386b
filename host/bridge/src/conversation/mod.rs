//! Conversations: one protocol session each, opened when a turn needs it and kept for a while.
//!
//! A session that failed, timed out or broke is dropped alone; the next turn of its
//! conversation opens a new one.

mod connection;
mod session;

use std::{collections::HashMap, future::Future, path::PathBuf, sync::Arc, time::Duration};

use scv_plugin_api::host::BoxFuture;
use scv_protocol::client::{Client, ClientError};
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    limits::{MAX_SESSIONS_COUNT, TURN_LIMIT_SECONDS},
    machine::{Failure, Turn, TurnEnd},
};
use session::Request;

/// How conversations reach the agent: the daemon gives an in-process one.
pub trait Dialer: Send + Sync {
    /// Opens and initializes a connection. Dropping the client ends its session.
    fn dial(&self) -> BoxFuture<'_, Result<Client, ClientError>>;
}

/// What every session of an account shares.
pub(crate) struct Settings {
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) workspace: PathBuf,
    /// For turns with tools.
    pub(crate) owner_turn_limit: Duration,
}

/// The sessions of one account, by conversation.
pub(crate) struct Sessions {
    settings: Arc<Settings>,
    open: HashMap<String, Open>,
    uses: u64,
    stop: CancellationToken,
}

struct Open {
    requests: mpsc::Sender<Request>,
    task: AbortHandle,
    is_busy: bool,
    last_use: u64,
    /// Ends the turn that runs.
    turn: CancellationToken,
    /// Told before the task is ended because the sender wants no more of it.
    forgotten: CancellationToken,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sessions {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            open: HashMap::new(),
            uses: 0,
            stop: CancellationToken::new(),
        }
    }

    /// Runs a turn in its conversation's session. The caller says [`Sessions::ended`] after it.
    pub(crate) fn run(&mut self, turn: Turn) -> impl Future<Output = TurnEnd> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        let key = turn.key.clone();
        if turn.is_fresh {
            self.open.remove(&key);
        }
        let cancel = CancellationToken::new();
        let forgotten = self.submit(key, Request { turn, cancel, answer });
        let stop = self.stop.clone();
        async move {
            match answered.await {
                Ok(end) => end,
                // The session's task is gone: ended from here, or by a fault of its own.
                Err(_) if stop.is_cancelled() => TurnEnd::Stopped,
                Err(_) if forgotten.is_cancelled() => TurnEnd::Failed(Failure::Cancelled),
                Err(_) => TurnEnd::Failed(Failure::Unavailable),
            }
        }
    }

    /// Gives a turn to the session of its conversation, which is told by the answered token when
    /// it is ended by the sender.
    fn submit(&mut self, key: String, request: Request) -> CancellationToken {
        self.uses += 1;
        let turn = request.cancel.clone();
        let last_use = self.uses;
        let request = match self.open.get_mut(&key) {
            None => request,
            Some(open) => match open.requests.try_send(request) {
                Ok(()) => {
                    open.is_busy = true;
                    open.last_use = last_use;
                    open.turn = turn;
                    return open.forgotten.clone();
                }
                Err(error) => error.into_inner(),
            },
        };
        self.open.remove(&key);
        self.make_room();
        let (requests, receiver) = mpsc::channel(1);
        let task = tokio::spawn(session::serve(Arc::clone(&self.settings), request, receiver));
        let task = task.abort_handle();
        let forgotten = CancellationToken::new();
        let told = forgotten.clone();
        self.open.insert(key, Open { requests, task, is_busy: true, last_use, turn, forgotten });
        told
    }

    /// Ends the turn that runs in a conversation, if one does; its session stays.
    pub(crate) fn cancel(&self, key: &str) {
        if let Some(open) = self.open.get(key) {
            open.turn.cancel();
        }
    }

    /// Ends a conversation's session, and a turn in it as cancelled.
    pub(crate) fn forget(&mut self, key: &str) {
        if let Some(open) = self.open.remove(key) {
            open.forgotten.cancel();
        }
    }

    /// A conversation's turn is over: its session is idle, or has ended by itself.
    pub(crate) fn ended(&mut self, key: &str) {
        if let Some(open) = self.open.get_mut(key) {
            open.is_busy = false;
        }
    }

    /// Ends all sessions; turns that still run end as stopped.
    pub(crate) fn close(&mut self) {
        self.stop.cancel();
        self.open.clear();
    }

    /// Closes the idle session that was used least recently when there are too many.
    fn make_room(&mut self) {
        self.open.retain(|_, open| !open.requests.is_closed());
        if self.open.len() < MAX_SESSIONS_COUNT {
            return;
        }
        let idle = self.open.iter().filter(|(_, open)| !open.is_busy);
        let oldest = idle.min_by_key(|(_, open)| open.last_use);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.open.remove(&key);
        }
    }
}

impl Settings {
    fn turn_limit(&self, tools: bool) -> Duration {
        match tools {
            true => self.owner_turn_limit,
            false => Duration::from_secs(TURN_LIMIT_SECONDS),
        }
    }
}
