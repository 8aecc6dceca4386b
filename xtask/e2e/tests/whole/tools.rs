//! Who may use tools through a chat, and `scv exec`.

use anyhow::Result;
use scv_e2e::scene::{SOON, Scene, answer_to};
use scv_simulators::{
    ilink::{OWNER, STRANGER},
    model::Answer,
};
use serde_json::json;
use xtask::harness::Scv;

fn write_a_file() -> [Answer; 1] {
    [Answer::tool_call(
        "call_1",
        "bash",
        &json!({"command": "echo done > made-by-a-tool; echo made"}),
    )]
}

#[tokio::test]
async fn the_owner_may_when_it_was_granted() -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.grant_tools()?;
    scene.model.on("make it", write_a_file());
    let _daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "make it");
    let shown = scene.ilink.wait_visible(OWNER, 1, SOON).await?;
    assert!(shown[0].contains("made"), "{shown:?}");
    assert!(scene.home.workspace().join("made-by-a-tool").exists());
    Ok(())
}

/// Neither the owner without the grant nor anybody else: no tool is offered, and a model that
/// calls one all the same is refused.
#[tokio::test]
async fn nobody_else_may() -> Result<()> {
    for (grant, sender) in [(false, OWNER), (true, STRANGER)] {
        let scene = Scene::signed_in()?;
        if grant {
            scene.grant_tools()?;
        }
        scene.model.on("make it", write_a_file());
        let _daemon = scene.connected().await?;
        scene.ilink.push_message(sender, "make it");
        scene.ilink.wait_visible(sender, 1, SOON).await?;
        assert!(!scene.home.workspace().join("made-by-a-tool").exists(), "{sender}");
        let requests = scene.model.requests();
        assert!(requests.iter().all(|request| request.json()["tools"].is_null()), "{sender}");
    }
    Ok(())
}

#[tokio::test]
async fn exec_over_the_daemon_and_alone() -> Result<()> {
    let scene = Scene::new()?;
    let scv = Scv::on(&scene.home);
    let alone = scv.run(["exec", "first"]).await?.success()?;
    assert_eq!(alone.stdout.trim_end(), answer_to("first"));
    let none = scv.run(["exec", "--daemon", "second"]).await?;
    assert_eq!(none.code, Some(6), "{}", none.stderr);
    let _daemon = scene.daemon().await?;
    let over = scv.run(["exec", "--daemon", "third"]).await?.success()?;
    assert_eq!(over.stdout.trim_end(), answer_to("third"));
    Ok(())
}

#[tokio::test]
async fn exec_without_a_terminal_denies_and_says_so() -> Result<()> {
    let scene = Scene::new()?;
    let scv = Scv::on(&scene.home);
    scene.model.on("make it", write_a_file());
    let denied = scv.run(["exec", "make it"]).await?;
    assert_eq!(denied.code, Some(3), "{}", denied.stderr);
    assert!(!scene.home.workspace().join("made-by-a-tool").exists());
    scene.model.on("do it", write_a_file());
    let done = scv.run(["exec", "--yes", "do it"]).await?;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(scene.home.workspace().join("made-by-a-tool").exists());
    scene.model.queue(Answer::status(400, r#"{"error":{"message":"no such model"}}"#));
    let failed = scv.run(["exec", "more"]).await?;
    assert_eq!(failed.code, Some(5), "{}", failed.stderr);
    Ok(())
}
