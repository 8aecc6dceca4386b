//! Replies that wait to be fetched. They live as long as the plugin, not only a session.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use tokio::sync::Notify;

use crate::limits::{MAX_FETCHED_COUNT, MAX_REPLIES_BYTES, MAX_REPLIES_COUNT};

/// One reply, as it is fetched or posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Reply {
    /// Equal when the same reply is posted again.
    pub(crate) client_id: String,
    /// The id of the message that it answers; none: the agent's side began.
    pub(crate) reply_to: Option<String>,
    pub(crate) user: String,
    pub(crate) group: Option<String>,
    pub(crate) text: String,
}

/// The replies of one address.
pub(crate) struct Outbox {
    /// Cursors of another life of the plugin mean nothing here.
    life: String,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Reply>,
    /// How many were fetched and confirmed; the number of the first that waits.
    gone: u64,
    bytes: usize,
}

impl Outbox {
    pub(crate) fn new(life: String) -> Self {
        Self { life, state: Mutex::default(), news: Notify::new() }
    }

    /// Keeps a reply and gives its cursor; nothing when there is no room.
    pub(crate) fn put(&self, reply: Reply) -> Option<String> {
        let mut state = self.state();
        let known = state.waiting.iter().position(|waiting| waiting.client_id == reply.client_id);
        let place = match known {
            Some(place) => place,
            None => {
                let bytes = state.bytes + reply.text.len();
                if state.waiting.len() >= MAX_REPLIES_COUNT || bytes > MAX_REPLIES_BYTES {
                    return None;
                }
                state.bytes = bytes;
                state.waiting.push_back(reply);
                state.waiting.len() - 1
            }
        };
        let number = state.gone + place as u64 + 1;
        drop(state);
        self.news.notify_waiters();
        Some(format!("{}-{number}", self.life))
    }

    /// Removes what was fetched up to this cursor, and gives the next replies and their cursor.
    pub(crate) fn fetch(&self, after: &str) -> (Vec<Reply>, String) {
        let mut state = self.state();
        let fetched = after.strip_prefix(&self.life).and_then(|rest| rest.strip_prefix('-'));
        if let Some(fetched) = fetched.and_then(|number| number.parse::<u64>().ok()) {
            while state.gone < fetched {
                let Some(reply) = state.waiting.pop_front() else { break };
                state.bytes -= reply.text.len();
                state.gone += 1;
            }
        }
        let replies: Vec<Reply> = state.waiting.iter().take(MAX_FETCHED_COUNT).cloned().collect();
        let cursor = format!("{}-{}", self.life, state.gone + replies.len() as u64);
        (replies, cursor)
    }

    /// The same, but waits until there is something; who calls limits that.
    pub(crate) async fn wait(&self, after: &str) -> (Vec<Reply>, String) {
        loop {
            let mut news = std::pin::pin!(self.news.notified());
            // From here on a notice counts, so that none is missed between look and wait.
            news.as_mut().enable();
            let fetched = self.fetch(after);
            if !fetched.0.is_empty() {
                return fetched;
            }
            news.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(n: usize) -> Reply {
        Reply {
            client_id: format!("c{n}"),
            reply_to: None,
            user: "ann".into(),
            group: None,
            text: "x".repeat(10),
        }
    }

    #[test]
    fn what_was_fetched_goes_when_the_next_fetch_confirms_it() {
        let outbox = Outbox::new("life".into());
        for n in 0..150 {
            assert_eq!(outbox.put(reply(n)).unwrap(), format!("life-{}", n + 1));
        }
        let (first, cursor) = outbox.fetch("");
        assert_eq!((first.len(), cursor.as_str()), (100, "life-100"));
        assert_eq!(outbox.fetch("other-100").0, first, "a cursor of another life confirms nothing");
        let (rest, cursor) = outbox.fetch(&cursor);
        assert_eq!((rest.len(), rest[0].client_id.as_str()), (50, "c100"));
        assert_eq!(outbox.fetch(&cursor), (vec![], "life-150".into()));
        assert_eq!(outbox.fetch("life-9999").1, "life-150");
    }

    #[test]
    fn the_same_client_id_is_kept_once_and_a_full_outbox_says_so() {
        let outbox = Outbox::new("life".into());
        assert_eq!(outbox.put(reply(0)), outbox.put(reply(0)));
        for n in 1..MAX_REPLIES_COUNT {
            outbox.put(reply(n)).unwrap();
        }
        assert_eq!(outbox.put(reply(MAX_REPLIES_COUNT)), None);
        let (_, cursor) = outbox.fetch("");
        outbox.fetch(&cursor);
        outbox.put(reply(MAX_REPLIES_COUNT)).unwrap();
    }
}
