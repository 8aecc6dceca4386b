//! Sending through a real session, against the simulated platform.

use crate::account::{connect, platform, reply};
use scv_plugin_api::{
    Session,
    wire::{Outgoing, Recipient, SendOutcome},
};
use scv_simulators::{
    cases::wechat_case,
    ilink::{Endpoint, Fault, OWNER},
};

#[tokio::test]
async fn a_reply_and_an_unprompted_message() {
    let platform = platform();
    let (session, _stop) = connect(&platform, None).await;
    let accepted = session.send(reply("id-1", "ctx-1", "a_b < c\n好")).await.expect("an outcome");
    assert!(matches!(accepted, SendOutcome::Accepted { receipt: Some(_) }), "{accepted:?}");
    let more = Outgoing { reply: None, ..reply("id-2", "", "more") };
    session.send(more).await.expect("an outcome");

    let sent = platform.sent();
    assert_eq!(sent[0].text, "a_b < c\n好", "nothing is rewritten");
    assert_eq!(sent[0].context_token.as_deref(), Some("ctx-1"));
    assert_eq!(sent[1].context_token, None);
    assert_eq!(platform.visible(OWNER), ["a_b < c\n好", "more"]);
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn the_largest_message_is_taken() {
    let platform = platform();
    let (session, _stop) = connect(&platform, None).await;
    let text = "é".repeat(8192);
    let accepted = session.send(reply("id-1", "ctx-1", &text)).await.expect("an outcome");
    assert!(matches!(accepted, SendOutcome::Accepted { .. }), "{accepted:?}");
}

#[tokio::test]
async fn a_group_is_never_answered_as_a_private_chat() {
    let platform = platform();
    let (session, _stop) = connect(&platform, None).await;
    let recipient = Recipient { user: OWNER.to_owned(), group: Some("12345@chatroom".to_owned()) };
    let message = Outgoing { recipient, ..reply("id-1", "ctx-1", "hi") };
    session.send(message).await.expect("an outcome");
    let request = &platform.requests(Endpoint::SendMessage)[0];
    assert_eq!(request.json()["msg"]["group_id"], "12345@chatroom");
}

#[tokio::test]
async fn send_ok_shapes() {
    let platform = platform();
    let case = wechat_case("send-ok-shapes").expect("a case");
    case.script(&platform);
    let (session, _stop) = connect(&platform, None).await;
    for n in 0..case.steps.len() {
        let message = reply(&format!("id-{n}"), &format!("ctx-{n}"), "hi");
        let outcome = session.send(message).await.expect("an outcome");
        assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{n}: {outcome:?}");
    }
}

#[tokio::test]
async fn send_retryable() {
    let platform = platform();
    let case = wechat_case("send-retryable").expect("a case");
    case.script(&platform);
    let (session, _stop) = connect(&platform, None).await;
    let message = reply("id-1", "ctx-1", "hi");
    for n in 1..case.steps.len() {
        let outcome = session.send(message.clone()).await.expect("an outcome");
        assert!(matches!(outcome, SendOutcome::Retry { .. }), "{n}: {outcome:?}");
    }
    let outcome = session.send(message).await.expect("an outcome");
    assert_eq!(outcome, SendOutcome::Accepted { receipt: Some("5".to_owned()) });
    assert_eq!(platform.visible(OWNER), ["hi"]);
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_lost_connection_is_tried_again_and_tells_no_address() {
    let platform = platform();
    let (session, _stop) = connect(&platform, None).await;
    for trouble in [Fault::HangupBefore, Fault::HangupAfter] {
        platform.fault_next(Endpoint::SendMessage, trouble);
        let outcome = session.send(reply("id-1", "ctx-1", "hi")).await.expect("an outcome");
        let SendOutcome::Retry { reason, .. } = outcome else { panic!("{outcome:?}") };
        assert!(!reason.contains("127.0.0.1") && !reason.contains("ctx-1"), "{reason}");
    }
}

#[tokio::test]
async fn send_stale() {
    let platform = platform();
    wechat_case("send-stale").expect("a case").script(&platform);
    let (session, _stop) = connect(&platform, None).await;
    let outcome = session.send(reply("id-1", "ctx-1", "hi")).await.expect("an outcome");
    assert!(matches!(outcome, SendOutcome::Refused { signed_out: true, .. }), "{outcome:?}");
}
