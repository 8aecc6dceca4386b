//! Files that are not what they should be: that account stops and says so, the file stays, and
//! everybody else goes on.

use anyhow::Result;
use scv_e2e::scene::{COMPONENT, SOON, Scene, answer_to};
use scv_protocol::ComponentState;
use scv_simulators::ilink::{Credentials, OWNER};

/// The account `default` is damaged as given; the account `other` must not notice.
async fn damaged(file: &str, content: &str) -> Result<()> {
    let scene = Scene::signed_in()?;
    let damaged = scene.write(file, content)?;
    scene.write("channels/wechat/accounts/other.json", &second_bot(&scene))?;
    scene.ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
    let daemon = scene.daemon().await?;
    let failed = daemon
        .component(COMPONENT, SOON, |component| component.state == ComponentState::Failed)
        .await?;
    let error = failed.error.unwrap_or_default();
    assert!(!error.is_empty() && !error.contains('/'), "named, without a path: {error:?}");
    // The fix stands in the sentence itself, behind a semicolon, or in a field of its own.
    assert!(failed.hint.is_some() || error.contains("; "), "it says what to do: {error:?}");
    daemon
        .component("wechat:other", SOON, |component| component.state == ComponentState::Connected)
        .await?;
    scene.ilink.push_message(OWNER, "are you there?");
    assert_eq!(scene.ilink.wait_visible(OWNER, 1, SOON).await?, [answer_to("are you there?")]);
    assert_eq!(std::fs::read_to_string(damaged)?, content, "the file is kept as it was");
    Ok(())
}

/// The simulator knows one token; what makes an account another bot is its identity.
fn second_bot(scene: &Scene) -> String {
    let credentials = scene.ilink.credentials();
    Credentials { bot_id: "abcdef543210@im.bot".to_owned(), ..credentials }.to_json()
}

#[tokio::test]
async fn credentials_that_are_no_json() -> Result<()> {
    damaged("channels/wechat/accounts/default.json", "{\"token\":").await
}

#[tokio::test]
async fn state_that_is_empty() -> Result<()> {
    damaged("channels/wechat/state/default.json", "").await
}

#[tokio::test]
async fn state_of_another_bot() -> Result<()> {
    let fingerprint = "0d3807e4be88cc22c2c6c3f2d525de47c4eb6615f619b3a4a2fa0305dec288f0";
    let state = format!(
        r#"{{"credential_fingerprint":"{fingerprint}","cursor":"","seen":[],"pending":null,"in_flight":null}}"#
    );
    damaged("channels/wechat/state/default.json", &state).await
}

#[tokio::test]
async fn settings_with_an_unknown_key() -> Result<()> {
    damaged("channels/wechat/settings/default.json", r#"{"enabled":true,"colour":"red"}"#).await
}

/// A folder of a channel that nobody serves: shown, and logging out still works.
#[tokio::test]
async fn a_channel_without_a_plugin() -> Result<()> {
    let scene = Scene::new()?;
    let saved = scene.write("channels/pigeon/accounts/default.json", "{}")?;
    let daemon = scene.daemon().await?;
    let shown = daemon.component("pigeon:discovery-error", SOON, |_| true).await?;
    assert!(shown.error.unwrap_or_default().contains("no plugin"));
    daemon.component("pigeon:default", SOON, |account| account.bot_id.is_none()).await?;
    let scv = xtask::harness::Scv::on(&scene.home);
    scv.run(["channels", "logout", "pigeon"]).await?.success()?;
    assert!(!saved.exists());
    Ok(())
}
