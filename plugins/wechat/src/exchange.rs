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
            Fault::config(told(error))
        }
        _ => Fault::retry(told(error)),
    }
}

/// A failed exchange for a person, who knows the platform by its name.
pub(crate) fn told(error: &HttpError) -> String {
    let text = match error {
        HttpError::Connect => {
            "WeChat could not be reached; check the network, or the --login-url if you gave one"
        }
        HttpError::Timeout { phase: Phase::Connect } => {
            "no connection to WeChat was made in time; check the network and the proxy settings"
        }
        HttpError::Timeout { phase: Phase::Headers | Phase::Body } => {
            "WeChat did not answer in time; try again later"
        }
        HttpError::Reset => "WeChat closed the connection without an answer; try again",
        HttpError::Body => "WeChat's answer broke off before its end; try again",
        HttpError::Protocol => {
            "WeChat did not answer in proper HTTP; check the network, or the --login-url if you gave one"
        }
        other => return other.to_string(),
    };
    text.to_owned()
}

fn limits(total_ms: u64, max_body_bytes: usize) -> FetchLimits {
    FetchLimits { connect: CONNECT, total: Duration::from_millis(total_ms), max_body_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_of_wechat_and_not_of_a_server() {
        for error in [
            HttpError::Connect,
            HttpError::Timeout { phase: Phase::Connect },
            HttpError::Timeout { phase: Phase::Headers },
            HttpError::Timeout { phase: Phase::Body },
            HttpError::Reset,
            HttpError::Body,
            HttpError::Protocol,
        ] {
            let text = told(&error);
            assert!(text.contains("WeChat") && !text.contains("server"), "{text}");
            assert!(text.contains("; "), "what, and what to do: {text}");
        }
    }
}
