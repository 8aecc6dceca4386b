//! Reported answers to sends, with the right outcome of each.

use std::time::Duration;

use anyhow::Result;
use scv_e2e::scene::{SOON, Scene, account, answer_to};
use scv_simulators::{cases::wechat_case, ilink::OWNER, model::Answer};

/// How long a test watches that nothing is sent.
const A_WHILE: Duration = Duration::from_secs(3);

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
    let component = account(&daemon, |component| component.held == Some(1)).await?;
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
    scene.model.queue(Answer::text(&long));
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

/// Accepted is not delivered: counted, told after several, and never sent again on a guess.
#[tokio::test]
async fn send_ret0_no_id() -> Result<()> {
    let case = wechat_case("send-ret0-no-id")?;
    let scene = Scene::signed_in()?;
    for _ in 0..3 {
        case.script(&scene.ilink);
    }
    let mut daemon = scene.connected().await?;
    for number in 1..=3_u64 {
        scene.ilink.push_message(OWNER, &format!("question {number}"));
        account(&daemon, |component| component.unconfirmed == Some(number)).await?;
    }
    let told = account(&daemon, |component| component.error.is_some()).await?.error;
    assert!(told.is_some_and(|told| told.contains("without confirming")));
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.ilink.sent().len(), 3);
    assert!(state["pending"].is_null() && state["held"].is_null(), "{state}");
    Ok(())
}

/// Refused for good: kept, and it rides along with the next reply of this chat.
#[tokio::test]
async fn send_budget() -> Result<()> {
    let scene = Scene::signed_in()?;
    wechat_case("send-budget")?.script(&scene.ilink);
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "first");
    let component = account(&daemon, |component| component.held == Some(1)).await?;
    let refusal = component.last_refusal.unwrap_or_default();
    assert_eq!(refusal.code, "-2");
    assert!(refusal.text.starts_with("prepare failed: "), "{}", refusal.text);
    scene.ilink.push_message(OWNER, "second");
    let shown = scene.ilink.wait_visible(OWNER, 1, SOON).await?;
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(
        shown,
        [format!(
            "[Earlier reply that could not be delivered at the time]\n{}\n\n\
             [Reply to your latest message]\n{}",
            answer_to("first"),
            answer_to("second")
        )]
    );
    assert_eq!(scene.ilink.sent().len(), 2, "the refused one was not tried again by itself");
    assert!(state["pending"].is_null() && state["held"].is_null(), "{state}");
    Ok(())
}

/// The third part within a second is refused: the rest is kept, and for a while nothing goes
/// out, because tries during the penalty make it longer.
#[tokio::test]
async fn send_burst() -> Result<()> {
    let scene = Scene::signed_in()?;
    wechat_case("send-burst")?.script(&scene.ilink);
    let long = "z".repeat(45_000);
    scene.model.queue(Answer::text(&long));
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "tell me everything");
    let component = account(&daemon, |component| component.held == Some(1)).await?;
    let refusal = component.last_refusal.unwrap_or_default();
    assert!(refusal.text.contains("in a short time"), "{}", refusal.text);
    scene.ilink.push_message(OWNER, "and now?");
    scene.model.wait_requests(2, SOON).await?;
    assert!(scene.ilink.wait_sends(4, A_WHILE).await.is_err(), "{:?}", scene.ilink.sent());
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.ilink.visible(OWNER).concat(), long[..2 * 16_384]);
    assert_eq!(state["pending"]["to_user_id"], OWNER, "the next reply waits");
    Ok(())
}

/// A refused part stops the rest of that answer, and only what was not accepted is kept.
#[tokio::test]
async fn split_part2_refused() -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.ilink.push_send(200, r#"{"message_id":1}"#);
    scene.ilink.push_send(200, r#"{"ret":-2,"errmsg":"prepare failed"}"#);
    let long = format!("{}{}", "a".repeat(16_384), "b".repeat(5_000));
    scene.model.queue(Answer::text(&long));
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "tell me everything");
    account(&daemon, |component| component.held == Some(1)).await?;
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.ilink.sent().len(), 2);
    assert_eq!(state["held"][0]["reply"], "b".repeat(5_000));
    Ok(())
}

/// "rate limited": minutes without a try, for the whole account.
#[tokio::test]
async fn send_rate_limited() -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.ilink.push_send(200, r#"{"ret":-2,"errmsg":"rate limited"}"#);
    let mut daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "first");
    account(&daemon, |component| component.held == Some(1)).await?;
    scene.ilink.push_message(scv_simulators::ilink::STRANGER, "somebody else");
    account(&daemon, |component| component.pending == Some(1)).await?;
    assert!(scene.ilink.wait_sends(2, A_WHILE).await.is_err(), "{:?}", scene.ilink.sent());
    scene.stop(&mut daemon).await?;
    Ok(())
}
