//! Requests with their time limits: the only place that waits for the network.

use std::time::Duration;

use scv_http::{FetchLimits, HttpClient, HttpError, Phase, Request, Response, StreamLimits};
use scv_plugin_api::{Result, Stop, wire::Fault};
use tokio::time::timeout;

use crate::limits::{
    CONNECT_MS, DRAW_MS, LOGIN_BODY_BYTES, POLL_BODY_BYTES, POLL_BODY_MS, SEND_BODY_BYTES, SEND_MS,
    STATUS_POLL_MS,
};

const CONNECT: Duration = Duration::from_millis(CONNECT_MS);

/// Sends a message.
pub(crate) async fn send(http: &HttpClient, request: Request) -> Outcome {
    http.fetch(request, limits(SEND_MS, SEND_BODY_BYTES)).await
}

/// Draws a code.
pub(crate) async fn draw(http: &HttpClient, request: Request) -> Outcome {
    http.fetch(request, limits(DRAW_MS, LOGIN_BODY_BYTES)).await
}

/// Asks how far a sign-in is.
pub(crate) async fn ask_status(http: &HttpClient, request: Request) -> Outcome {
    http.fetch(request, limits(STATUS_POLL_MS, LOGIN_BODY_BYTES)).await
}

/// What an exchange ends with.
pub(crate) type Outcome = std::result::Result<Response, HttpError>;

/// Polls; none when no answer began in time. `stop` ends the wait at once, but an answer that has
/// begun is read to its end: the platform counts it as delivered.
pub(crate) async fn poll(
    http: &HttpClient,
    request: Request,
    patience: Duration,
    stop: &Stop,
) -> Result<Option<Response>> {
    let limits = StreamLimits { connect: CONNECT, headers: patience };
    let head = tokio::select! {
        biased;
        head = http.stream(request, limits) => head,
        () = stop.fired() => return Err(Fault::cancelled("the session is closing")),
    };
    let stream = match head {
        Err(HttpError::Timeout { phase: Phase::Headers }) => return Ok(None),
        head => head.map_err(|error| failed(&error))?,
    };
    let body = timeout(Duration::from_millis(POLL_BODY_MS), stream.collect(POLL_BODY_BYTES));
    let response = body.await.unwrap_or(Err(HttpError::Timeout { phase: Phase::Body }));
    response.map(Some).map_err(|error| failed(&error))
}

/// A failed exchange as a fault; no text of [`HttpError`] carries anything of the request.
pub(crate) fn failed(error: &HttpError) -> Fault {
    match error {
        HttpError::InvalidUrl | HttpError::InvalidRequest | HttpError::InvalidProxy => {
            Fault::config(error.to_string())
        }
        _ => Fault::retry(error.to_string()),
    }
}

fn limits(total_ms: u64, max_body_bytes: usize) -> FetchLimits {
    FetchLimits { connect: CONNECT, total: Duration::from_millis(total_ms), max_body_bytes }
}
