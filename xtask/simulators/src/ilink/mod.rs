//! The iLink platform on loopback: strict about what a client must send, and scriptable.
//!
//! Without a script it behaves like the platform: polls are held, messages are given out once,
//! sends get a receipt, a sign-in waits for the person. What a script says comes first.

mod endpoint;
mod headers;
mod inbox;
mod outbox;
mod script;
mod serve;
mod sign_in;
mod state;

use std::sync::Arc;
use std::time::Duration;

pub use endpoint::Endpoint;
pub use script::{BOT, Credentials, Fault, OWNER, Replay, STRANGER, SecondSend, Sent};

use crate::request::Request;
use crate::server::Server;
use crate::watched::Watched;
use state::State;

/// A running platform with one bot, whose owner is [`OWNER`].
pub struct Ilink {
    server: Server,
    shared: Arc<Watched<State>>,
}

impl Ilink {
    /// Listens on a free loopback port.
    ///
    /// # Errors
    /// When there is no port or no thread.
    pub fn start() -> anyhow::Result<Self> {
        let shared = Arc::new(Watched::new(State::new()));
        let serving = shared.clone();
        let server = Server::start(move |request| serve::serve(serving.clone(), request))?;
        shared.change(|state| state.base_url = server.origin());
        Ok(Self { server, shared })
    }

    /// `http://127.0.0.1:PORT`, the value of `--login-url` and `base_url`.
    pub fn base_url(&self) -> String {
        self.server.origin()
    }

    /// What a client owns after the last sign-in; valid from the start, without one.
    pub fn credentials(&self) -> Credentials {
        self.shared.lock().credentials()
    }
}

/// What the people do.
impl Ilink {
    /// Someone writes to the bot; returns the message id.
    pub fn push_message(&self, user: &str, text: &str) -> String {
        self.shared.change(|state| state.inbox.push_text(user, text))
    }

    /// The times of messages written from now on jump, back when this is negative.
    pub fn jump_clock(&self, by_ms: i64) {
        self.shared.change(|state| state.inbox.ahead_ms += by_ms);
    }

    /// A message in raw JSON is given out like any other.
    pub fn push_raw(&self, message: impl Into<String>) {
        self.shared.change(|state| state.inbox.push_raw(message.into()));
    }

    /// The owner scans the code and has not confirmed yet.
    pub fn scan(&self) {
        self.shared.change(|state| state.sign_in.scan());
    }

    /// The owner confirms the newest code, or the next one when none was drawn yet. Older tokens
    /// are void from now on.
    pub fn approve(&self) {
        self.shared.change(State::approve);
    }

    /// The token stops to count (`-14` everywhere, held polls included) or counts again.
    pub fn sign_out(&self, signed_out: bool) {
        self.shared.change(|state| state.signed_out = signed_out);
    }
}

/// What the platform does.
impl Ilink {
    /// The next poll is answered with exactly this text, status 200, at once.
    pub fn push_poll(&self, body: impl Into<String>) {
        self.push_poll_answer(200, body);
    }

    /// The next poll is answered with this status and text, at once.
    pub fn push_poll_answer(&self, status: u16, body: impl Into<String>) {
        self.shared.change(|state| state.inbox.script((status, body.into())));
    }

    /// The next send that is well formed is answered with this.
    pub fn push_send(&self, status: u16, body: impl Into<String>) {
        self.shared.change(|state| state.outbox.script((status, body.into())));
    }

    /// The next status poll of a sign-in is answered with exactly this text, at once.
    pub fn push_qr(&self, body: impl Into<String>) {
        self.shared.change(|state| state.sign_in.script((200, body.into())));
    }

    /// How long polls without news are held (35 s otherwise); also the hint in their answers.
    pub fn hold(&self, hold: Duration) {
        self.shared.change(|state| state.inbox.hold = hold);
    }

    /// The next poll is held at least this long, whatever waits for it.
    pub fn hold_next(&self, hold: Duration) {
        self.shared.change(|state| state.inbox.force_hold(hold));
    }

    /// What old and empty cursors bring.
    pub fn replay(&self, replay: Replay) {
        self.shared.change(|state| state.inbox.replay = replay);
    }

    /// What the phone shows of a second message on one context token.
    pub fn second_send(&self, second: SecondSend) {
        self.shared.change(|state| state.outbox.second = second);
    }

    /// The next call of this endpoint goes wrong. Several are taken in order.
    pub fn fault_next(&self, endpoint: Endpoint, fault: Fault) {
        self.shared.change(|state| state.faults.push((endpoint, fault)));
    }

    /// Every request is hung up on, until it is over.
    pub fn outage(&self, outage: bool) {
        self.shared.change(|state| state.outage = outage);
    }
}

/// What was seen.
impl Ilink {
    /// Every request that reached an endpoint, in order.
    pub fn requests(&self, endpoint: Endpoint) -> Vec<Request> {
        let state = self.shared.lock();
        let wanted = state.requests.iter().filter(|(seen, _)| *seen == endpoint);
        wanted.map(|(_, request)| request.clone()).collect()
    }

    /// Every send that was looked at, in order; not those that a fault or `-14` kept away.
    pub fn sent(&self) -> Vec<Sent> {
        self.shared.lock().outbox.sent.clone()
    }

    /// What this person's phone shows in the direct chat, in order.
    pub fn visible(&self, user: &str) -> Vec<String> {
        let state = self.shared.lock();
        state.outbox.shown_to(user).map(|sent| sent.text.clone()).collect()
    }

    /// The cursor of the last poll; none before the first.
    pub fn cursor_seen(&self) -> Option<String> {
        self.shared.lock().inbox.cursors.last().cloned()
    }

    /// What clients did that the platform does not want, in words; empty when all is well.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().violations.clone()
    }

    /// Waits until an endpoint was called this often in all.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_requests(
        &self,
        endpoint: Endpoint,
        count: usize,
        limit: Duration,
    ) -> anyhow::Result<()> {
        let what = format!("{count} calls of {}", endpoint.name());
        self.wait(limit, &what, |state| state.count(endpoint) >= count).await
    }

    /// Waits until this many polls arrived in all.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_polls(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        self.wait_requests(Endpoint::GetUpdates, count, limit).await
    }

    /// Waits until this many sends were looked at in all, and returns them.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_sends(&self, count: usize, limit: Duration) -> anyhow::Result<Vec<Sent>> {
        let what = format!("{count} sends");
        self.wait(limit, &what, |state| state.outbox.sent.len() >= count).await?;
        Ok(self.sent())
    }

    /// Waits until this person's phone shows this many messages, and returns them.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_visible(
        &self,
        user: &str,
        count: usize,
        limit: Duration,
    ) -> anyhow::Result<Vec<String>> {
        let shown = |state: &State| state.outbox.shown_to(user).count();
        let what = format!("{count} messages on the phone of {user}");
        self.wait(limit, &what, |state| shown(state) >= count).await?;
        Ok(self.visible(user))
    }

    /// Waits until a poll is being held, or, with `held` false, until none is any more.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_held(&self, held: bool, limit: Duration) -> anyhow::Result<()> {
        let what = if held { "a held poll" } else { "the end of the held polls" };
        self.wait(limit, what, |state| (state.inbox.held > 0) == held).await
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

fn summary(state: &State) -> String {
    format!(
        "there were {} polls ({} held now), {} sends ({} shown), violations: {:?}",
        state.count(Endpoint::GetUpdates),
        state.inbox.held,
        state.outbox.sent.len(),
        state.outbox.sent.iter().filter(|sent| sent.shown).count(),
        state.violations,
    )
}
