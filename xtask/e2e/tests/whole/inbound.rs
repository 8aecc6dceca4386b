//! Reported inputs of `cases/wechat.jsonl` that come in, with the right outcome of each.

use std::time::{Duration, Instant};

use anyhow::Result;
use scv_e2e::{
    play::{ID_1, ID_2, ID_3, ID_4, Right, judge, play, sorted, texts},
    scene::{SOON, Scene, account, answer_to, state_with},
};
use scv_protocol::ComponentState;
use scv_simulators::{
    cases::{Case, wechat_case},
    ilink::OWNER,
};
use serde_json::{Value, json};
use xtask::harness::Scv;

const FIRST_ID: u64 = 7_492_913_259_736_648_001;

#[tokio::test]
async fn dup_same_id() -> Result<()> {
    play("dup-same-id", Right { prompts: &["run tests"], seen: &[ID_1], cursor: "b2" }).await
}

/// The same, with a daemon that dies between the two polls.
#[tokio::test]
async fn dup_same_id_over_a_restart() -> Result<()> {
    let polls = wechat_case("dup-same-id")?.polls();
    let scene = Scene::signed_in()?;
    scene.ilink.push_poll(&polls[0]);
    let mut first = scene.daemon().await?;
    scene.ilink.wait_visible(OWNER, 1, SOON).await?;
    first.kill().await?;
    // A poll that the dead daemon left behind would take the answer that is scripted next.
    scene.ilink.wait_held(false, SOON).await?;
    let before = scene.ilink.requests(scv_simulators::ilink::Endpoint::GetUpdates).len();
    scene.ilink.push_poll(&polls[1]);
    let mut second = scene.daemon().await?;
    scene.ilink.wait_polls(before + 2, SOON).await?;
    // The kill may have come before the delivery was on record: then the same message is sent
    // again under its id, and the phone still shows one.
    let state = scene.stop(&mut second).await?;
    assert_eq!(scene.model.turns("run tests"), 1);
    assert_eq!(scene.ilink.visible(OWNER), [answer_to("run tests")]);
    assert_eq!((&state["cursor"], &state["seen"]), (&json!("b2"), &json!([ID_1])));
    Ok(())
}

#[tokio::test]
async fn dup_other_token() -> Result<()> {
    play("dup-other-token", Right { prompts: &["run tests"], seen: &[ID_1], cursor: "b2" }).await
}

#[tokio::test]
async fn repeat_is_not_dup() -> Result<()> {
    let right = Right { prompts: &["yes", "yes"], seen: &[ID_1, ID_2], cursor: "b2" };
    play("repeat-is-not-dup", right).await
}

#[tokio::test]
async fn ids_above_2_to_the_53() -> Result<()> {
    let seen =
        &["9007199254740993", "9007199254740992", "18446744073709551615", "7492913259736648969"];
    play("ids-above-2^53", Right { prompts: &["a", "b", "c", "d"], seen, cursor: "b1" }).await
}

#[tokio::test]
async fn poison_type() -> Result<()> {
    let right = Right { prompts: &["first", "last"], seen: &[ID_1, ID_2, ID_3], cursor: "b1" };
    let case = wechat_case("poison-type")?;
    let scene = Scene::signed_in()?;
    case.script(&scene.ilink);
    let mut daemon = scene.daemon().await?;
    // The odd item is something that a person sent: one notice may tell so, without a turn.
    scene.ilink.wait_polls(2, SOON).await?;
    for prompt in right.prompts {
        wait_for(&scene, &answer_to(prompt)).await?;
    }
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts(), right.prompts);
    assert_eq!(sorted(texts(&state["seen"])), sorted(right.seen));
    assert_eq!(state["cursor"], right.cursor);
    Ok(())
}

async fn wait_for(scene: &Scene, text: &str) -> Result<()> {
    xtask::harness::until("the phone shows the answer", SOON, async || {
        Ok(scene.ilink.visible(OWNER).iter().any(|shown| shown == text).then_some(()))
    })
    .await
}

#[tokio::test]
async fn poison_token() -> Result<()> {
    let right = Right { prompts: &["first"], seen: &[ID_1, ID_2, ID_3], cursor: "b1" };
    play("poison-token", right).await
}

#[tokio::test]
async fn poison_shapes() -> Result<()> {
    let right =
        Right { prompts: &["first", "last"], seen: &[ID_1, ID_2, ID_3, ID_4], cursor: "b1" };
    play("poison-shapes", right).await
}

#[tokio::test]
async fn own_echo() -> Result<()> {
    play("own-echo", Right { prompts: &[], seen: &[ID_1, ID_2], cursor: "b1" }).await
}

#[tokio::test]
async fn blank_text() -> Result<()> {
    play("blank-text", Right { prompts: &[], seen: &[ID_1, ID_2], cursor: "b1" }).await
}

#[tokio::test]
async fn first_poll_batch() -> Result<()> {
    let right = Right { prompts: &["sent while off"], seen: &[ID_1], cursor: "b1" };
    play("first-poll-batch", right).await
}

#[tokio::test]
async fn empty_cursor_history() -> Result<()> {
    let case = wechat_case("empty-cursor-history")?;
    let scene = Scene::signed_in()?;
    let state = state_with(&[ID_1, ID_2, ID_3], "");
    scene.write("channels/wechat/state/default.json", &state)?;
    case.script(&scene.ilink);
    let mut daemon = scene.daemon().await?;
    let right = Right { prompts: &["new"], seen: &[ID_1, ID_2, ID_3, ID_4], cursor: "b9" };
    judge(&scene, &mut daemon, 1, right).await
}

/// A held poll that answers later than the hint says is still taken: iLink does not repeat it.
#[tokio::test]
async fn poll_late() -> Result<()> {
    let case = wechat_case("poll-late")?;
    let scene = Scene::signed_in()?;
    scene.ilink.hold_next(Duration::from_secs(36));
    case.script(&scene.ilink);
    let mut daemon = scene.daemon().await?;
    scene.ilink.wait_polls(2, SOON + Duration::from_secs(36)).await?;
    judge(&scene, &mut daemon, 1, Right { prompts: &["hi"], seen: &[ID_1], cursor: "b1" }).await
}

#[tokio::test]
async fn stop_fast() -> Result<()> {
    let scene = Scene::signed_in()?;
    let daemon = scene.connected().await?;
    scene.ilink.wait_held(true, SOON).await?;
    let begin = Instant::now();
    Scv::on(&scene.home).run(["channels", "stop", "wechat"]).await?.success()?;
    scene.ilink.wait_held(false, SOON).await?;
    // The poll would have been held for 35 s; the command also waits for the account's end.
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    account(&daemon, |component| component.state == ComponentState::Disabled).await?;
    Ok(())
}

/// Answers that are refused whole: nothing runs and the old cursor is asked for again.
async fn refused(polls: Vec<String>) -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.write("channels/wechat/state/default.json", &state_with(&[], "old"))?;
    for poll in &polls {
        scene.ilink.push_poll(poll);
    }
    let mut daemon = scene.daemon().await?;
    account(&daemon, |component| component.error.is_some()).await?;
    scene.ilink.wait_polls(polls.len() + 1, SOON).await?;
    assert_eq!(scene.ilink.cursor_seen().as_deref(), Some("old"));
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts(), [""; 0]);
    assert_eq!((&state["cursor"], &state["seen"]), (&json!("old"), &json!([])));
    Ok(())
}

#[tokio::test]
async fn cursor_missing() -> Result<()> {
    refused(wechat_case("cursor-missing")?.polls()).await
}

#[tokio::test]
async fn msgs_missing_ret0() -> Result<()> {
    refused(wechat_case("msgs-missing-ret0")?.polls()).await
}

#[tokio::test]
async fn batch_4097() -> Result<()> {
    refused(vec![expanded(&wechat_case("batch-4097")?, 4097)?]).await
}

/// The largest batch that is taken, in parts: all of it is answered or told to come again.
#[tokio::test]
async fn batch_of_300_is_taken_in_parts() -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.ilink.push_poll(expanded(&wechat_case("batch-4097")?, 300)?);
    let mut daemon = scene.daemon().await?;
    scene.ilink.wait_polls(2, SOON).await?;
    scene.ilink.wait_sends(300, SOON * 4).await?;
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(texts(&state["seen"]).len(), 300);
    assert_eq!(state["cursor"], "b1");
    Ok(())
}

/// The case's message, `count` times under ids of their own.
fn expanded(case: &Case, count: u64) -> Result<String> {
    let mut poll: Value = serde_json::from_str(&case.polls()[0])?;
    let message = poll["msgs"][0].clone();
    let copies = (0..count).map(|number| {
        let mut copy = message.clone();
        copy["message_id"] = json!(FIRST_ID + number);
        copy["create_time_ms"] = json!(1_790_000_000_000_u64 + number);
        copy["context_token"] = json!(format!("ctx-{number}"));
        copy
    });
    poll["msgs"] = copies.collect();
    Ok(poll.to_string())
}
