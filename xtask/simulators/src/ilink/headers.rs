//! What every client must send, whatever it calls.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::endpoint::Endpoint;
use crate::request::Request;

/// Everything that is wrong with a request before its own content is looked at, except the token.
pub(super) fn faults(endpoint: Endpoint, request: &Request) -> Vec<String> {
    let mut faults = app_headers(request);
    if !endpoint.allows(&request.method) {
        faults.push(format!("{} is not how it is called", request.method));
    }
    if request.method == "POST" {
        faults.extend(post_headers(request));
        faults.extend(body(endpoint, &request.json()));
    }
    faults
}

/// The bearer token, when there is one.
pub(super) fn bearer(request: &Request) -> Option<&str> {
    request.header("authorization")?.strip_prefix("Bearer ")
}

/// The number in `X-WECHAT-UIN`: base64 of the decimal text of a u32.
pub(super) fn uin(request: &Request) -> Option<u32> {
    let text = STANDARD.decode(request.header("x-wechat-uin")?).ok()?;
    let text = String::from_utf8(text).ok()?;
    // The number's own text: neither signs nor leading zeros.
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

fn app_headers(request: &Request) -> Vec<String> {
    let mut faults = Vec::new();
    if request.header("ilink-app-id") != Some("bot") {
        faults.push("iLink-App-Id is not bot".to_owned());
    }
    let version = request.header("ilink-app-clientversion").map(str::parse::<u32>);
    if !matches!(version, Some(Ok(1..))) {
        faults.push("iLink-App-ClientVersion is no positive decimal number".to_owned());
    }
    faults
}

fn post_headers(request: &Request) -> Vec<String> {
    let mut faults = Vec::new();
    if request.header("content-type").is_none_or(|value| !value.starts_with("application/json")) {
        faults.push("Content-Type is not application/json".to_owned());
    }
    if request.header("authorizationtype") != Some("ilink_bot_token") {
        faults.push("AuthorizationType is not ilink_bot_token".to_owned());
    }
    if uin(request).is_none() {
        faults.push("X-WECHAT-UIN is not base64 of the decimal text of a u32".to_owned());
    }
    faults
}

fn body(endpoint: Endpoint, body: &Value) -> Option<String> {
    if !body.is_object() {
        return Some("the body is no JSON object".to_owned());
    }
    let version = body["base_info"]["channel_version"].as_str().unwrap_or_default();
    let wanted = endpoint != Endpoint::GetBotQrcode;
    (wanted && version.is_empty()).then(|| "base_info.channel_version is missing".to_owned())
}
