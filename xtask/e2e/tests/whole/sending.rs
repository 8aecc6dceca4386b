//! Reported answers to sends, with the right outcome of each.

use anyhow::Result;
use scv_e2e::scene::{SOON, Scene, answer_to};
use scv_simulators::{cases::wechat_case, ilink::OWNER};

#[tokio::test]
async fn send_ok_shapes() -> Result<()> {
    let case = wechat_case("send-ok-shapes")?;
    let scene = Scene::signed_in()?;
    case.script(&scene.ilink);
    let mut daemon = scene.connected().await?;
    for number in 1..=case.steps.len() {
        scene.ilink.push_message(OWNER, &format!("question {number}"));
        scene.ilink.wait_sends(number, SOON).await?;
    }
    let state = scene.stop(&mut daemon).await?;
    let sent = scene.ilink.sent();
    assert_eq!(sent.len(), case.steps.len(), "each was taken as accepted: {sent:?}");
    assert!(sent.iter().all(|sent| sent.accepted), "{sent:?}");
    assert!(state["pending"].is_null() && state["held"].is_null(), "{state}");
    Ok(())
}

#[tokio::test]
async fn send_retryable() -> Result<()> {
    let case = wechat_case("send-retryable")?;
    let scene = Scene::signed_in()?;
    case.script(&scene.ilink);
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "hello");
    let sent = scene.ilink.wait_sends(case.steps.len(), SOON * 2).await?;
    let state = scene.stop(&mut daemon).await?;
    assert!(sent.iter().all(|one| one.client_id == sent[0].client_id), "{sent:?}");
    assert_eq!(scene.ilink.visible(OWNER), [answer_to("hello")]);
    assert_eq!(scene.model.turns("hello"), 1);
    assert!(state["pending"].is_null() && state["held"].is_null(), "{state}");
    Ok(())
}

/// A reply that is refused for good is kept, and the account goes on.
#[tokio::test]
async fn refused_reply_is_kept() -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.ilink.push_send(200, r#"{"ret":-2,"errmsg":"prepare failed"}"#);
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "first");
    scene.ilink.wait_sends(1, SOON).await?;
    let component = scv_e2e::scene::account(&daemon, |component| component.held == Some(1)).await?;
    assert_eq!(component.last_refusal.map(|refusal| refusal.code).as_deref(), Some("-2"));
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(state["held"][0]["reply"], answer_to("first"));
    assert!(state["pending"].is_null(), "{state}");
    Ok(())
}

/// A long answer: the first part answers the message, the others are messages of their own.
#[tokio::test]
async fn long_answer_is_split_at_characters() -> Result<()> {
    let scene = Scene::signed_in()?;
    let long = "好".repeat(12_000);
    scene.model.queue(scv_simulators::model::Answer::text(&long));
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "tell me everything");
    let parts = scene.ilink.wait_visible(OWNER, 3, SOON).await?;
    scene.stop(&mut daemon).await?;
    assert_eq!(parts.concat(), long);
    assert!(parts.iter().all(|part| part.len() <= 16_384));
    let tokens: Vec<_> = scene.ilink.sent().into_iter().map(|sent| sent.context_token).collect();
    assert_eq!(tokens, [Some("ctx-1".to_owned()), None, None]);
    assert_eq!(scene.ilink.violations(), [""; 0]);
    Ok(())
}
