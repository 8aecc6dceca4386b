//! Requests from outside the chat, and their answers.

use std::collections::HashMap;

use tokio::sync::{mpsc, oneshot};

use super::Run;
use crate::{
    desk::Request,
    machine::{AskError, AskId, Input},
};

/// What was asked and is not answered yet.
pub(super) struct Asking {
    pub(super) requests: mpsc::Receiver<Request>,
    open: HashMap<AskId, oneshot::Sender<Result<(), AskError>>>,
    next_id: u64,
}

impl Asking {
    pub(super) fn new(requests: mpsc::Receiver<Request>) -> Self {
        Self { requests, open: HashMap::new(), next_id: 0 }
    }

    /// Answers a request. Whoever asked may have left.
    pub(super) fn answer(&mut self, id: AskId, result: Result<(), AskError>) {
        if let Some(answer) = self.open.remove(&id) {
            let _ = answer.send(result);
        }
    }
}

impl Run {
    pub(super) fn requested(&mut self, request: Request) {
        match request {
            Request::Held(answer) => {
                let _ = answer.send(self.state.held().to_vec());
            }
            Request::Hurry => self.reconnect(),
            Request::Ask(ask, answer) => {
                let id = AskId(self.asking.next_id);
                self.asking.next_id += 1;
                self.asking.open.insert(id, answer);
                self.feed(Input::Ask(id, ask));
            }
        }
    }
}
