//! The end of a run: what was already received or sent is still recorded, nothing new begins,
//! and the journal is folded.

use std::time::Duration;

use tokio::time::timeout;

use super::{Event, Run, RunError, next_event, report};
use crate::{limits::STOP_MS, machine::Input};

impl Run {
    pub(super) async fn wind_down(&mut self) -> Result<(), RunError> {
        self.feed(Input::Stop);
        self.sessions.close();
        if let Some(connecting) = self.link.connecting.take() {
            connecting.abort();
        }
        // Its poll is still awaited: an answer that has begun to arrive is returned there, and
        // becomes durable like any other.
        self.close_session();
        // What is not settled by then stays as it is on disk: the next start goes on from there.
        let settled = timeout(Duration::from_millis(STOP_MS), self.settle()).await;
        let closed = settled.unwrap_or(Ok(()));
        self.storing.fold(&self.state).await;
        closed
    }

    async fn settle(&mut self) -> Result<(), RunError> {
        let mut closed = Ok(());
        self.go_on();
        while self.link.is_closing() || !self.machine.is_settled() || !self.storing.is_idle() {
            match next_event(&mut self.tasks).await? {
                Event::Closed(reply) => closed = self.closed(&reply),
                Event::Polled(session, result) => {
                    if self.polled(session, result).is_err() {
                        self.feed(Input::Disconnected);
                    }
                }
                Event::Stored(stored) => self.stored(stored)?,
                Event::StoreLost => return Err(report::inconsistent()),
                Event::TurnEnded { key, message_id, end } => self.turn_ended(&key, message_id, end),
                Event::SendEnded { reply, outcome } => {
                    self.feed(Input::SendEnded { reply, outcome });
                }
                Event::Stop
                | Event::Requested(_)
                | Event::Connected(_)
                | Event::Reconnect
                | Event::Timer(_) => {}
            }
            self.go_on();
        }
        closed
    }
}
