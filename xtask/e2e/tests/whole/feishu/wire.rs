//! Odd things on the long connection: it stays, and the next message is answered.

use anyhow::{Context, Result};
use scv_e2e::{
    feishu_scene::{FeishuScene, settled},
    scene::{SOON, answer_to},
};
use scv_simulators::feishu::{OWNER, P2P, Script};
use serde_json::{Value, json};

const FRAMES: &str = include_str!("../../../cases/feishu_frames.json");

fn bytes(hex: &str) -> Result<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?)).collect()
}

#[tokio::test]
async fn odd_frames_change_nothing() -> Result<()> {
    let scene = FeishuScene::signed_in()?;
    let mut daemon = scene.connected().await?;
    let vectors: Value = serde_json::from_str(FRAMES)?;
    for vector in vectors["odd_frames"].as_array().context("frames")? {
        let hex = vector["hex"].as_str().context("hex")?;
        assert!(scene.feishu.push_bytes(bytes(hex)?), "{}", vector["name"]);
    }
    assert!(scene.feishu.push_text_frame("{\"type\":\"text\"}"));
    scene.feishu.push_message(OWNER, "still there?");
    scene.feishu.wait_visible(P2P, 1, SOON).await.with_context(|| daemon.log())?;
    settled(&daemon).await?;
    // One at the beginning, and more only where this machine is slower than the shortest interval.
    let pings = scene.feishu.pings();
    scene.stop(&mut daemon).await?;
    assert_eq!(scene.feishu.opened(), 1, "the connection is kept");
    assert!(pings < 20, "{pings} pings: a storm");
    assert_eq!(scene.feishu.visible(P2P), [answer_to("still there?")]);
    Ok(())
}

#[tokio::test]
async fn events_in_pieces_are_joined() -> Result<()> {
    let scene = FeishuScene::signed_in()?;
    let mut daemon = scene.connected().await?;
    scene.feishu.split(5);
    scene.feishu.push_message(OWNER, "in five pieces");
    assert_eq!(scene.feishu.wait_visible(P2P, 1, SOON).await?, [answer_to("in five pieces")]);
    settled(&daemon).await?;
    scene.stop(&mut daemon).await?;
    assert_eq!(scene.feishu.acks().len(), 1, "one for the event, not for each part");
    assert_eq!(scene.feishu.violations(), [""; 0]);
    Ok(())
}

/// A discovery that names a host outside of the platform is not followed, and its keys are told
/// to nobody.
#[tokio::test]
async fn other_hosts_are_never_dialled() -> Result<()> {
    let scene = FeishuScene::signed_in()?;
    for url in [
        "wss://feishu.cn.example.test/ws/v2?service_id=1&ticket=sim-secret-ticket",
        "ws://msg-frontier.feishu.cn/ws/v2?service_id=1&ticket=sim-secret-ticket",
        "wss://msg-frontier.feishu.cn:8443/ws/v2?service_id=1&ticket=sim-secret-ticket",
        "wss://msg-frontier.larksuite.com/ws/v2?service_id=1&ticket=sim-secret-ticket",
    ] {
        let body = json!({"code": 0, "msg": "success", "data": {"URL": url, "ClientConfig": {}}});
        let path = "/callback/ws/endpoint$".to_owned();
        scene.feishu.script(Script { path, body: Some(body), ..Script::default() })?;
    }
    let mut daemon = scene.daemon().await?;
    scene.feishu.wait_opened(1, SOON * 3).await.with_context(|| daemon.log())?;
    scene.stop(&mut daemon).await?;
    let dialled = scene.feishu.dialled();
    let known = ["open.feishu.cn:443", "msg-frontier.feishu.cn:443"];
    assert!(dialled.iter().all(|target| known.contains(&target.as_str())), "{dialled:?}");
    let log = std::fs::read_to_string(scene.home.log())?;
    assert!(!log.contains("sim-secret-ticket"), "{log}");
    Ok(())
}
