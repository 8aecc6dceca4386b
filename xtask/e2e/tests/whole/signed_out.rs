//! The platform takes the token no longer: seen, told, kept, and over as soon as it can be.

use std::time::Duration;

use anyhow::{Context, Result};
use scv_e2e::{
    play::texts,
    scene::{SOON, Scene, account, answer_to},
};
use scv_protocol::{Component, ComponentState};
use scv_simulators::{
    cases::wechat_case,
    ilink::{Endpoint, OWNER},
};
use xtask::harness::{Daemon, Scv, until};

/// How long a test watches that something does not happen.
const A_WHILE: Duration = Duration::from_secs(3);

fn is_signed_out(component: &Component) -> bool {
    component.state == ComponentState::Failed && component.signed_out == Some(true)
}

fn is_connected(component: &Component) -> bool {
    component.state == ComponentState::Connected
}

fn saved(scene: &Scene) -> Result<String> {
    let file = scene.home.scv_home().join("channels/wechat/accounts/default.json");
    std::fs::read_to_string(file).context("credentials")
}

/// Signs in with the token that the platform has given out last.
async fn sign_in(scene: &Scene) -> Result<()> {
    scene.ilink.approve();
    let url = scene.ilink.base_url();
    let mut login = Scv::on(&scene.home).command(["channels", "login", "--plugin-dir"]);
    login.arg(scene.home.plugins()).args(["wechat", "--login-url", &url]);
    let output = tokio::time::timeout(SOON * 2, login.output()).await.context("no end")??;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[tokio::test]
async fn stale_a() -> Result<()> {
    let scene = Scene::signed_in()?;
    let before = saved(&scene)?;
    wechat_case("stale-a")?.script(&scene.ilink);
    let daemon = scene.daemon().await?;
    let component = account(&daemon, is_signed_out).await?;
    let error = component.error.unwrap_or_default();
    assert_eq!(error, "signed out; run `scv channels login wechat`");
    // Nobody asks again and again meanwhile.
    let polls = scene.ilink.requests(Endpoint::GetUpdates).len();
    assert!(scene.ilink.wait_polls(polls + 2, A_WHILE).await.is_err(), "a busy loop");
    assert_eq!(saved(&scene)?, before, "the credentials stay");
    assert_eq!(scene.ilink.requests(Endpoint::GetBotQrcode).len(), 0, "no code that nobody asked");
    Ok(())
}

/// A later good poll clears it, without a new sign-in. `scv reload` makes "later" now.
#[tokio::test]
async fn stale_transient() -> Result<()> {
    let scene = Scene::signed_in()?;
    wechat_case("stale-transient")?.script(&scene.ilink);
    let mut daemon = scene.daemon().await?;
    account(&daemon, is_signed_out).await?;
    Scv::on(&scene.home).run(["reload"]).await?.success()?;
    assert_eq!(scene.ilink.wait_visible(OWNER, 1, SOON).await?, [answer_to("hi")]);
    let healthy = account(&daemon, is_connected).await?;
    assert_eq!((healthy.error, healthy.signed_out.unwrap_or_default()), (None, false));
    let state = scene.stop(&mut daemon).await?;
    assert_eq!((&state["cursor"], texts(&state["seen"]).len()), (&"b1".into(), 1));
    Ok(())
}

/// A send finds it out: the reply is kept, and rides along with the first one after the sign-in.
#[tokio::test]
async fn send_stale() -> Result<()> {
    let scene = Scene::signed_in()?;
    wechat_case("send-stale")?.script(&scene.ilink);
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "first");
    // That it is signed out is told before the refused reply is durable.
    let is_kept = |component: &Component| is_signed_out(component) && component.held == Some(1);
    let component = account(&daemon, is_kept).await?;
    assert_eq!(component.last_refusal.map(|refusal| refusal.code).as_deref(), Some("-14"));
    sign_in(&scene).await?;
    scene.ilink.push_message(OWNER, "second");
    let shown = scene.ilink.wait_visible(OWNER, 1, SOON).await?;
    assert!(shown[0].contains(&answer_to("first")), "{shown:?}");
    assert!(shown[0].ends_with(&answer_to("second")), "{shown:?}");
    let state = scene.stop(&mut daemon).await?;
    assert!(state["held"].is_null() && state["pending"].is_null(), "{state}");
    assert_eq!(scene.model.turns("first"), 1);
    Ok(())
}

/// The bot is bound elsewhere; signing in again here is noticed without a restart.
#[tokio::test]
async fn bound_elsewhere_and_back() -> Result<()> {
    let scene = Scene::signed_in()?;
    // The poll that is held while the token becomes void ends soon.
    scene.ilink.hold(Duration::from_secs(1));
    let mut daemon = scene.connected().await?;
    // Another machine's sign-in: the token that is saved here is void.
    scene.ilink.approve();
    account(&daemon, is_signed_out).await?;
    sign_in(&scene).await?;
    scene.ilink.push_message(OWNER, "hello again");
    assert_eq!(scene.ilink.wait_visible(OWNER, 1, SOON).await?, [answer_to("hello again")]);
    scene.stop(&mut daemon).await?;
    Ok(())
}

/// A sign-in while the account runs: nobody writes the old token over the new one.
#[tokio::test]
async fn relogin_race() -> Result<()> {
    let scene = Scene::signed_in()?;
    let mut daemon = scene.connected().await?;
    let old = saved(&scene)?;
    sign_in(&scene).await?;
    let new = saved(&scene)?;
    assert_ne!(new, old);
    scene.ilink.push_message(OWNER, "with the new token");
    scene.ilink.wait_visible(OWNER, 1, SOON).await?;
    scene.stop(&mut daemon).await?;
    assert_eq!(saved(&scene)?, new);
    assert_eq!(scene.ilink.violations(), [""; 0]);
    Ok(())
}

/// Two daemons on one home: the second says who is there, and the first goes on.
#[tokio::test]
async fn second_instance() -> Result<()> {
    let scene = Scene::signed_in()?;
    let mut first = scene.connected().await?;
    let mut second = Daemon::start(&scene.home, &xtask::harness::Options::default())?;
    let ended = second.ended(SOON).await?;
    assert_eq!(ended.code(), Some(1));
    let pid = first.pid().as_raw_nonzero().to_string();
    until("the second says who is there", SOON, async || {
        Ok(first.log().contains(&pid).then_some(()))
    })
    .await?;
    scene.ilink.push_message(OWNER, "once");
    scene.ilink.wait_visible(OWNER, 1, SOON).await?;
    scene.stop(&mut first).await?;
    assert_eq!(scene.ilink.sent().len(), 1);
    assert_eq!(scene.model.turns("once"), 1);
    Ok(())
}
