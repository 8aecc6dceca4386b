//! Plugins that do not come back from a call: told of by its deadline, and nobody else waits.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use scv_e2e::scene::{SOON, Scene, answer_to};
use scv_protocol::{ComponentState, ControlCommand, PluginState};
use scv_simulators::ilink::OWNER;
use xtask::harness::{Daemon, Scv, until};

use crate::plugins::{FIXTURE, credentials, login_arguments, plugin, with_fixture};

// The deadlines of the plugin boundary, as its documentation gives them.
const CREATE: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(60);
/// The 500 ms of the fixture's manifest and ten seconds.
const NEXT_BATCH: Duration = Duration::from_millis(10_500);
const SEND: Duration = Duration::from_secs(30);
/// Of a sign-in that has shown nothing yet.
const LOGIN: Duration = Duration::from_secs(60);

/// The real account is connected while nothing is known of the hang yet: by order, not by time.
async fn connected_first(scene: &Scene) -> Result<Daemon> {
    let daemon = scene.connected().await?;
    let status = daemon.control(ControlCommand::Status).await?;
    let mut of_fixture = status.components.iter().filter(|shown| shown.channel == "fixture");
    ensure!(of_fixture.all(|shown| shown.error.is_none()), "{:?}", status.components);
    Ok(daemon)
}

/// A call that never returns is told of by its deadline; meanwhile others are answered.
async fn told(scene: &Scene, daemon: &Daemon, deadline: Duration) -> Result<()> {
    scene.ilink.push_message(OWNER, "meanwhile");
    let answers = [answer_to("meanwhile")];
    assert_eq!(scene.ilink.wait_visible(OWNER, 1, deadline).await?, answers);
    until("the hang is told of", deadline + SOON, async || {
        let status = daemon.control(ControlCommand::Status).await?;
        let mut shown = status.components.iter().filter(|one| one.channel == "fixture");
        Ok(shown.any(|one| one.error.is_some()).then_some(()))
    })
    .await
}

/// The plugin's one worker is lost: nothing more is asked of it.
async fn wedged(daemon: &Daemon) -> Result<()> {
    until("the plugin is wedged", SOON, async || {
        Ok((plugin(daemon, "fixture").await?.state == PluginState::Wedged).then_some(()))
    })
    .await?;
    let not_stopped = |text: &String| text.contains("plugin 'fixture' did not stop");
    daemon.component(FIXTURE, SOON, |shown| shown.error.as_ref().is_some_and(not_stopped)).await?;
    Ok(())
}

async fn ends(mut daemon: Daemon) -> Result<()> {
    let status = daemon.terminate().await?;
    ensure!(status.success(), "{status}\n{}", daemon.log());
    Ok(())
}

#[tokio::test]
async fn a_create_that_never_returns() -> Result<()> {
    let scene = with_fixture(Some("create:hang"), &credentials(""))?;
    let daemon = connected_first(&scene).await?;
    told(&scene, &daemon, CREATE).await?;
    ends(daemon).await
}

#[tokio::test]
async fn an_inspect_that_never_returns() -> Result<()> {
    let scene = with_fixture(None, &credentials("inspect:hang"))?;
    let daemon = scene.connected().await?;
    told(&scene, &daemon, SOON).await?;
    wedged(&daemon).await?;
    ends(daemon).await
}

/// They wait much and work little, so all of them together take no longer than the longest.
#[tokio::test]
async fn a_call_of_each_kind_that_never_returns() -> Result<()> {
    tokio::try_join!(
        connect_hangs(),
        session_hangs("next_batch:hang"),
        // With its worker lost the session cannot read either, and that shows first.
        session_hangs("send:hang"),
        send_waits(),
        close_hangs(),
        login_hangs(),
    )?;
    Ok(())
}

async fn connect_hangs() -> Result<()> {
    let scene = with_fixture(None, &credentials("connect:hang"))?;
    let daemon = connected_first(&scene).await?;
    told(&scene, &daemon, CONNECT).await?;
    ends(daemon).await
}

async fn session_hangs(fault: &str) -> Result<()> {
    let scene = with_fixture(None, &credentials(fault))?;
    let daemon = connected_first(&scene).await?;
    told(&scene, &daemon, NEXT_BATCH).await.context(fault.to_owned())?;
    wedged(&daemon).await.context(fault.to_owned())?;
    ends(daemon).await
}

/// A send that only waits costs itself: the session reads on, and the same text goes again.
async fn send_waits() -> Result<()> {
    let scene = with_fixture(None, &credentials("send:pend"))?;
    let daemon = connected_first(&scene).await?;
    until("the send is given up", SEND + SOON, async || {
        Ok(daemon.log().contains("did not answer send in time").then_some(()))
    })
    .await?;
    let fixture = daemon.component(FIXTURE, SOON, |_| true).await?;
    assert_eq!((fixture.state, fixture.pending), (ComponentState::Connected, Some(1)));
    ends(daemon).await
}

async fn close_hangs() -> Result<()> {
    let scene = with_fixture(None, &credentials("close:hang"))?;
    let daemon = connected_first(&scene).await?;
    daemon.component(FIXTURE, SOON, |shown| shown.state == ComponentState::Connected).await?;
    for enabled in [false, true] {
        daemon.control(set_fixture(enabled)).await?;
    }
    wedged(&daemon).await?;
    ends(daemon).await
}

fn set_fixture(enabled: bool) -> ControlCommand {
    ControlCommand::ChannelSet {
        channel: "fixture".into(),
        account: "default".into(),
        enabled,
        workspace: None,
        remote_tools: None,
        senders: None,
    }
}

async fn login_hangs() -> Result<()> {
    let scene = with_fixture(Some("login:hang"), &credentials(""))?;
    let mut command = Scv::on(&scene.home).command(login_arguments(&scene));
    let output = tokio::time::timeout(LOGIN + SOON, command.output()).await??;
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the sign-in took too long"), "{told}");
    assert_eq!(output.status.code(), Some(1), "{told}");
    Ok(())
}
