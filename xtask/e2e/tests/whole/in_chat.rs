//! What people can tell the bot itself, while a turn runs.

use anyhow::{Context, Result};
use scv_e2e::scene::{SOON, Scene, answer_to};
use scv_simulators::{cases::wechat_case, ilink::OWNER, model::Answer};

/// The word acts at once, behind no turn; the conversation goes on with the next message.
async fn stops(poll: String) -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.model.queue(Answer::text("never said").held());
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "think long");
    scene.model.wait_holding(1, SOON).await?;
    // Its id and token are those of the second message of this scene.
    let poll = poll.replace("7492913259736648002", "7492913259736648099");
    scene.ilink.push_poll(poll.replace("\"ctx-2\"", "\"ctx-99\""));
    scene.model.wait_abandoned(1, SOON).await?;
    scene.ilink.wait_sends(1, SOON).await?;
    scene.ilink.push_message(OWNER, "and now?");
    let shown = async || {
        let shown = scene.ilink.visible(OWNER);
        Ok(shown.contains(&answer_to("and now?")).then_some(shown))
    };
    let shown = xtask::harness::until("the next answer", SOON, shown).await;
    let shown = shown.with_context(|| format!("{:?}\n{}", scene.ilink.sent(), daemon.log()))?;
    assert!(!shown.iter().any(|line| line.contains("never said")), "{shown:?}");
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts(), ["think long", "and now?"], "the word is no message");
    assert!(state["in_flight"].is_null() && state["pending"].is_null(), "{state}");
    Ok(())
}

#[tokio::test]
async fn stop_during_turn() -> Result<()> {
    stops(wechat_case("stop-during-turn")?.polls().remove(0)).await
}

/// The sign as Chinese keyboards write it, other letters, and blanks around it.
#[tokio::test]
async fn full_width_slash() -> Result<()> {
    stops(
        wechat_case("stop-during-turn")?.polls().remove(0).replace("\"/stop\"", "\" ／Stop \\n\""),
    )
    .await
}
