//! Where a running account takes requests from outside the chat.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::{
    limits::DESK_REQUESTS_COUNT,
    machine::{Ask, AskError},
    store::Held,
};

/// Hands requests to whatever run of its account is under way.
#[derive(Debug, Default)]
pub struct Desk(Mutex<Option<mpsc::Sender<Request>>>);

/// What is handed to a run.
#[derive(Debug)]
pub(crate) enum Request {
    /// Which replies are held.
    Held(oneshot::Sender<Vec<Held>>),
    /// Connect now if it waits to connect again.
    Hurry,
    /// What the machine decides about.
    Ask(Ask, oneshot::Sender<Result<(), AskError>>),
}

/// Why a request came to nothing; whole sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeskError {
    /// No run takes requests now.
    #[error("the account is not running; `scv channels status` says why")]
    NotRunning,
    /// The run ended meanwhile.
    #[error("the account stopped meanwhile; see whether it was done before trying again")]
    Stopped,
    /// The run said no.
    #[error(transparent)]
    Refused(#[from] AskError),
}

impl Desk {
    /// The replies that are held.
    ///
    /// # Errors
    /// [`DeskError::NotRunning`], [`DeskError::Stopped`].
    pub async fn held(&self) -> Result<Vec<Held>, DeskError> {
        let (answer, answered) = oneshot::channel();
        self.hand_in(Request::Held(answer)).await?;
        answered.await.map_err(|_| DeskError::Stopped)
    }

    /// Asks for something; it is durable when this returns `Ok`.
    ///
    /// # Errors
    /// All of [`DeskError`].
    pub async fn ask(&self, ask: Ask) -> Result<(), DeskError> {
        let (answer, answered) = oneshot::channel();
        self.hand_in(Request::Ask(ask, answer)).await?;
        Ok(answered.await.map_err(|_| DeskError::Stopped)??)
    }

    /// Ends the wait of an account that has lost contact: it connects again at once.
    pub fn hurry(&self) {
        if let Some(run) = self.run().as_ref() {
            // A run that is busy with this many requests is not waiting.
            let _ = run.try_send(Request::Hurry);
        }
    }

    async fn hand_in(&self, request: Request) -> Result<(), DeskError> {
        let run = self.run().clone().ok_or(DeskError::NotRunning)?;
        run.send(request).await.map_err(|_| DeskError::NotRunning)
    }

    /// Begins to take requests, for a new run.
    pub(crate) fn open(&self) -> mpsc::Receiver<Request> {
        let (run, requests) = mpsc::channel(DESK_REQUESTS_COUNT);
        *self.run() = Some(run);
        requests
    }

    fn run(&self) -> std::sync::MutexGuard<'_, Option<mpsc::Sender<Request>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
