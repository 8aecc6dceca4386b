//! The platform as a client meets it.

mod support;

use std::time::Duration;

use scv_simulators::ilink::{Endpoint, Fault, Ilink, OWNER, SecondSend};
use serde_json::{Value, json};
use support::{Client, LONG, call, get, poll_body, send_body};

/// A good client of one platform.
struct Bot {
    client: Client,
    base: String,
    token: String,
    uin: u32,
}

impl Bot {
    fn of(platform: &Ilink) -> Self {
        let token = platform.credentials().token;
        Self { client: Client::new(), base: platform.base_url(), token, uin: 0 }
    }

    fn request(
        &mut self,
        name: &str,
        body: Value,
    ) -> http::Request<http_body_util::Full<bytes::Bytes>> {
        self.uin += 1;
        call(format!("{}/ilink/bot/{name}", self.base), &self.token, self.uin, body)
    }

    async fn post(&mut self, name: &str, body: Value) -> Option<(u16, Value)> {
        let request = self.request(name, body);
        self.client.json(request).await
    }

    async fn poll(&mut self, cursor: &str) -> Value {
        self.post("getupdates", poll_body(cursor)).await.expect("an answer").1
    }

    async fn status(&self, handle: &str) -> Value {
        let url = format!("{}/ilink/bot/get_qrcode_status?qrcode={handle}", self.base);
        self.client.json(get(url)).await.expect("an answer").1
    }
}

#[tokio::test]
async fn a_good_client_signs_in_and_talks() {
    let platform = Ilink::start().expect("a port");
    let mut bot = Bot::of(&platform);
    let url = format!("{}/ilink/bot/get_bot_qrcode?bot_type=3", bot.base);
    let (_, drawn) = bot.client.json(get(url)).await.expect("a code");
    let handle = drawn["qrcode"].as_str().expect("a handle");
    assert!(drawn["qrcode_img_content"].as_str().is_some_and(|link| link.starts_with("https://")));
    platform.scan();
    assert_eq!(bot.status(handle).await["status"], "scaned");
    platform.approve();
    let confirmed = bot.status(handle).await;
    assert_eq!(confirmed["status"], "confirmed");
    assert_eq!(confirmed["baseurl"], platform.base_url());
    assert_eq!(confirmed["ilink_user_id"], OWNER);
    bot.token = confirmed["bot_token"].as_str().expect("a token").to_owned();

    let id = platform.push_message(OWNER, "hello");
    let batch = bot.poll("").await;
    assert_eq!(batch["msgs"][0]["message_id"].to_string(), id);
    assert_eq!(batch["msgs"][0]["item_list"][0]["text_item"]["text"], "hello");
    let token = batch["msgs"][0]["context_token"].as_str().expect("a token").to_owned();
    let answer = bot.post("sendmessage", send_body(OWNER, "c1", &token, "hi")).await;
    assert!(answer.expect("an answer").1["message_id"].is_u64());

    assert_eq!(platform.visible(OWNER), ["hi"]);
    assert_eq!(platform.sent()[0].context_token.as_deref(), Some(token.as_str()));
    assert_eq!(platform.cursor_seen().as_deref(), Some(""));
    for name in ["getconfig", "sendtyping", "msg/notifystart", "msg/notifystop"] {
        let base_info = json!({"base_info": {"channel_version": "1.0.0"}});
        assert_eq!(bot.post(name, base_info).await.expect("an answer").1["ret"], 0);
    }
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_held_poll_ends_with_a_message_or_with_its_client() {
    let platform = Ilink::start().expect("a port");
    let mut bot = Bot::of(&platform);
    let news = async {
        platform.wait_held(true, LONG).await.expect("held");
        platform.push_message(OWNER, "now");
    };
    let (batch, ()) = tokio::join!(bot.poll("buf-0"), news);
    assert_eq!(batch["get_updates_buf"], "buf-1");
    platform.wait_held(false, LONG).await.expect("answered");

    tokio::select! {
        _ = bot.poll("buf-1") => panic!("there is no news"),
        held = platform.wait_held(true, LONG) => held.expect("held"),
    }
    platform.wait_held(false, LONG).await.expect("given up by the client");
    platform.push_message(OWNER, "not lost with the dead poll");
    assert_eq!(bot.poll("buf-1").await["msgs"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_poll_without_news_ends_after_its_hold() {
    let platform = Ilink::start().expect("a port");
    platform.hold(Duration::from_millis(20));
    let answer = Bot::of(&platform).poll("").await;
    assert_eq!(answer["msgs"], json!([]));
    assert_eq!(answer["longpolling_timeout_ms"], 20);
}

#[tokio::test]
async fn scripts_come_first_and_stay_as_written() {
    let platform = Ilink::start().expect("a port");
    let raw = r#"{"msgs": [18446744073709551615, {"odd" :1.0}], "get_updates_buf": "b1"}"#;
    platform.push_message(OWNER, "later");
    platform.push_poll(raw);
    platform.push_send(503, "<html>");
    let mut bot = Bot::of(&platform);
    let request = bot.request("getupdates", poll_body(""));
    assert_eq!(bot.client.text(request).await, Some((200, raw.to_owned())));
    assert_eq!(bot.poll("b1").await["msgs"].as_array().map(Vec::len), Some(1));
    let request = bot.request("sendmessage", send_body(OWNER, "c1", "ctx-1", "hi"));
    assert_eq!(bot.client.text(request).await, Some((503, "<html>".to_owned())));
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn every_missing_header_is_noticed() {
    for (header, value) in [
        ("content-type", "text/plain"),
        ("authorizationtype", "other"),
        ("x-wechat-uin", "AQIDBA=="),
        ("x-wechat-uin", "MDE="),
        ("ilink-app-id", "cat"),
        ("ilink-app-clientversion", "1.0.0"),
        ("authorization", "Bearer guessed"),
    ] {
        let platform = Ilink::start().expect("a port");
        let mut bot = Bot::of(&platform);
        let mut request = bot.request("sendmessage", send_body(OWNER, "c1", "ctx-1", "hi"));
        request.headers_mut().insert(header, value.parse().expect("a value"));
        bot.client.json(request).await.expect("an answer");
        assert_eq!(platform.violations().len(), 1, "{header}: {:?}", platform.violations());
    }
}

#[tokio::test]
async fn repeated_numbers_missing_versions_and_wrong_paths_are_noticed() {
    let platform = Ilink::start().expect("a port");
    let mut bot = Bot::of(&platform);
    platform.push_poll("{}");
    bot.poll("").await;
    bot.uin = 0;
    bot.post("sendtyping", json!({})).await.expect("an answer");
    bot.post("nothing", json!({})).await.expect("an answer");
    assert_eq!(
        platform.violations(),
        [
            "sendtyping: base_info.channel_version is missing",
            "sendtyping: X-WECHAT-UIN was used before",
            "a path that the platform does not have was called",
        ]
    );
}

#[tokio::test]
async fn signing_out_ends_a_held_poll_and_a_new_sign_in_voids_the_token() {
    let platform = Ilink::start().expect("a port");
    let mut bot = Bot::of(&platform);
    let out = async {
        platform.wait_held(true, LONG).await.expect("held");
        platform.sign_out(true);
    };
    let (answer, ()) = tokio::join!(bot.poll(""), out);
    assert_eq!(answer["errcode"], -14);
    platform.sign_out(false);
    platform.push_poll("{}");
    assert_eq!(bot.poll("").await, json!({}));
    platform.approve();
    assert_eq!(bot.poll("").await["errcode"], -14, "the old token");
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_hangup_is_before_or_after_the_deed() {
    let platform = Ilink::start().expect("a port");
    let mut bot = Bot::of(&platform);
    let body = send_body(OWNER, "c1", "ctx-1", "once");
    platform.fault_next(Endpoint::SendMessage, Fault::HangupBefore);
    platform.fault_next(Endpoint::SendMessage, Fault::HangupAfter);
    platform.fault_next(Endpoint::SendMessage, Fault::Answer(502, String::new()));
    assert_eq!(bot.post("sendmessage", body.clone()).await, None);
    assert_eq!(platform.visible(OWNER), [""; 0]);
    assert_eq!(bot.post("sendmessage", body.clone()).await, None);
    assert_eq!(platform.visible(OWNER), ["once"]);
    assert_eq!(bot.post("sendmessage", body.clone()).await.expect("an answer").0, 502);
    assert_eq!(bot.post("sendmessage", body).await.expect("an answer").0, 200);
    assert_eq!(platform.visible(OWNER), ["once"], "the same client id");
    assert_eq!(platform.wait_sends(2, LONG).await.expect("two were looked at").len(), 2);
    platform.outage(true);
    assert_eq!(bot.post("sendtyping", json!({})).await, None);
}

#[tokio::test]
async fn a_second_send_on_a_token_is_shown_only_when_told() {
    let platform = Ilink::start().expect("a port");
    let mut bot = Bot::of(&platform);
    for (client_id, text) in [("c1", "first"), ("c2", "dropped"), ("c3", "shown")] {
        if text == "shown" {
            platform.second_send(SecondSend::Shown);
        }
        let body = send_body(OWNER, client_id, "ctx-1", text);
        assert_eq!(bot.post("sendmessage", body).await.expect("an answer").0, 200);
    }
    assert_eq!(platform.visible(OWNER), ["first", "shown"]);
}

#[tokio::test]
async fn a_wait_that_fails_says_what_was_there() {
    let platform = Ilink::start().expect("a port");
    let error = platform.wait_polls(1, Duration::from_millis(10)).await.expect_err("no client");
    let text = error.to_string();
    assert!(text.contains("1 calls of getupdates") && text.contains("0 polls"), "{text}");
}
