//! Reading belongs to the session: the host's call only takes what a task of the session has.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Mutex, time::sleep};

use super::{
    owned::Owned,
    tasks::{Operation, Tasks, ended},
};
use crate::{
    BatchToken, Result, Session, Stop,
    limits::CLOSE_READ_MS,
    wire::{Fault, NextBatchRequest, decode, encode},
};

/// Reads for one session, one batch at a time.
pub(super) struct Reader<S: Session> {
    session: Owned<S>,
    tasks: Tasks,
    stop: Stop,
    state: Mutex<State>,
}

/// What lies between two calls of the host.
#[derive(Default)]
struct State {
    /// The last batch that the host was given; what it must acknowledge.
    given: Option<BatchToken>,
    /// A read that runs, or has a result that nobody took.
    reading: Option<Operation<Read>>,
    /// After a fault there is no more.
    over: bool,
}

/// A batch as its token and its document.
type Read = (BatchToken, Vec<u8>);

impl<S: Session> Reader<S> {
    pub(super) fn new(session: Owned<S>, tasks: Tasks, stop: Stop) -> Self {
        Self { session, tasks, stop, state: Mutex::default() }
    }

    /// Answers one `next_batch`. Polled on the host's thread, and it may be dropped there at
    /// any time: a result leaves `state` in the very poll that returns it.
    pub(super) async fn next(self: Arc<Self>, request: Vec<u8>) -> Result<Vec<u8>> {
        let NextBatchRequest { ack } = decode("next_batch", &request)?;
        let Ok(mut state) = self.state.try_lock() else {
            return Err(Fault::protocol("next_batch is awaited already"));
        };
        if state.over {
            return Err(ended());
        }
        if ack != state.given {
            return Err(Fault::protocol("ack is not the token of the last batch"));
        }
        if state.reading.is_none() && self.stop.has_fired() {
            return Err(ended());
        }
        let read = state.reading.get_or_insert_with(|| self.read(ack)).await;
        state.reading = None;
        match read {
            Ok((token, document)) => {
                state.given = Some(token);
                Ok(document)
            }
            Err(fault) => {
                state.over = true;
                Err(fault)
            }
        }
    }

    fn read(&self, ack: Option<BatchToken>) -> Operation<Read> {
        let session = self.session.clone();
        let stop = self.stop.clone();
        self.tasks.start(async move {
            let batch = tokio::select! {
                batch = session.next_batch(ack) => batch?,
                () = too_late(&stop) => return Err(ended()),
            };
            batch.check()?;
            let document = encode(&batch)?;
            Ok((batch.token, document))
        })
    }
}

/// Waits until the session is being closed and an answer that began to arrive had its time.
async fn too_late(stop: &Stop) {
    stop.fired().await;
    sleep(Duration::from_millis(CLOSE_READ_MS)).await;
}
