//! Messages between the request that brought them and the host that has them on disk.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use scv_plugin_api::{
    limits::{MAX_BATCH_MESSAGES_COUNT, MAX_UNDELIVERED_BYTES, MAX_UNDELIVERED_MESSAGES_COUNT},
    wire::Inbound,
};
use tokio::sync::{Notify, oneshot};

use crate::limits::MAX_BATCH_TEXT_BYTES;

/// The messages of one session.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Requests whose last message the host was given and has not acknowledged.
    given: Vec<oneshot::Sender<()>>,
}

struct Waiting {
    message: Inbound,
    /// Of the last message of a request: the host takes them in order.
    taken: Option<oneshot::Sender<()>>,
}

impl Inbox {
    /// Lets messages wait; what is returned wakes when the host has them all on disk, and
    /// fails when the session ends before. Nothing is taken of a list that does not fit.
    pub(crate) fn put(&self, messages: Vec<Inbound>) -> Option<oneshot::Receiver<()>> {
        let mut state = self.state();
        let bytes: usize = messages.iter().map(text_bytes).sum();
        let fits = state.waiting.len() + messages.len() <= MAX_UNDELIVERED_MESSAGES_COUNT
            && state.bytes + bytes <= MAX_UNDELIVERED_BYTES;
        if !fits {
            return None;
        }
        let (taken, wait) = oneshot::channel();
        state.bytes += bytes;
        let waiting = messages.into_iter().map(|message| Waiting { message, taken: None });
        state.waiting.extend(waiting);
        if let Some(last) = state.waiting.back_mut() {
            last.taken = Some(taken);
        }
        drop(state);
        self.news.notify_one();
        Some(wait)
    }

    /// The next batch; what it holds counts as taken at the next [`Inbox::confirm`].
    pub(crate) fn take(&self) -> Vec<Inbound> {
        let mut state = self.state();
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < MAX_BATCH_MESSAGES_COUNT {
            let Some(next) = state.waiting.front() else { break };
            let size = text_bytes(&next.message);
            if !batch.is_empty() && bytes + size > MAX_BATCH_TEXT_BYTES {
                break;
            }
            let Some(next) = state.waiting.pop_front() else { break };
            bytes += size;
            state.bytes -= size;
            state.given.extend(next.taken);
            batch.push(next.message);
        }
        batch
    }

    /// The host has everything on disk that it was given.
    pub(crate) fn confirm(&self) {
        for taken in self.state().given.drain(..) {
            // Whoever asked may be gone.
            let _ = taken.send(());
        }
    }

    /// Waits until something is there.
    pub(crate) async fn something(&self) {
        while self.state().waiting.is_empty() {
            self.news.notified().await;
        }
    }

    /// Ends every wait: what the host does not have yet is sent again by whoever wrote it.
    pub(crate) fn end(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a document is large by; a direct conversation has its sender's name again.
fn text_bytes(message: &Inbound) -> usize {
    let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let names = message.sender.len() + message.conversation.id.len() + of(&message.sender_name);
    message.id.len() + names + of(&message.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: usize, bytes: usize) -> Inbound {
        Inbound { id: id.to_string(), text: Some("x".repeat(bytes)), ..Inbound::default() }
    }

    #[test]
    fn a_request_is_answered_when_its_last_message_is_on_disk() {
        let inbox = Inbox::default();
        let mut wait = inbox.put((0..300).map(|n| message(n, 1)).collect()).unwrap();
        assert_eq!(inbox.take().len(), 256);
        inbox.confirm();
        wait.try_recv().unwrap_err();
        let rest = inbox.take();
        assert_eq!((rest.len(), rest[0].id.as_str()), (44, "256"));
        wait.try_recv().unwrap_err();
        inbox.confirm();
        wait.try_recv().unwrap();
    }

    #[test]
    fn a_batch_of_long_texts_is_short() {
        let inbox = Inbox::default();
        let _wait = inbox.put((0..5).map(|n| message(n, 60_000)).collect()).unwrap();
        assert_eq!([inbox.take().len(), inbox.take().len(), inbox.take().len()], [2, 2, 1]);
    }

    #[test]
    fn what_does_not_fit_is_refused_whole() {
        let inbox = Inbox::default();
        let _wait = inbox.put((0..1000).map(|n| message(n, 1)).collect()).unwrap();
        assert!(inbox.put((0..25).map(|n| message(n, 1)).collect()).is_none());
        inbox.take();
        assert!(inbox.put((0..25).map(|n| message(n, 1)).collect()).is_some());
    }

    #[test]
    fn the_end_of_a_session_fails_the_waits() {
        let inbox = Inbox::default();
        let mut waits = [(); 2].map(|()| inbox.put(vec![message(0, 1)]).unwrap());
        inbox.take();
        inbox.end();
        assert!(waits.iter_mut().all(|wait| wait.try_recv().is_err()));
    }
}
