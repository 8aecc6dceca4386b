//! What the connection's task and the session share: events on their way in, acknowledgements on
//! their way out.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use scv_plugin_api::{
    limits::{MAX_UNDELIVERED_BYTES, MAX_UNDELIVERED_MESSAGES_COUNT},
    wire::Fault,
};
use tokio::{sync::Notify, time::Instant};

use crate::{message::Incoming, wire::Frame};

/// A message that was just received, and the frame that will acknowledge it.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) message: Incoming,
    pub(crate) frame: Frame,
    pub(crate) received: Instant,
    pub(crate) bytes: usize,
}

/// Both queues of one connection.
#[derive(Default)]
pub(crate) struct Inbox {
    queues: Mutex<Queues>,
    /// For the session: something arrived, or the connection ended.
    arrived: Notify,
    /// For the connection: there is something to acknowledge, or room again.
    taken: Notify,
}

#[derive(Default)]
struct Queues {
    events: VecDeque<Live>,
    bytes: usize,
    acknowledgements: Vec<Frame>,
    ended: Option<Fault>,
}

impl Inbox {
    /// An event arrived.
    pub(crate) fn push(&self, live: Live) {
        let mut queues = self.lock();
        queues.bytes += live.bytes;
        queues.events.push_back(live);
        self.arrived.notify_one();
    }

    /// Whether reading must wait for the session.
    pub(crate) fn is_full(&self) -> bool {
        let queues = self.lock();
        queues.events.len() >= MAX_UNDELIVERED_MESSAGES_COUNT
            || queues.bytes >= MAX_UNDELIVERED_BYTES
    }

    /// The connection ended; what has arrived is still taken.
    pub(crate) fn end(&self, fault: Fault) {
        self.lock().ended.get_or_insert(fault);
        self.arrived.notify_one();
    }

    /// Everything that has arrived; waits for something.
    ///
    /// # Errors
    /// When the connection has ended and nothing is left.
    pub(crate) async fn take(&self) -> Result<Vec<Live>, Fault> {
        loop {
            let arrived = self.arrived.notified();
            if let Some(result) = self.take_now() {
                return result;
            }
            arrived.await;
        }
    }

    fn take_now(&self) -> Option<Result<Vec<Live>, Fault>> {
        let mut queues = self.lock();
        if queues.events.is_empty() {
            return queues.ended.clone().map(Err);
        }
        queues.bytes = 0;
        let events = queues.events.drain(..).collect();
        self.taken.notify_one();
        Some(Ok(events))
    }

    /// These events are durable.
    pub(crate) fn acknowledge(&self, frames: impl IntoIterator<Item = Frame>) {
        self.lock().acknowledgements.extend(frames);
        self.taken.notify_one();
    }

    /// What is to be sent out now.
    pub(crate) fn acknowledgements(&self) -> Vec<Frame> {
        std::mem::take(&mut self.lock().acknowledgements)
    }

    /// Waits until the session has taken or acknowledged something. Safe to drop.
    pub(crate) async fn taken(&self) {
        self.taken.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(bytes: usize) -> Live {
        Live {
            message: Incoming::default(),
            frame: Frame::default(),
            received: Instant::now(),
            bytes,
        }
    }

    #[tokio::test]
    async fn what_arrived_is_taken_before_the_end_is_told() {
        let inbox = Inbox::default();
        inbox.push(live(1));
        inbox.end(Fault::retry("closed"));
        assert_eq!(inbox.take().await.expect("an event").len(), 1);
        assert_eq!(inbox.take().await.expect_err("the end").message, "closed");
        inbox.end(Fault::retry("later"));
        assert_eq!(inbox.take().await.expect_err("the end").message, "closed");
    }

    #[tokio::test]
    async fn both_limits_stop_the_reading() {
        let inbox = Inbox::default();
        inbox.push(live(MAX_UNDELIVERED_BYTES - 1));
        assert!(!inbox.is_full());
        inbox.push(live(1));
        assert!(inbox.is_full());
        inbox.take().await.expect("events");
        assert!(!inbox.is_full());
        (0..MAX_UNDELIVERED_MESSAGES_COUNT).for_each(|_| inbox.push(live(0)));
        assert!(inbox.is_full());
    }

    #[tokio::test]
    async fn a_take_that_waits_is_woken() {
        let inbox = Inbox::default();
        let (taken, ()) = tokio::join!(inbox.take(), async { inbox.push(live(1)) });
        assert_eq!(taken.expect("an event").len(), 1);
    }
}
