//! The simulated Feishu platform, as a plain client sees it.

mod client;
mod vectors;

use std::time::Duration;

use anyhow::Result;
use client::{Client, LONG};
use scv_simulators::Feishu;
use scv_simulators::feishu::{Again, Brand, Frame, OWNER, P2P, Script};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

const OPEN: &str = "open.feishu.cn";

fn script(value: Value) -> Script {
    serde_json::from_value(value).expect("a script")
}

fn text(uuid: &str, text: &str) -> Value {
    json!({"msg_type": "text", "uuid": uuid, "content": json!({"text": text}).to_string()})
}

#[tokio::test]
async fn an_event_is_pushed_acknowledged_and_answered() -> Result<()> {
    let feishu = Feishu::start()?;
    let client = Client::of(&feishu)?;
    let mut socket = client.connect(&client.discover().await?).await?;
    feishu.wait_open(LONG).await?;
    let id = feishu.push_message(OWNER, "hello");
    let event = socket.frame().await?;
    let payload: Value = serde_json::from_slice(event.payload.as_deref().unwrap_or_default())?;
    assert_eq!(payload["event"]["message"]["message_id"], id.as_str());
    assert_eq!(feishu.unacknowledged(), 1);
    socket.acknowledge(&event, 200).await?;
    let acks = feishu.wait_acks(1, LONG).await?;
    assert_eq!((acks[0].id.as_str(), acks[0].code), (id.as_str(), Some(200)));
    let path = format!("/open-apis/im/v1/messages/{id}/reply");
    let (status, answer) = client.post(OPEN, &path, &text("u-1", "hi")).await?;
    assert_eq!(
        (status, &answer["code"], &answer["data"]["chat_id"]),
        (200, &0.into(), &P2P.into())
    );
    assert_eq!(feishu.visible(P2P), ["hi"]);
    assert_eq!(feishu.violations(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn what_is_not_acknowledged_comes_again_on_the_virtual_clock() -> Result<()> {
    let feishu = Feishu::start()?;
    let client = Client::of(&feishu)?;
    let mut socket = client.connect(&client.discover().await?).await?;
    let id = feishu.push_message(OWNER, "hello");
    let first = socket.frame().await?;
    feishu.advance(Duration::from_secs(15));
    let second = socket.frame().await?;
    assert_eq!(first.payload, second.payload);
    assert_ne!(first.header("message_id"), second.header("message_id"), "another delivery");
    socket.acknowledge(&second, 200).await?;
    feishu.wait_acks(1, LONG).await?;
    feishu.advance(Duration::from_secs(7 * 3600));
    let other = feishu.redeliver(&id, Again::NewIds).expect("it was pushed");
    let third = socket.frame().await?;
    assert_ne!(other, id);
    let payload = String::from_utf8(third.payload.unwrap_or_default())?;
    assert!(payload.contains(&other) && !payload.contains(&id), "{payload}");
    Ok(())
}

#[tokio::test]
async fn pings_are_answered_and_tickets_are_for_once() -> Result<()> {
    let feishu = Feishu::start()?;
    let client = Client::of(&feishu)?;
    let url = client.discover().await?;
    let mut socket = client.connect(&url).await?;
    let headers = vec![("type".to_owned(), "ping".to_owned())];
    socket.send(&Frame { service: 33_554_678, headers, ..Frame::default() }).await?;
    let pong = socket.frame().await?;
    assert_eq!(pong.header("type"), Some("pong"));
    let settings: Value = serde_json::from_slice(pong.payload.as_deref().unwrap_or_default())?;
    assert_eq!(settings["PingInterval"], 90);
    assert!(client.connect(&url).await.is_err(), "the ticket was used");
    assert_eq!((feishu.opened(), feishu.pings()), (1, 1));
    feishu.push_text_frame("not for you");
    assert!(matches!(socket.message().await?, Some(Message::Text(_))));
    feishu.close(1000);
    assert!(matches!(socket.message().await?, Some(Message::Close(_))));
    assert_eq!(feishu.open(), 0);
    Ok(())
}

#[tokio::test]
async fn scripts_come_first() -> Result<()> {
    let feishu = Feishu::start()?;
    let client = Client::of(&feishu)?;
    feishu.script(script(json!({"path": "/callback/ws/endpoint", "code": 1, "times": 2})))?;
    for _ in 0..2 {
        assert!(client.discover().await.is_err());
    }
    client.discover().await?;
    assert_eq!(feishu.conns(), 2, "two refused");
    feishu.script(script(json!({
        "method": "POST", "path": "/messages$", "http": 429, "code": 99991400,
        "headers": {"x-ogw-ratelimit-reset": "1"},
    })))?;
    feishu.script(script(json!({"path": "/messages$", "drop": "before"})))?;
    feishu.script(script(json!({"path": "/messages$", "drop": "after"})))?;
    let path = "/open-apis/im/v1/messages?receive_id_type=open_id";
    let mut body = text("u-1", "unprompted");
    body["receive_id"] = OWNER.into();
    assert_eq!(client.post(OPEN, path, &body).await?.0, 429);
    assert!(client.post(OPEN, path, &body).await.is_err());
    assert_eq!(feishu.visible(P2P), [""; 0]);
    assert!(client.post(OPEN, path, &body).await.is_err());
    assert_eq!(client.post(OPEN, path, &body).await?.0, 200);
    assert_eq!(feishu.visible(P2P), ["unprompted"], "one uuid is one message");
    assert_eq!(feishu.sent().len(), 4);
    Ok(())
}

#[tokio::test]
async fn tokens_count_until_they_are_void() -> Result<()> {
    let feishu = Feishu::start()?;
    let client = Client::of(&feishu)?;
    let (status, answer) = client.get(OPEN, "/open-apis/bot/v3/info").await?;
    assert_eq!((status, &answer["bot"]["activate_status"]), (200, &2.into()));
    feishu.script(script(json!({"path": "internal$", "body": {"code": 0, "msg": "ok",
        "tenant_access_token": "t-stale", "expire": 7200}})))?;
    let (status, answer) = client.get(OPEN, "/open-apis/bot/v3/info").await?;
    assert_eq!((status, &answer["code"]), (400, &99_991_663.into()));
    Ok(())
}

#[tokio::test]
async fn a_person_signs_in() -> Result<()> {
    let feishu = Feishu::start()?;
    let client = Client::of(&feishu)?;
    let host = "accounts.feishu.cn";
    let (_, init) = client.form(host, "action=init".to_owned()).await?;
    assert_eq!(init["supported_auth_methods"][0], "client_secret");
    let begin = "action=begin&archetype=PersonalAgent&auth_method=client_secret\
                 &request_user_info=open_id+tenant_brand";
    let (_, begin) = client.form(host, begin.to_owned()).await?;
    assert_eq!(begin["expires_in"], 3600);
    let poll = format!("action=poll&device_code={}", begin["device_code"].as_str().unwrap_or(""));
    let (status, pending) = client.form(host, poll.clone()).await?;
    assert_eq!((status, &pending["error"]), (400, &"authorization_pending".into()));
    feishu.approve_as(Brand::Lark);
    let (_, first) = client.form(host, poll.clone()).await?;
    assert!(first["client_secret"].is_null());
    let (_, done) = client.form("accounts.larksuite.com", poll).await?;
    assert!(done["client_secret"].is_string());
    assert_eq!(feishu.violations(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn other_hosts_are_not_reached() -> Result<()> {
    let feishu = Feishu::start()?;
    assert!(Client::of(&feishu)?.reach("feishu.cn.example.test").await.is_err());
    assert_eq!(feishu.dialled(), ["feishu.cn.example.test:443"]);
    Ok(())
}
