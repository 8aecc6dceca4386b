//! One answer: status, code, and what else is in it. Refusals come with any HTTP status, so the
//! body is always read.

use scv_http::Response;
use scv_plugin_api::wire::Fault;
use serde_json::Value;

use super::codes::{Class, class};
use crate::limits::PAUSE_MAX_MS;

/// The platform's word for how long to wait, in seconds.
const RESET: &str = "x-ogw-ratelimit-reset";

/// What a call was answered.
pub(crate) struct Answer {
    status: u16,
    reset_ms: Option<u64>,
    /// Null when it is no JSON: a gateway spoke, not the platform.
    body: Value,
}

impl Answer {
    /// Reads an answer; nothing about it is an error here.
    pub(crate) fn read(response: &Response) -> Self {
        let header = response.header(RESET).or_else(|| response.header("retry-after"));
        Self {
            status: response.status,
            reset_ms: header.and_then(wait_ms),
            body: serde_json::from_slice(&response.body).unwrap_or_default(),
        }
    }

    pub(crate) const fn status(&self) -> u16 {
        self.status
    }

    /// The platform's own code; 0 is success.
    pub(crate) fn code(&self) -> Option<i64> {
        self.body["code"].as_i64()
    }

    pub(crate) fn class(&self) -> Class {
        class(self.status, self.code())
    }

    /// How long to wait, where the platform said so; at most an hour.
    pub(crate) const fn reset_ms(&self) -> Option<u64> {
        self.reset_ms
    }

    /// The whole body.
    pub(crate) const fn body(&self) -> &Value {
        &self.body
    }

    /// What most calls answer with.
    pub(crate) fn data(&self) -> &Value {
        &self.body["data"]
    }

    /// The code, or else the status, for logs and people. Never the platform's words: they quote
    /// what was sent.
    pub(crate) fn name(&self) -> String {
        match self.code() {
            Some(code) => code.to_string(),
            None => format!("http {}", self.status),
        }
    }

    /// The fault with this answer's code and wait.
    pub(crate) fn fault(&self, fault: Fault) -> Fault {
        let code = self.code().map(|code| code.to_string());
        Fault { code, after_ms: self.reset_ms, ..fault }
    }
}

fn wait_ms(header: &str) -> Option<u64> {
    let seconds: u64 = header.trim().parse().ok()?;
    Some(seconds.saturating_mul(1000).min(PAUSE_MAX_MS))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn answer(status: u16, body: &str) -> Answer {
        let body = body.to_owned().into();
        Answer::read(&Response { status, headers: http::HeaderMap::new(), body })
    }

    #[test]
    fn the_wait_is_bounded_and_in_seconds() {
        assert_eq!(wait_ms(" 7 "), Some(7_000));
        assert_eq!(wait_ms("99999999999999999999"), None);
        assert_eq!(wait_ms("18446744073709551615"), Some(PAUSE_MAX_MS));
        assert_eq!(wait_ms("soon"), None);
    }

    #[test]
    fn an_answer_is_named_by_its_code_and_never_by_its_words() {
        let refused = answer(400, r#"{"code":230028,"msg":"contains NAME"}"#);
        assert_eq!((refused.name().as_str(), refused.status()), ("230028", 400));
        assert_eq!(answer(502, "<html>").name(), "http 502");
        let fault = refused.fault(Fault::retry("later"));
        assert_eq!(fault.code.as_deref(), Some("230028"));
    }
}
