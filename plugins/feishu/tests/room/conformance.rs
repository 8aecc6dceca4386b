//! The conformance kit over this plugin and the simulated platform.

use scv_channel_feishu::Feishu as Plugin;
use scv_plugin_api::{
    testkit::PlatformScript,
    wire::{CreateConfig, LoginEventBody, PromptAnswer},
};
use scv_simulators::{
    Feishu,
    feishu::{OWNER, P2P, RegistrationKnobs, SECRET},
};
use serde_json::{Value, json};

use crate::account::{config, platform, saved, script};

scv_plugin_api::conformance!(Plugin, Script);

struct Script(Feishu);

impl PlatformScript for Script {
    async fn start() -> Self {
        Self(platform())
    }

    fn config(&self) -> CreateConfig {
        config(&self.0)
    }

    fn credentials(&self) -> Value {
        saved(&self.0)
    }

    fn secrets(&self) -> Vec<String> {
        vec![SECRET.to_owned(), "access_key".to_owned(), "ticket=".to_owned()]
    }

    fn bad_credentials(&self) -> Option<Value> {
        let mut credentials = self.credentials();
        credentials["app_secret"] = json!("another");
        Some(credentials)
    }

    fn bad_checkpoint(&self) -> Option<String> {
        Some("no checkpoint".to_owned())
    }

    async fn inbound(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.0.push_message(OWNER, text)).collect()
    }

    async fn shown(&self) -> Vec<String> {
        self.0.visible(P2P)
    }

    fn cut(&self) -> bool {
        self.0.cut();
        true
    }

    fn refuse_next(&self) -> bool {
        script(&self.0, json!({"path": "/reply$", "http": 400, "code": 230028}));
        true
    }

    fn fail_next(&self) -> bool {
        script(&self.0, json!({"path": "/reply$", "http": 503}));
        true
    }

    fn knows_client_ids(&self) -> bool {
        true
    }

    fn jump_clock(&self, by_ms: i64) -> bool {
        self.0.jump_clock(by_ms);
        true
    }

    fn person(&self, event: &LoginEventBody) -> PromptAnswer {
        if matches!(event, LoginEventBody::Qr { .. }) {
            self.0.approve();
        }
        PromptAnswer::default()
    }

    fn expire_logins(&self) -> bool {
        self.0.registration(RegistrationKnobs { expires_in: 0, ..RegistrationKnobs::default() });
        true
    }

    fn excluded() -> &'static [(&'static str, &'static str)] {
        &[
            ("unacked-again", "an event comes again after 15 s of the platform's own clock"),
            (
                "acked-stays-away",
                "histories are asked for by whole seconds; the host knows the ids",
            ),
        ]
    }
}
