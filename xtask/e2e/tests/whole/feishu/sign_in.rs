//! Signing in on the command line: by scan, and with an app that exists.

use anyhow::{Context, Result};
use scv_e2e::{
    feishu_scene::{COMPONENT, FeishuScene},
    scene::{SOON, answer_to},
};
use scv_protocol::ComponentState;
use scv_simulators::feishu::{APP, Brand, OWNER, P2P, SECRET};
use serde_json::Value;
use tokio::process::Command;
use xtask::harness::Scv;

fn login(scene: &FeishuScene, arguments: &[&str]) -> Command {
    let mut command = Scv::on(&scene.home).command(["channels", "login", "--plugin-dir"]);
    command.arg(scene.home.plugins()).args(arguments).envs(scene.feishu.environment());
    command
}

fn saved(scene: &FeishuScene) -> Option<Value> {
    let path = scene.home.scv_home().join("channels/feishu/accounts/default.json");
    Some(serde_json::from_slice(&std::fs::read(path).ok()?).expect("credentials are JSON"))
}

/// The whole of it: sign in while the daemon runs, write, get the answer.
#[tokio::test]
async fn from_the_scan_to_the_answer() -> Result<()> {
    let scene = FeishuScene::new()?;
    let daemon = scene.daemon().await?;
    scene.feishu.approve();
    let output = Scv::finish(login(&scene, &["feishu"]), "").await?.success()?;
    let text = output.stdout + &output.stderr;
    assert!(text.contains("https://open.feishu.cn/page/cli?user_code="), "{text}");
    assert!(!text.contains(SECRET), "the secret was printed");
    let connected = |c: &scv_protocol::Component| c.state == ComponentState::Connected;
    daemon.component(COMPONENT, SOON, connected).await?;
    scene.feishu.wait_open(SOON).await?;
    scene.feishu.push_message(OWNER, "hello");
    assert_eq!(scene.feishu.wait_visible(P2P, 1, SOON).await?, [answer_to("hello")]);
    assert!(!daemon.log().contains(SECRET), "the secret was logged");
    assert_eq!(scene.feishu.violations(), [""; 0]);
    Ok(())
}

/// The international edition: begun on Feishu's host, finished on Lark's, and on its hosts from
/// then on.
#[tokio::test]
async fn a_lark_tenant() -> Result<()> {
    let scene = FeishuScene::new()?;
    scene.feishu.approve_as(Brand::Lark);
    Scv::finish(login(&scene, &["lark"]), "").await?.success()?;
    assert_eq!(saved(&scene).context("credentials")?["brand"], "lark");
    let daemon = scene.connected().await?;
    scene.feishu.push_message(OWNER, "hello");
    assert_eq!(scene.feishu.wait_visible(P2P, 1, SOON).await?, [answer_to("hello")]);
    drop(daemon);
    let rest = scene.feishu.requests("/callback/ws/endpoint");
    assert!(rest.iter().all(|(host, _)| host == "open.larksuite.com"), "{rest:?}");
    assert_eq!(scene.feishu.violations(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn an_app_that_exists() -> Result<()> {
    let scene = FeishuScene::new()?;
    let arguments = ["feishu", "--app-id", APP, "--owner-open-id", OWNER];
    let refused = Scv::finish(login(&scene, &arguments), "a wrong secret\n").await?;
    assert_eq!((refused.code, saved(&scene)), (Some(1), None), "{}", refused.stderr);
    Scv::finish(login(&scene, &arguments), &format!("{SECRET}\n")).await?.success()?;
    let saved = saved(&scene).context("credentials")?;
    assert_eq!(
        (&saved["app_id"], &saved["app_secret"], &saved["owner_open_id"]),
        (&APP.into(), &SECRET.into(), &OWNER.into())
    );
    Ok(())
}

#[tokio::test]
async fn a_person_who_declines() -> Result<()> {
    let scene = FeishuScene::new()?;
    scene.feishu.deny();
    let output = Scv::finish(login(&scene, &["feishu"]), "").await?;
    assert_eq!((output.code, saved(&scene)), (Some(1), None), "{}", output.stderr);
    Ok(())
}
