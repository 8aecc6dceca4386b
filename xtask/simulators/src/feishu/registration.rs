//! Signing in by scan: the device flow, from `begin` to the app's secret.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::script::{APP, Answer, Brand, OWNER, SECRET};

/// How the registration behaves.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegistrationKnobs {
    /// Seconds that a code lives; the answer to `begin` says so.
    pub expires_in: u64,
    /// Seconds between two polls; the answer to `begin` says so. Five on the live platform.
    pub interval: u64,
    /// What the next polls are refused with, in order, as HTTP 400.
    pub errors: VecDeque<String>,
    /// How many polls fail as transport: every other one is a gateway's page, the rest are cut.
    pub flaky: u64,
    /// The edition that the person's tenant belongs to.
    #[serde(alias = "tenant_brand")]
    pub brand: Brand,
    /// What `init` says that an app may authenticate with.
    pub supported_auth_methods: Vec<String>,
    /// Keys that replace those in the answer to `begin`; null removes one.
    pub begin: Map<String, Value>,
}

impl Default for RegistrationKnobs {
    fn default() -> Self {
        Self {
            expires_in: 3600,
            interval: 1,
            errors: VecDeque::new(),
            flaky: 0,
            brand: Brand::Feishu,
            supported_auth_methods: vec!["client_secret".to_owned(), "private_key_jwt".to_owned()],
            begin: Map::new(),
        }
    }
}

/// What the person did with the newest code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Person {
    #[default]
    Waits,
    Approved,
    Denied,
}

#[derive(Default)]
pub(super) struct Registration {
    pub(super) knobs: RegistrationKnobs,
    person: Person,
    /// The newest code: where it was minted, and until when it lives.
    code: Option<(Brand, Instant)>,
    codes: usize,
    /// When the polls came.
    pub(super) polls: Vec<Instant>,
}

/// An answer, a cut connection (none), and what was wrong with the call.
pub(super) type Outcome = (Option<Answer>, Option<String>);

impl Registration {
    pub(super) fn approve(&mut self) {
        self.person = Person::Approved;
    }

    pub(super) fn deny(&mut self) {
        self.person = Person::Denied;
    }

    pub(super) fn call(&mut self, host: Brand, form: &[(String, String)]) -> Outcome {
        let value = |name: &str| {
            let found = form.iter().find(|(key, _)| key == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        match value("action") {
            "init" => (Some(self.init()), None),
            "begin" => {
                let wanted = [
                    ("archetype", "PersonalAgent"),
                    ("auth_method", "client_secret"),
                    ("request_user_info", "open_id tenant_brand"),
                ];
                let wrong = wanted.iter().find(|(name, wanted)| value(name) != *wanted);
                let fault = wrong.map(|(name, wanted)| format!("begin: {name} is not {wanted}"));
                (Some(self.begin(host)), fault)
            }
            "poll" => self.poll(host, value("device_code")),
            other => (
                Some(error("invalid_request")),
                Some(format!("registration: there is no action {other:?}")),
            ),
        }
    }

    fn init(&self) -> Answer {
        let methods = &self.knobs.supported_auth_methods;
        Answer::json(200, &json!({"nonce": "sim-nonce", "supported_auth_methods": methods}))
    }

    fn begin(&mut self, host: Brand) -> Answer {
        self.codes += 1;
        let life = Duration::from_secs(self.knobs.expires_in);
        self.code = Some((host, Instant::now() + life));
        let (domain, user_code) = (host.domain(), format!("SIMU-{:04}", self.codes));
        let page = format!("https://open.{domain}/page/launcher");
        let mut answer = json!({
            "device_code": self.device_code(),
            "user_code": user_code,
            "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={user_code}"),
            "expires_in": self.knobs.expires_in,
            "interval": self.knobs.interval,
        });
        for (key, value) in &self.knobs.begin {
            answer[key] = value.clone();
        }
        if let Some(answer) = answer.as_object_mut() {
            answer.retain(|_, value| !value.is_null());
        }
        Answer::json(200, &answer)
    }

    fn poll(&mut self, host: Brand, device_code: &str) -> Outcome {
        self.polls.push(Instant::now());
        if self.knobs.flaky > 0 {
            self.knobs.flaky -= 1;
            let page = Answer {
                status: 502,
                is_json: false,
                headers: Vec::new(),
                body: "<html>Bad Gateway</html>".to_owned(),
            };
            return (Some(page).filter(|_| self.knobs.flaky.is_multiple_of(2)), None);
        }
        if let Some(scripted) = self.knobs.errors.pop_front() {
            return (Some(error(&scripted)), None);
        }
        let Some((minted, end)) = self.code.filter(|_| device_code == self.device_code()) else {
            let fault = "poll: the device code was never handed out".to_owned();
            return (Some(error("invalid_grant")), Some(fault));
        };
        // The page refuses a code of the international edition at once (reports of 2026).
        if minted == Brand::Lark || Instant::now() >= end {
            return (Some(error("expired_token")), None);
        }
        let answer = match self.person {
            Person::Waits => error("authorization_pending"),
            Person::Denied => error("access_denied"),
            Person::Approved => success(self.knobs.brand, host),
        };
        (Some(answer), None)
    }

    fn device_code(&self) -> String {
        format!("v1:eyJzaW0iOjF9.sim-device-{}", self.codes)
    }
}

fn error(name: &str) -> Answer {
    // The only number that was seen is that of "pending".
    let code = if name == "authorization_pending" { 20094 } else { 20000 };
    Answer::json(400, &json!({"error": name, "error_description": "", "code": code}))
}

/// The other edition's host knows the person, and not the secret.
fn success(tenant: Brand, host: Brand) -> Answer {
    let user = json!({"open_id": OWNER, "tenant_brand": tenant.name()});
    let mut answer = json!({"client_id": APP, "user_info": user});
    if tenant == host {
        answer["client_secret"] = SECRET.into();
    }
    Answer::json(200, &answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn poll(registration: &mut Registration, host: Brand) -> Value {
        let code = registration.device_code();
        let (answer, fault) =
            registration.call(host, &form(&[("action", "poll"), ("device_code", &code)]));
        assert_eq!(fault, None);
        serde_json::from_str(&answer.expect("an answer").body).expect("JSON")
    }

    #[test]
    fn the_lark_secret_is_only_on_the_lark_host() {
        let mut registration = Registration::default();
        registration.knobs.brand = Brand::Lark;
        registration.call(Brand::Feishu, &form(&[("action", "begin")]));
        assert_eq!(poll(&mut registration, Brand::Feishu)["error"], "authorization_pending");
        registration.approve();
        let first = poll(&mut registration, Brand::Feishu);
        assert_eq!(first["user_info"]["tenant_brand"], "lark");
        assert!(first["client_secret"].is_null());
        assert_eq!(poll(&mut registration, Brand::Lark)["client_secret"], SECRET);
    }

    #[test]
    fn a_code_of_the_lark_host_is_dead_at_once() {
        let mut registration = Registration::default();
        registration.approve();
        registration.call(Brand::Lark, &form(&[("action", "begin")]));
        assert_eq!(poll(&mut registration, Brand::Lark)["error"], "expired_token");
    }
}
