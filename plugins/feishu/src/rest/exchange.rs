//! One request and its answer, within their limits; and failures in words.

use std::time::Duration;

use scv_http::{FetchLimits, HttpClient, HttpError, Phase, Request};
use scv_plugin_api::{Result, wire::Fault};

use super::Answer;
use crate::{
    brand::Brand,
    limits::{CALL_MS, CONNECT_MS},
};

/// Sends a request and reads its answer.
///
/// # Errors
/// When none came; its text carries nothing of the request.
pub(crate) async fn exchange(
    http: &HttpClient,
    brand: Brand,
    request: Request,
    max_body_bytes: usize,
) -> Result<Answer> {
    let limits = FetchLimits {
        connect: Duration::from_millis(CONNECT_MS),
        total: Duration::from_millis(CALL_MS),
        max_body_bytes,
    };
    match http.fetch(request, limits).await {
        Ok(response) => Ok(Answer::read(&response)),
        Err(error) => Err(told(&error, brand)),
    }
}

/// A failed exchange as a fault, for a person who knows the platform by its name.
pub(crate) fn told(error: &HttpError, brand: Brand) -> Fault {
    let title = brand.title();
    Fault::retry(match error {
        HttpError::InvalidUrl | HttpError::InvalidRequest | HttpError::InvalidProxy => {
            return Fault::config(error.to_string());
        }
        HttpError::Connect => format!("{title} could not be reached; check the network"),
        HttpError::Timeout { phase: Phase::Connect } => format!(
            "no connection to {title} was made in time; check the network and the proxy settings"
        ),
        HttpError::Timeout { .. } => {
            format!("{title} did not answer in time; it is tried again")
        }
        HttpError::Reset => {
            format!("{title} closed the connection without an answer; it is tried again")
        }
        HttpError::Body => {
            format!("{title}'s answer broke off before its end; it is tried again")
        }
        other => other.to_string(),
    })
}
