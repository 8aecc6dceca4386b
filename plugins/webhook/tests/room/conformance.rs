//! The conformance kit over this plugin.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicI64, AtomicU32, Ordering},
    time::Duration,
};

use scv_channel_webhook::Webhook;
use scv_plugin_api::{
    testkit::PlatformScript,
    wire::{LoginEventBody, PromptAnswer},
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};

use crate::client::{Call, Callback, SECRET, now, own_address};

scv_plugin_api::conformance!(Webhook, Script);

struct Script {
    address: String,
    callback: Callback,
    ids: AtomicU32,
    ahead_ms: AtomicI64,
    posts: mpsc::Sender<String>,
}

impl PlatformScript for Script {
    async fn start() -> Self {
        let address = own_address();
        let (posts, mut queue) = mpsc::channel::<String>(64);
        let to = address.clone();
        // As a careful program does it: one after the other, and again until it is taken.
        tokio::spawn(async move {
            while let Some(body) = queue.recv().await {
                while Call::new(&to, "POST /v1/messages", &body)
                    .send()
                    .await
                    .is_none_or(|a| a.0 != 202)
                {
                    sleep(Duration::from_millis(20)).await;
                }
            }
        });
        let callback = Callback::start().await;
        Self { address, callback, ids: AtomicU32::new(0), ahead_ms: AtomicI64::new(0), posts }
    }

    fn credentials(&self) -> Value {
        json!({
            "listen": self.address,
            "secret": SECRET,
            "callback": self.callback.url,
            "owner": "ann",
        })
    }

    fn secrets(&self) -> Vec<String> {
        vec![SECRET.into()]
    }

    async fn inbound(&self, texts: &[String]) -> Vec<String> {
        let id = || format!("id-{}", self.ids.fetch_add(1, Ordering::Relaxed));
        let ids: Vec<String> = texts.iter().map(|_| id()).collect();
        let now_ms = (now() * 1000).saturating_add_signed(self.ahead_ms.load(Ordering::Relaxed));
        let message =
            |(id, text)| json!({ "id": id, "sender": "ann", "text": text, "sent_at_ms": now_ms });
        let messages: Vec<Value> = ids.iter().zip(texts).map(message).collect();
        let _ = self.posts.send(json!({ "messages": messages }).to_string()).await;
        ids
    }

    async fn shown(&self) -> Vec<String> {
        self.callback.state.lock().unwrap().shown.clone()
    }

    fn refuse_next(&self) -> bool {
        self.callback.state.lock().unwrap().statuses.push_back(400);
        true
    }

    fn fail_next(&self) -> bool {
        self.callback.state.lock().unwrap().statuses.push_back(503);
        true
    }

    fn knows_client_ids(&self) -> bool {
        true
    }

    /// Times of messages only: a request that is signed for another time is refused, which is
    /// what its signature is for.
    fn jump_clock(&self, by_ms: i64) -> bool {
        self.ahead_ms.fetch_add(by_ms, Ordering::Relaxed);
        true
    }

    fn login_options(&self) -> BTreeMap<String, String> {
        [("listen", self.address.clone()), ("callback", self.callback.url.clone())]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    fn person(&self, event: &LoginEventBody) -> PromptAnswer {
        let asked = matches!(event, LoginEventBody::Prompt { secret: true, .. });
        PromptAnswer { answer: asked.then(|| SECRET.to_owned().into()), cancelled: false }
    }

    fn excluded() -> &'static [(&'static str, &'static str)] {
        &[("bad-credentials", "the plugin is the one who judges, not a platform")]
    }
}
