//! What to do about each answer of a sign-in by scan. No I/O, no clock.

use std::time::Duration;

use scv_plugin_api::wire::Fault;

use super::poll::{Confirmed, Poll};
use crate::{
    brand::Brand,
    credentials::Credentials,
    limits::{LOGIN_SLOWER_SECONDS, LOGIN_SLOWEST_SECONDS},
};

/// A sign-in that goes on.
pub(crate) struct SignIn {
    /// Who is asked.
    host: Brand,
    interval_seconds: u64,
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Ask again after the interval.
    Wait,
    /// Done.
    SignedIn(Credentials),
    /// It cannot go on.
    Fail(Fault),
}

impl SignIn {
    /// A sign-in whose code was just given out by `host`.
    pub(crate) const fn new(host: Brand, interval_seconds: u64) -> Self {
        Self { host, interval_seconds }
    }

    /// Who is asked next.
    pub(crate) const fn host(&self) -> Brand {
        self.host
    }

    /// How long to wait before that.
    pub(crate) const fn interval(&self) -> Duration {
        Duration::from_secs(self.interval_seconds)
    }

    /// What to do about an answer.
    pub(crate) fn step(&mut self, poll: Poll) -> Step {
        match poll {
            Poll::NoNews => Step::Wait,
            Poll::Pending(brand) => {
                self.follow(brand);
                Step::Wait
            }
            Poll::SlowDown => {
                let slower = self.interval_seconds + LOGIN_SLOWER_SECONDS;
                self.interval_seconds = slower.min(LOGIN_SLOWEST_SECONDS);
                Step::Wait
            }
            Poll::Denied => fail("the sign-in was declined; start it again to ask once more"),
            Poll::Expired => fail("the code has expired; start the sign-in again"),
            Poll::Refused(code) => Step::Fail(
                Fault::other(format!("the sign-in ended with the error {code}; start it again"))
                    .with_code(code),
            ),
            Poll::Confirmed(confirmed) => self.confirm(confirmed),
        }
    }

    /// Feishu's host tells that the person is Lark's, but only Lark's gives out the secret: the
    /// question moves there, once.
    fn follow(&mut self, brand: Option<Brand>) -> bool {
        let moves = brand == Some(Brand::Lark) && self.host == Brand::Feishu;
        if moves {
            self.host = Brand::Lark;
        }
        moves
    }

    fn confirm(&mut self, confirmed: Confirmed) -> Step {
        let Confirmed { app_id, secret, owner, brand } = confirmed;
        let Some(secret) = secret else {
            return match self.follow(brand) {
                true => Step::Wait,
                false => fail("the sign-in gave an app without its secret; start it again"),
            };
        };
        match Credentials::new(app_id, secret, brand.unwrap_or(self.host), owner) {
            Some(credentials) => Step::SignedIn(credentials),
            None => fail("the sign-in gave credentials of another form; start it again"),
        }
    }
}

fn fail(text: &str) -> Step {
    Step::Fail(Fault::other(text))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::login::poll::read_poll;

    fn begin() -> SignIn {
        SignIn::new(Brand::Feishu, 5)
    }

    fn error(sign_in: &mut SignIn, error: &str) -> Step {
        sign_in.step(read_poll(400, &json!({"error": error, "error_description": "", "code": 1})))
    }

    fn success(brand: &str, secret: Option<&str>) -> Value {
        let mut answer = json!({
            "client_id": "cli_a1", "user_info": {"open_id": "ou_1", "tenant_brand": brand},
        });
        if let Some(secret) = secret {
            answer["client_secret"] = json!(secret);
        }
        answer
    }

    #[test]
    fn pending_as_http_400_waits() {
        let mut sign_in = begin();
        assert!(matches!(error(&mut sign_in, "authorization_pending"), Step::Wait));
        let done = sign_in.step(read_poll(200, &success("feishu", Some("s"))));
        let Step::SignedIn(credentials) = done else { panic!("{done:?}") };
        assert_eq!(credentials.brand, Brand::Feishu);
        assert_eq!(credentials.owner_open_id.as_deref(), Some("ou_1"));
    }

    #[test]
    fn slow_down_adds_five_seconds_up_to_a_minute() {
        let mut sign_in = begin();
        let mut seen = Vec::new();
        for _ in 0..13 {
            assert!(matches!(error(&mut sign_in, "slow_down"), Step::Wait));
            seen.push(sign_in.interval().as_secs());
        }
        assert_eq!(seen[..3], [10, 15, 20]);
        assert_eq!(seen[10..], [60, 60, 60]);
    }

    #[test]
    fn a_failed_poll_is_not_the_end() {
        let mut sign_in = begin();
        for (status, body) in [
            (502, Value::Null),
            (503, json!({"error": "server_error"})),
            (200, Value::Null),
            (200, json!([])),
            (400, json!({})),
        ] {
            assert!(matches!(sign_in.step(read_poll(status, &body)), Step::Wait), "{status}");
        }
    }

    #[test]
    fn a_lark_tenant_moves_once() {
        let mut sign_in = begin();
        assert!(matches!(sign_in.step(read_poll(200, &success("lark", None))), Step::Wait));
        assert_eq!(sign_in.host(), Brand::Lark);
        let done = sign_in.step(read_poll(200, &success("lark", Some("s"))));
        let Step::SignedIn(credentials) = done else { panic!("{done:?}") };
        assert_eq!(credentials.brand, Brand::Lark);
        assert!(matches!(sign_in.step(read_poll(200, &success("lark", None))), Step::Fail(_)));
        assert!(matches!(begin().step(read_poll(200, &success("feishu", None))), Step::Fail(_)));
    }

    #[test]
    fn the_end_is_said_by_its_code_only() {
        for code in ["access_denied", "expired_token", "invalid_grant"] {
            assert!(matches!(error(&mut begin(), code), Step::Fail(_)), "{code}");
        }
        let Step::Fail(fault) = error(&mut begin(), "unsupported_archetype") else { panic!() };
        assert!(fault.message.contains("unsupported_archetype"));
        let Step::Fail(fault) = error(&mut begin(), "Secret hunter22!") else { panic!() };
        assert!(!fault.message.contains("hunter22"));
    }
}
