//! The answer to a poll of the sign-in by scan. Everything but success comes as HTTP 400.

use scv_plugin_api::wire::Secret;
use serde_json::Value;

use crate::{brand::Brand, credentials::is_plain};

/// How far a sign-in is.
#[derive(Debug)]
pub(crate) enum Poll {
    /// Nothing can be learnt from the answer.
    NoNews,
    /// Not confirmed yet.
    Pending(Option<Brand>),
    /// Not confirmed, and polls come too often.
    SlowDown,
    /// The person said no.
    Denied,
    /// The code is too old.
    Expired,
    /// Another error, by its code.
    Refused(String),
    /// Confirmed; on the wrong host the secret is missing.
    Confirmed(Confirmed),
}

/// What a confirmed sign-in gives.
#[derive(Debug)]
pub(crate) struct Confirmed {
    pub(crate) app_id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) owner: Option<String>,
    pub(crate) brand: Option<Brand>,
}

/// Reads an answer; a gateway's error or another shape is no news.
pub(crate) fn read_poll(status: u16, body: &Value) -> Poll {
    let user = &body["user_info"];
    let brand = user["tenant_brand"].as_str().and_then(Brand::named);
    match (status, body["error"].as_str().unwrap_or_default()) {
        (500.., _) => Poll::NoNews,
        (_, "authorization_pending") => Poll::Pending(brand),
        (_, "slow_down") => Poll::SlowDown,
        (_, "access_denied") => Poll::Denied,
        (_, "expired_token" | "invalid_grant") => Poll::Expired,
        (200..=299, "") => confirmed(body, user, brand),
        (_, "") => Poll::NoNews,
        (_, error) => Poll::Refused(safe_code(error)),
    }
}

fn confirmed(body: &Value, user: &Value, brand: Option<Brand>) -> Poll {
    let text = |value: &Value| value.as_str().filter(|text| is_plain(text)).map(str::to_owned);
    let secret = text(&body["client_secret"]).map(Secret::new);
    match text(&body["client_id"]) {
        Some(app_id) => {
            Poll::Confirmed(Confirmed { app_id, secret, owner: text(&user["open_id"]), brand })
        }
        None => Poll::Pending(brand),
    }
}

/// Codes are words with underscores; anything else is not repeated.
fn safe_code(error: &str) -> String {
    let plain = error.len() <= 40
        && error
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
    if plain { error.to_owned() } else { "unknown".to_owned() }
}
