//! Everything that the platform knows, and how it takes a request.

use std::collections::HashSet;

use super::endpoint::Endpoint;
use super::headers;
use super::inbox::{Answer, Inbox};
use super::outbox::Outbox;
use super::script::{BOT, Credentials, Fault, OWNER};
use super::sign_in::SignIn;
use crate::request::Request;

pub(super) const SIGNED_OUT: &str = r#"{"errcode":-14,"errmsg":"session timeout"}"#;

pub(super) struct State {
    pub(super) base_url: String,
    pub(super) requests: Vec<(Endpoint, Request)>,
    pub(super) violations: Vec<String>,
    pub(super) faults: Vec<(Endpoint, Fault)>,
    /// Every connection is closed without an answer.
    pub(super) outage: bool,
    /// The newest token does not count any more.
    pub(super) signed_out: bool,
    /// How many tokens were handed out; the newest one counts.
    tokens: usize,
    uins: HashSet<u32>,
    pub(super) sign_in: SignIn,
    pub(super) inbox: Inbox,
    pub(super) outbox: Outbox,
}

/// What happens with a request.
pub(super) enum Arrival {
    /// It is answered like this, or not at all, and nothing else happens.
    Settled(Option<Answer>),
    /// It is served; the fault comes on top.
    Serve(Endpoint, Option<Fault>),
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            base_url: String::new(),
            requests: Vec::new(),
            violations: Vec::new(),
            faults: Vec::new(),
            outage: false,
            signed_out: false,
            tokens: 1,
            uins: HashSet::new(),
            sign_in: SignIn::default(),
            inbox: Inbox::new(),
            outbox: Outbox::default(),
        }
    }

    pub(super) fn credentials(&self) -> Credentials {
        Credentials {
            token: token_of(self.tokens),
            base_url: self.base_url.clone(),
            bot_id: BOT.to_owned(),
            user_id: OWNER.to_owned(),
        }
    }

    /// The person confirms a sign-in: there is a new token, the old one is void.
    pub(super) fn approve(&mut self) {
        self.tokens += 1;
        self.signed_out = false;
        self.sign_in.approve();
    }

    pub(super) fn count(&self, endpoint: Endpoint) -> usize {
        self.requests.iter().filter(|(seen, _)| *seen == endpoint).count()
    }

    pub(super) fn arrive(&mut self, request: &Request) -> Arrival {
        if self.outage {
            return Arrival::Settled(None);
        }
        let Some(endpoint) = Endpoint::of_path(&request.path) else {
            self.violations.push("a path that the platform does not have was called".to_owned());
            return Arrival::Settled(Some((404, "{}".to_owned())));
        };
        self.requests.push((endpoint, request.clone()));
        self.judge(endpoint, request);
        let fault = self.take_fault(endpoint);
        match fault {
            Some(Fault::HangupBefore) => return Arrival::Settled(None),
            Some(Fault::Answer(status, body)) => return Arrival::Settled(Some((status, body))),
            Some(Fault::HangupAfter | Fault::Delay(_)) | None => {}
        }
        if request.method == "POST" && !request.json().is_object() {
            return Arrival::Settled(Some((400, r#"{"ret":-1,"errmsg":"bad json"}"#.to_owned())));
        }
        if !endpoint.is_sign_in() && !self.is_signed_in(endpoint, request) {
            return Arrival::Settled(Some((200, SIGNED_OUT.to_owned())));
        }
        Arrival::Serve(endpoint, fault)
    }

    pub(super) fn violation(&mut self, endpoint: Endpoint, what: &str) {
        self.violations.push(format!("{}: {what}", endpoint.name()));
    }

    fn judge(&mut self, endpoint: Endpoint, request: &Request) {
        for fault in headers::faults(endpoint, request) {
            self.violation(endpoint, &fault);
        }
        let is_new = headers::uin(request).is_none_or(|uin| self.uins.insert(uin));
        if !is_new {
            self.violation(endpoint, "X-WECHAT-UIN was used before");
        }
    }

    /// A token that was handed out once and is void is nobody's fault; any other is.
    fn is_signed_in(&mut self, endpoint: Endpoint, request: &Request) -> bool {
        let token = headers::bearer(request);
        let known = (1..=self.tokens).find(|number| token == Some(token_of(*number).as_str()));
        if known.is_none() {
            self.violation(endpoint, "the bearer token was never handed out");
        }
        known == Some(self.tokens) && !self.signed_out
    }

    fn take_fault(&mut self, endpoint: Endpoint) -> Option<Fault> {
        let at = self.faults.iter().position(|(wanted, _)| *wanted == endpoint)?;
        Some(self.faults.remove(at).1)
    }
}

fn token_of(number: usize) -> String {
    format!("abcdef012345@im.bot:5ec2e7{number:010x}")
}
