//! What each request is answered.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, header, http::request::Parts};
use scv_plugin_api::{Stop, wire::Secret};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    inbox::Inbox,
    limits::{BODY_MS, MAX_BODY_BYTES, MAX_FETCH_SECONDS, TAKE_MS},
    messages,
    nonces::{Nonce, Nonces},
    outbox::Outbox,
    signature::{Signed, verify},
};

/// The header with the time of a request.
pub(crate) const TIMESTAMP: &str = "scv-timestamp";
/// The header with the word that a request uses once.
pub(crate) const NONCE: &str = "scv-nonce";
/// The header with the signature.
pub(crate) const SIGNATURE: &str = "scv-signature";

/// What outlives a session: an address keeps it while the plugin is loaded.
pub(crate) struct Endpoint {
    pub(crate) nonces: Nonces,
    pub(crate) outbox: Outbox,
}

/// What requests to one session meet.
pub(crate) struct Door {
    pub(crate) secret: Secret,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) stop: Stop,
}

type Answer = (StatusCode, Value);

/// Answers one request.
pub(crate) async fn answer(door: &Door, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (status, body) = route(door, request).await;
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

async fn route(door: &Door, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let reading = Limited::new(body, MAX_BODY_BYTES).collect();
    let body = match timeout(Duration::from_millis(BODY_MS), reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => {
            let wrong = "the body cannot be read or is over 512 KiB; send less at a time";
            return error(StatusCode::PAYLOAD_TOO_LARGE, wrong);
        }
        Err(_) => {
            return error(StatusCode::REQUEST_TIMEOUT, "the body took too long; send it again");
        }
    };
    let nonce = match authenticate(door, &head, &body) {
        Ok(nonce) => nonce,
        Err(answer) => return answer,
    };
    match (&head.method, head.uri.path()) {
        (&Method::POST, "/v1/messages") => take(door, &body, nonce).await,
        (&Method::GET, "/v1/replies") => give(door, head.uri.query().unwrap_or_default()).await,
        (_, "/v1/messages" | "/v1/replies") => error(
            StatusCode::METHOD_NOT_ALLOWED,
            "another method is needed; use POST /v1/messages or GET /v1/replies",
        ),
        _ => error(
            StatusCode::NOT_FOUND,
            "there is no such path; use POST /v1/messages or GET /v1/replies",
        ),
    }
}

/// Whether the request is from somebody who knows the secret, of now, and new; its nonce.
fn authenticate<'a>(door: &Door, head: &'a Parts, body: &[u8]) -> Result<&'a str, Answer> {
    let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let missing = || {
        let wrong = "it is not signed; send scv-timestamp, scv-nonce and scv-signature";
        error(StatusCode::UNAUTHORIZED, wrong)
    };
    let timestamp = header(TIMESTAMP).ok_or_else(missing)?;
    let nonce = header(NONCE).ok_or_else(missing)?;
    let signature = header(SIGNATURE).ok_or_else(missing)?;
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let target = format!("{} {path}", head.method);
    let signed = Signed { timestamp, nonce, target: &target, body };
    let now = unix_seconds();
    if !verify(door.secret.expose(), &signed, signature, now) {
        return Err(error(
            StatusCode::UNAUTHORIZED,
            "the signature is not good; check secret, clock, nonce, and what was signed",
        ));
    }
    match door.endpoint.nonces.see(nonce, now) {
        Nonce::New => Ok(nonce),
        Nonce::Seen => {
            Err(error(StatusCode::CONFLICT, "this nonce was used already; sign with another one"))
        }
        Nonce::Unknowable => {
            Err(error(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again in a minute"))
        }
    }
}

/// Takes messages, and answers when the host has them on disk.
async fn take(door: &Door, body: &[u8], nonce: &str) -> Answer {
    let messages = match messages::read(body, nonce) {
        Ok(messages) => messages,
        Err(wrong) => return error(StatusCode::BAD_REQUEST, wrong),
    };
    let ids: Vec<String> = messages.iter().map(|message| message.id.clone()).collect();
    let Some(taken) = door.inbox.put(messages) else {
        let wrong = "too many messages wait already; send these again later";
        return error(StatusCode::TOO_MANY_REQUESTS, wrong);
    };
    match timeout(Duration::from_millis(TAKE_MS), taken).await {
        Ok(Ok(())) => (StatusCode::ACCEPTED, json!({ "ids": ids })),
        _ => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "not on disk yet; send the same ids again, they count once",
        ),
    }
}

/// Gives replies, and waits for the first when there is none.
async fn give(door: &Door, query: &str) -> Answer {
    let mut after = String::new();
    let mut wait = 0;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match (name.as_ref(), value.parse()) {
            ("after", _) => after = value.into_owned(),
            ("wait", Ok(seconds)) if seconds <= MAX_FETCH_SECONDS => wait = seconds,
            _ => {
                let wrong = "the query is wrong; it may hold after=CURSOR and wait=0 to 30";
                return error(StatusCode::BAD_REQUEST, wrong);
            }
        }
    }
    let outbox = &door.endpoint.outbox;
    let (replies, cursor) = tokio::select! {
        biased;
        fetched = outbox.wait(&after) => fetched,
        () = tokio::time::sleep(Duration::from_secs(wait)) => outbox.fetch(&after),
        () = door.stop.fired() => outbox.fetch(&after),
    };
    (StatusCode::OK, json!({ "replies": replies, "cursor": cursor }))
}

fn error(status: StatusCode, text: &str) -> Answer {
    (status, json!({ "error": text }))
}

pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
