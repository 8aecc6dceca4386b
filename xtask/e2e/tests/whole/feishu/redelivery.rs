//! What the platform delivers late, or once more.

use std::time::Duration;

use anyhow::Result;
use scv_e2e::{
    feishu_scene::{FeishuScene, settled},
    scene::{SOON, answer_to},
};
use scv_simulators::feishu::{Again, OWNER, P2P};

/// The platform's last try: 15 s, 5 min, 1 h and 6 h after one another.
const LATE: Duration = Duration::from_secs(15 + 300 + 3600 + 21_600);

/// The same message, hours later, under a new id, to a daemon that has been started anew.
async fn again_after_a_restart(crashes: bool) -> Result<()> {
    let scene = FeishuScene::signed_in()?;
    let mut daemon = scene.connected().await?;
    let id = scene.feishu.push_message(OWNER, "deploy it");
    scene.feishu.wait_visible(P2P, 1, SOON).await?;
    settled(&daemon).await?;
    match crashes {
        true => daemon.kill().await?,
        false => drop(scene.stop(&mut daemon).await?),
    }
    scene.feishu.wait_closed(SOON).await?;
    scene.feishu.advance(LATE);
    let mut daemon = scene.connected().await?;
    let acks = scene.feishu.acks().len();
    scene.feishu.redeliver(&id, Again::NewIds);
    scene.feishu.redeliver(&id, Again::SameIds);
    let acks = scene.feishu.wait_acks(acks + 2, SOON).await?;
    assert!(acks.iter().all(|ack| ack.code == Some(200)), "{acks:?}");
    settled(&daemon).await?;
    scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts(), ["deploy it"]);
    assert_eq!(scene.feishu.visible(P2P), [answer_to("deploy it")]);
    assert_eq!(scene.feishu.violations(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn seven_hours_later_after_a_clean_stop() -> Result<()> {
    again_after_a_restart(false).await
}

#[tokio::test]
async fn seven_hours_later_after_a_crash() -> Result<()> {
    again_after_a_restart(true).await
}

/// A message that was pushed while nobody was there, and one that the history alone has.
#[tokio::test]
async fn while_nobody_was_there() -> Result<()> {
    let scene = FeishuScene::signed_in()?;
    let mut daemon = scene.connected().await?;
    scene.feishu.push_message(OWNER, "first");
    scene.feishu.wait_visible(P2P, 1, SOON).await?;
    settled(&daemon).await?;
    scene.stop(&mut daemon).await?;
    scene.feishu.wait_closed(SOON).await?;
    scene.feishu.miss_message(OWNER, "missed");
    scene.feishu.push_message(OWNER, "pushed to nobody");
    let mut daemon = scene.connected().await?;
    scene.feishu.wait_visible(P2P, 3, SOON).await?;
    settled(&daemon).await?;
    scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts(), ["first", "missed", "pushed to nobody"]);
    assert_eq!(scene.feishu.violations(), [""; 0]);
    Ok(())
}
