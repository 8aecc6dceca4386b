//! Tenant tokens on the virtual clock.

use serde_json::{Value, json};

use super::ids::Ids;
use super::script::{APP, Answer, SECRET};
use crate::limits;
use crate::request::Request;

#[derive(Default)]
pub(super) struct Tokens {
    /// Each with the moment of its end on the virtual clock.
    issued: Vec<(String, u64)>,
}

impl Tokens {
    pub(super) fn issue(&mut self, body: &Value, now_ms: u64, ids: &mut Ids) -> Answer {
        if body["app_id"] != APP {
            return Answer::refusal(10_003, "invalid param");
        }
        if body["app_secret"] != SECRET {
            return Answer::refusal(10_014, "app secret invalid");
        }
        let renew_at = now_ms + limits::TOKEN_RENEWAL_SECONDS * 1000;
        if self.issued.last().is_none_or(|(_, end)| *end < renew_at) {
            let end = now_ms + limits::TOKEN_LIFE_SECONDS * 1000;
            self.issued.push((format!("t-{}", ids.hex()), end));
        }
        let (token, end) = self.issued.last().cloned().unwrap_or_default();
        let expire = end.saturating_sub(now_ms) / 1000;
        let answer =
            json!({"code": 0, "msg": "ok", "tenant_access_token": token, "expire": expire});
        Answer::json(200, &answer)
    }

    /// None of the tokens that were handed out counts any more.
    pub(super) fn void(&mut self) {
        for (_, end) in &mut self.issued {
            *end = 0;
        }
    }

    /// What a call is refused with whose token does not count.
    pub(super) fn refusal(&self, request: &Request, now_ms: u64) -> Option<Answer> {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let Some(token) = token else {
            return Some(Answer::refusal(99_991_661, "Missing access token for authorization."));
        };
        let counts = self.issued.iter().any(|(issued, end)| issued == token && *end > now_ms);
        (!counts).then(|| Answer::refusal(99_991_663, "Invalid access token for authorization."))
    }
}
