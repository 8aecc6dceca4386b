//! What was seen.

use std::time::{Duration, Instant};

use super::script::{Ack, Sent};
use super::state::State;
use super::{Feishu, events};
use crate::request::Request;

impl Feishu {
    /// Every request with its host whose path ends with `path`, in order.
    pub fn requests(&self, path: &str) -> Vec<(String, Request)> {
        let state = self.shared.lock();
        let wanted = state.requests.iter().filter(|(_, request)| request.path.ends_with(path));
        wanted.cloned().collect()
    }

    /// `host:port` of everything that was asked of the proxy, in order.
    pub fn dialled(&self) -> Vec<String> {
        self.shared.lock().dialled.clone()
    }

    /// Every send, in order, lost ones included.
    pub fn sent(&self) -> Vec<Sent> {
        self.shared.lock().outbox.sent.clone()
    }

    /// What a chat shows of the bot, in order.
    pub fn visible(&self, chat: &str) -> Vec<String> {
        let state = self.shared.lock();
        let shown = state.outbox.sent.iter().filter(|sent| sent.shown && sent.chat == chat);
        shown.map(|sent| sent.text.clone()).collect()
    }

    /// Every acknowledgement, in order.
    pub fn acks(&self) -> Vec<Ack> {
        self.shared.lock().events.acks.clone()
    }

    /// Acknowledgements that came later than the platform waits for them.
    pub fn late_acks(&self) -> Vec<Ack> {
        self.acks().into_iter().filter(|ack| ack.after > events::in_time()).collect()
    }

    /// Deliveries on open connections that wait for their acknowledgement.
    pub fn unacknowledged(&self) -> usize {
        self.shared.lock().unacknowledged()
    }

    /// Connections that were opened, and discoveries that were refused.
    pub fn conns(&self) -> usize {
        conns(&self.shared.lock())
    }

    /// Websockets that were opened.
    pub fn opened(&self) -> usize {
        self.shared.lock().connections.len()
    }

    /// Websockets that are open.
    pub fn open(&self) -> usize {
        open(&self.shared.lock())
    }

    /// Pings on the newest connection.
    pub fn pings(&self) -> usize {
        self.shared.lock().connections.last().map_or(0, |connection| connection.pings)
    }

    /// How often the history of a chat was asked for.
    pub fn list_calls(&self) -> usize {
        let path = "/open-apis/im/v1/messages";
        let requests = &self.shared.lock().requests;
        requests.iter().filter(|(_, seen)| seen.method == "GET" && seen.path == path).count()
    }

    /// When the polls of sign-ins came.
    pub fn polls(&self) -> Vec<Instant> {
        self.shared.lock().registration.polls.clone()
    }

    /// What a strict platform would have refused, in words; empty when all is well.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().violations.clone()
    }

    /// Waits until a websocket is open.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_open(&self, limit: Duration) -> anyhow::Result<()> {
        self.wait(limit, "an open connection", |state| open(state) > 0).await
    }

    /// Waits until no websocket is open.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_closed(&self, limit: Duration) -> anyhow::Result<()> {
        self.wait(limit, "the end of every connection", |state| open(state) == 0).await
    }

    /// Waits until this many websockets were opened in all.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_opened(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let done = |state: &State| state.connections.len() >= count;
        self.wait(limit, &format!("{count} opened connections"), done).await
    }

    /// Waits until this many connections were opened or refused at the discovery.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_conns(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        self.wait(limit, &format!("{count} connections"), |state| conns(state) >= count).await
    }

    /// Waits until this many send calls arrived in all.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_calls(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let done = |state: &State| state.outbox.sent.len() >= count;
        self.wait(limit, &format!("{count} send calls"), done).await
    }

    /// Waits until chats show this many messages of the bot in all.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_shown(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let done = |state: &State| shown(state, None) >= count;
        self.wait(limit, &format!("{count} messages in all"), done).await
    }

    /// Waits until this chat shows this many messages of the bot, and returns them.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_visible(
        &self,
        chat: &str,
        count: usize,
        limit: Duration,
    ) -> anyhow::Result<Vec<String>> {
        let what = format!("{count} messages in {chat}");
        self.wait(limit, &what, |state| shown(state, Some(chat)) >= count).await?;
        Ok(self.visible(chat))
    }

    /// Waits until this many acknowledgements came in all.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_acks(&self, count: usize, limit: Duration) -> anyhow::Result<Vec<Ack>> {
        let done = |state: &State| state.events.acks.len() >= count;
        self.wait(limit, &format!("{count} acknowledgements"), done).await?;
        Ok(self.acks())
    }

    /// Waits until nothing that was delivered on an open connection lacks its acknowledgement.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_acknowledged(&self, limit: Duration) -> anyhow::Result<()> {
        let done = |state: &State| state.unacknowledged() == 0;
        self.wait(limit, "the last acknowledgement", done).await
    }

    /// Waits until this many pings came on the newest connection.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_pings(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let pings = |state: &State| state.connections.last().map_or(0, |newest| newest.pings);
        self.wait(limit, &format!("{count} pings"), |state| pings(state) >= count).await
    }

    /// Waits until this many requests with such a path came in all.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_requests(
        &self,
        path: &str,
        count: usize,
        limit: Duration,
    ) -> anyhow::Result<()> {
        let seen = |state: &State| {
            state.requests.iter().filter(|(_, request)| request.path.ends_with(path)).count()
        };
        self.wait(limit, &format!("{count} calls of {path}"), |state| seen(state) >= count).await
    }

    async fn wait(
        &self,
        limit: Duration,
        what: &str,
        done: impl Fn(&State) -> bool,
    ) -> anyhow::Result<()> {
        let look = |state: &mut State| done(state).then_some(());
        self.shared.within(limit, what, look, summary).await
    }
}

fn conns(state: &State) -> usize {
    state.refused + state.connections.len()
}

fn open(state: &State) -> usize {
    state.connections.iter().filter(|connection| connection.open).count()
}

fn shown(state: &State, chat: Option<&str>) -> usize {
    let here = |sent: &&Sent| sent.shown && chat.is_none_or(|chat| sent.chat == chat);
    state.outbox.sent.iter().filter(here).count()
}

fn summary(state: &State) -> String {
    format!(
        "there were {} requests, {} connections ({} open) and {} refused, {} acknowledgements \
         ({} missing), {} sends ({} shown), violations: {:?}",
        state.requests.len(),
        state.connections.len(),
        open(state),
        state.refused,
        state.events.acks.len(),
        state.unacknowledged(),
        state.outbox.sent.len(),
        shown(state, None),
        state.violations,
    )
}
