//! Connections that the platform does not give, and what waits for the next one.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use scv_e2e::{
    feishu_scene::{COMPONENT, FeishuScene, settled},
    scene::{SOON, answer_to},
};
use scv_protocol::{Component, ComponentState};
use scv_simulators::feishu::{OWNER, P2P, Script};
use serde_json::{Value, json};

/// The app is connected as often as it may be: said with its code, tried again, never the end.
#[tokio::test]
async fn too_many_connections() -> Result<()> {
    let scene = FeishuScene::signed_in()?;
    let path = "/callback/ws/endpoint$".to_owned();
    scene.feishu.script(Script { path, code: Some(1_000_040_350), ..Script::default() })?;
    let mut daemon = scene.daemon().await?;
    let refused = |component: &Component| component.last_refusal.is_some();
    let refusal = daemon.component(COMPONENT, SOON, refused).await?.last_refusal;
    let refusal = refusal.context("a refusal")?;
    assert_eq!(refusal.code, "1000040350");
    assert!(refusal.text.contains("too many long connections"), "{}", refusal.text);
    let connected = |component: &Component| component.state == ComponentState::Connected;
    daemon.component(COMPONENT, SOON, connected).await?;
    scene.feishu.push_message(OWNER, "free again?");
    assert_eq!(scene.feishu.wait_visible(P2P, 1, SOON).await?, [answer_to("free again?")]);
    settled(&daemon).await?;
    scene.stop(&mut daemon).await?;
    Ok(())
}

/// More was missed than four pages hold: the rest is read with the next connection.
#[tokio::test]
async fn more_than_four_pages() -> Result<()> {
    const MISSED: u64 = 240;
    let scene = FeishuScene::signed_in()?;
    let hour_ago = scene.feishu.now_ms() - Duration::from_secs(3_600).as_millis() as u64;
    let cursor = json!({"chats": {P2P: {"group": false, "last_ms": hour_ago}}});
    let mut daemon = scene.connected().await?;
    scene.feishu.push_event(&message_of(hour_ago, "before"));
    scene.feishu.wait_visible(P2P, 1, SOON).await?;
    settled(&daemon).await?;
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(reading(&state)?, cursor);
    scene.feishu.wait_closed(SOON).await?;

    let item = |n: u64| missed_item(n, hour_ago + 60_000 + n * 2_000);
    let items = (0..MISSED).map(item).collect();
    scene.feishu.add_history(BTreeMap::from([(P2P.to_owned(), items)]), false);
    let mut daemon = scene.connected().await?;
    scene.feishu.wait_visible(P2P, 2, SOON).await?;
    scene.feishu.push_message(OWNER, "live");
    scene.feishu.wait_visible(P2P, 3, SOON).await?;
    settled(&daemon).await?;
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts(), ["before", "on the first page", "live"]);
    assert!(reading(&state)?["chats"][P2P]["gap"].is_object(), "{state}");
    scene.feishu.wait_closed(SOON).await?;

    let mut daemon = scene.connected().await?;
    scene.feishu.wait_visible(P2P, 4, SOON).await?;
    settled(&daemon).await?;
    scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts()[3..], ["on the fifth page"]);
    assert_eq!(scene.feishu.violations(), [""; 0]);
    Ok(())
}

fn reading(state: &Value) -> Result<Value> {
    Ok(serde_json::from_str(state["cursor"].as_str().context("a cursor")?)?)
}

fn message_of(moment_ms: u64, text: &str) -> Value {
    json!({
        "schema": "2.0",
        "header": {"event_id": "ev_before", "event_type": "im.message.receive_v1",
                   "create_time": moment_ms.to_string()},
        "event": {
            "sender": {"sender_id": {"open_id": OWNER}, "sender_type": "user"},
            "message": {"message_id": "om_before", "create_time": moment_ms.to_string(),
                        "chat_id": P2P, "chat_type": "p2p", "message_type": "text",
                        "content": json!({"text": text}).to_string()},
        },
    })
}

/// Pictures, which start no turn, and two texts among them.
fn missed_item(n: u64, moment_ms: u64) -> Value {
    let text = match n {
        3 => Some("on the first page"),
        230 => Some("on the fifth page"),
        _ => None,
    };
    let (kind, content) = match text {
        Some(text) => ("text", json!({"text": text})),
        None => ("image", json!({"image_key": "img"})),
    };
    json!({
        "message_id": format!("om_missed_{n}"), "msg_type": kind, "chat_id": P2P,
        "create_time": moment_ms.to_string(), "update_time": moment_ms.to_string(),
        "deleted": false, "updated": false, "body": {"content": content.to_string()},
        "sender": {"id": OWNER, "id_type": "open_id", "sender_type": "user"},
    })
}
