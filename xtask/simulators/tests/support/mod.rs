//! A plain client, so that the simulators are tested by something that is not scv.

// Each test file uses its own part of this.
#![allow(dead_code)]

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Hyper;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

/// Long enough for every machine; only a failing test waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub(crate) struct Client {
    hyper: Hyper<HttpConnector, Full<Bytes>>,
}

impl Client {
    pub(crate) fn new() -> Self {
        Self { hyper: Hyper::builder(TokioExecutor::new()).build_http() }
    }

    /// The response, or nothing when the connection was closed.
    pub(crate) async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
    ) -> Option<http::Response<Incoming>> {
        self.hyper.request(request).await.ok()
    }

    pub(crate) async fn json(&self, request: http::Request<Full<Bytes>>) -> Option<(u16, Value)> {
        let (status, text) = self.text(request).await?;
        Some((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    pub(crate) async fn text(&self, request: http::Request<Full<Bytes>>) -> Option<(u16, String)> {
        let response = self.send(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some((status, String::from_utf8(body.to_vec()).expect("UTF-8")))
    }
}

/// A call as a good client makes it; `uin` must be new each time.
pub(crate) fn call(url: String, token: &str, uin: u32, body: Value) -> http::Request<Full<Bytes>> {
    http::Request::post(url)
        .header("Content-Type", "application/json")
        .header("AuthorizationType", "ilink_bot_token")
        .header("Authorization", format!("Bearer {token}"))
        .header("X-WECHAT-UIN", STANDARD.encode(uin.to_string()))
        .header("iLink-App-Id", "bot")
        .header("iLink-App-ClientVersion", "65536")
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request")
}

pub(crate) fn get(url: String) -> http::Request<Full<Bytes>> {
    http::Request::get(url)
        .header("iLink-App-Id", "bot")
        .header("iLink-App-ClientVersion", "65536")
        .body(Full::default())
        .expect("a request")
}

pub(crate) fn poll_body(cursor: &str) -> Value {
    json!({"get_updates_buf": cursor, "base_info": {"channel_version": "1.0.0"}})
}

pub(crate) fn send_body(user: &str, client_id: &str, token: &str, text: &str) -> Value {
    json!({
        "msg": {
            "from_user_id": "", "to_user_id": user, "client_id": client_id, "message_type": 2,
            "message_state": 2, "context_token": token,
            "item_list": [{"type": 1, "text_item": {"text": text}}],
        },
        "base_info": {"channel_version": "1.0.0"},
    })
}
