//! Answers requests: the holding, the delays and the hang-ups around the state.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use super::endpoint::Endpoint;
use super::inbox::Answer;
use super::script::Fault;
use super::state::{Arrival, SIGNED_OUT, State};
use crate::request::Request;
use crate::server::Reply;
use crate::watched::Watched;

type Shared = Arc<Watched<State>>;

pub(super) async fn serve(shared: Shared, request: Request) -> Reply {
    let (endpoint, fault) = match shared.change(|state| state.arrive(&request)) {
        Arrival::Settled(None) => return Reply::Hangup,
        Arrival::Settled(Some((status, body))) => return Reply::json(status, body),
        Arrival::Serve(endpoint, fault) => (endpoint, fault),
    };
    let (status, body) = match endpoint {
        Endpoint::GetUpdates => poll(&shared, &request.json()).await,
        Endpoint::GetQrcodeStatus => qr_status(&shared, &request).await,
        Endpoint::GetBotQrcode => shared.change(|state| draw(state, &request)),
        Endpoint::SendMessage => shared.change(|state| send(state, &request.json())),
        Endpoint::GetConfig => ok(r#"{"ret":0,"typing_ticket":"c2ltLXRpY2tldA=="}"#),
        Endpoint::SendTyping | Endpoint::NotifyStart | Endpoint::NotifyStop => ok(r#"{"ret":0}"#),
    };
    match fault {
        Some(Fault::HangupAfter) => return Reply::Hangup,
        Some(Fault::Delay(delay)) => sleep(delay).await,
        _ => {}
    }
    Reply::json(status, body)
}

fn ok(body: &str) -> Answer {
    (200, body.to_owned())
}

/// Counts a held poll for as long as its request lives, whichever end gives it up.
struct Held(Shared);

impl Held {
    fn new(shared: &Shared) -> Self {
        shared.change(|state| state.inbox.held += 1);
        Self(shared.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.change(|state| state.inbox.held -= 1);
    }
}

async fn poll(shared: &Shared, body: &Value) -> Answer {
    let Some(cursor) = body["get_updates_buf"].as_str() else {
        let what = "get_updates_buf is no text";
        shared.change(|state| state.violation(Endpoint::GetUpdates, what));
        return ok(r#"{"ret":-1,"errmsg":"bad request"}"#);
    };
    let _held = Held::new(shared);
    let (forced, hold) = shared.change(|state| (state.inbox.begin(cursor), state.inbox.hold));
    if let Some(forced) = forced {
        sleep(forced).await;
    }
    let answer = shared.until(|state| match state.signed_out {
        true => Some(ok(SIGNED_OUT)),
        false => state.inbox.answer(cursor),
    });
    match timeout_at(Instant::now() + hold, answer).await {
        Ok(answer) => answer,
        Err(_) => shared.lock().inbox.nothing(),
    }
}

async fn qr_status(shared: &Shared, request: &Request) -> Answer {
    let handle = request.query_value("qrcode").unwrap_or_default();
    let hold = shared.lock().inbox.hold;
    if !shared.lock().sign_in.knows(handle) {
        let what = "the code was never drawn";
        shared.change(|state| state.violation(Endpoint::GetQrcodeStatus, what));
    }
    let answer = shared.until(|state| {
        let credentials = state.credentials();
        state.sign_in.status(handle, &credentials)
    });
    match timeout_at(Instant::now() + hold, answer).await {
        Ok(answer) => answer,
        Err(_) => shared.lock().sign_in.nothing(),
    }
}

fn draw(state: &mut State, request: &Request) -> Answer {
    if request.query_value("bot_type") == Some("3") {
        return state.sign_in.draw();
    }
    state.violation(Endpoint::GetBotQrcode, "bot_type is not 3");
    ok(r#"{"ret":2,"errmsg":"bad bot_type"}"#)
}

fn send(state: &mut State, body: &Value) -> Answer {
    let (answer, faults) = state.outbox.take(body);
    for fault in faults {
        state.violation(Endpoint::SendMessage, &fault);
    }
    answer
}
