//! The conformance kit over this plugin and the simulated platform.

use std::collections::BTreeMap;

use scv_channel_wechat::WeChat;
use scv_plugin_api::{
    testkit::PlatformScript,
    wire::{LoginEventBody, PromptAnswer},
};
use scv_simulators::{
    Ilink,
    ilink::{Endpoint, Fault, OWNER},
};
use serde_json::Value;

use crate::account::{platform, saved};

scv_plugin_api::conformance!(WeChat, Script);

struct Script(Ilink);

impl PlatformScript for Script {
    async fn start() -> Self {
        Self(platform())
    }

    fn credentials(&self) -> Value {
        saved(&self.0).into_inner()
    }

    fn secrets(&self) -> Vec<String> {
        vec![self.0.credentials().token]
    }

    fn bad_credentials(&self) -> Option<Value> {
        self.0.sign_out(true);
        Some(self.credentials())
    }

    async fn inbound(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.0.push_message(OWNER, text)).collect()
    }

    async fn shown(&self) -> Vec<String> {
        self.0.visible(OWNER)
    }

    fn cut(&self) -> bool {
        self.0.fault_next(Endpoint::GetUpdates, Fault::HangupAfter);
        true
    }

    fn refuse_next(&self) -> bool {
        self.0.push_send(200, r#"{"ret":-2,"errmsg":"no"}"#);
        true
    }

    fn fail_next(&self) -> bool {
        self.0.fault_next(Endpoint::SendMessage, Fault::Answer(503, String::new()));
        true
    }

    fn knows_client_ids(&self) -> bool {
        true
    }

    fn jump_clock(&self, by_ms: i64) -> bool {
        self.0.jump_clock(by_ms);
        true
    }

    fn login_options(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("login-url".to_owned(), self.0.base_url())])
    }

    fn person(&self, event: &LoginEventBody) -> PromptAnswer {
        if matches!(event, LoginEventBody::Qr { .. }) {
            self.0.approve();
        }
        PromptAnswer::default()
    }

    fn expire_logins(&self) -> bool {
        for _ in 0..10 {
            self.0.push_qr(r#"{"status":"expired"}"#);
        }
        true
    }
}
