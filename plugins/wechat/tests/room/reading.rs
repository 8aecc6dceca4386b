//! Reading through a real session, against the simulated platform.

use std::time::{Duration, Instant};

use crate::account::{LIMIT, connect, platform};
use scv_plugin_api::{
    Session,
    wire::{Batch, FaultKind},
};
use scv_simulators::{
    cases::wechat_case,
    ilink::{Endpoint, Fault, OWNER, STRANGER},
};

fn texts(batch: &Batch) -> Vec<&str> {
    batch.messages.iter().filter_map(|message| message.text.as_deref()).collect()
}

/// A poll answer with this many messages.
fn answer(count: usize, cursor: &str) -> String {
    let message = |n: usize| {
        format!(
            r#"{{"message_id":{},"message_type":1,"from_user_id":"u","context_token":"c{n}",
               "item_list":[{{"type":1,"text_item":{{"text":"t{n}"}}}}]}}"#,
            n + 1
        )
    };
    let messages: Vec<String> = (0..count).map(message).collect();
    format!(r#"{{"msgs":[{}],"get_updates_buf":"{cursor}"}}"#, messages.join(","))
}

#[tokio::test]
async fn the_first_batch_is_the_first_valid_poll() {
    let platform = platform();
    let (session, _stop) = connect(&platform, None).await;
    let batch = session.next_batch(None).await.expect("a sign of life");
    assert!(batch.messages.is_empty());
    assert_eq!(platform.requests(Endpoint::GetUpdates).len(), 1);
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn first_poll_batch() {
    let platform = platform();
    wechat_case("first-poll-batch").expect("a case").script(&platform);
    let (session, _stop) = connect(&platform, None).await;
    let batch = session.next_batch(None).await.expect("a batch");
    assert_eq!(texts(&batch), ["sent while off"]);
    assert_eq!(batch.checkpoint, "b1");
}

#[tokio::test]
async fn a_cursor_is_confirmed_only_after_the_ack() {
    let platform = platform();
    platform.push_message(OWNER, "one");
    let (session, stop) = connect(&platform, Some("before")).await;
    let batch = session.next_batch(None).await.expect("a batch");
    assert_eq!((texts(&batch), batch.checkpoint.as_str()), (vec!["one"], "buf-1"));
    assert_eq!(platform.cursor_seen().as_deref(), Some("before"));

    // Not acknowledged: a new session goes on from the checkpoint that is durable.
    stop.fire();
    platform.push_message(STRANGER, "two");
    let (session, _stop) = connect(&platform, Some("before")).await;
    let batch = session.next_batch(None).await.expect("a batch");
    assert_eq!(platform.cursor_seen().as_deref(), Some("before"));

    session.next_batch(Some(batch.token)).await.expect("an empty batch");
    assert_eq!(platform.cursor_seen().as_deref(), Some("buf-2"));
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_large_answer_comes_in_parts_and_is_confirmed_once() {
    let platform = platform();
    platform.push_poll(answer(600, "b1"));
    let (session, _stop) = connect(&platform, Some("b0")).await;
    let mut ack = None;
    let mut seen = Vec::new();
    for (count, checkpoint) in [(256, "b0"), (256, "b0"), (88, "b1")] {
        let batch = session.next_batch(ack).await.expect("a part");
        assert_eq!((batch.messages.len(), batch.checkpoint.as_str()), (count, checkpoint));
        assert_eq!(platform.requests(Endpoint::GetUpdates).len(), 1, "one poll for all parts");
        seen.extend(batch.messages.into_iter().map(|message| message.id));
        ack = Some(batch.token);
    }
    assert_eq!(seen, (1..=600).map(|n| n.to_string()).collect::<Vec<_>>());
    session.next_batch(ack).await.expect("an empty batch");
    assert_eq!(platform.cursor_seen().as_deref(), Some("b1"));
}

#[tokio::test]
async fn batch_4097() {
    let platform = platform();
    platform.push_poll(answer(4097, "b1"));
    let (session, _stop) = connect(&platform, Some("b0")).await;
    let fault = session.next_batch(None).await.expect_err("refused");
    assert_eq!(fault.kind, FaultKind::Protocol);
}

#[tokio::test]
async fn an_empty_cursor_keeps_the_old_one() {
    let platform = platform();
    platform.push_poll(answer(1, ""));
    let (session, _stop) = connect(&platform, Some("b0")).await;
    let batch = session.next_batch(None).await.expect("a batch");
    assert_eq!((texts(&batch), batch.checkpoint.as_str()), (vec!["t0"], "b0"));
    session.next_batch(Some(batch.token)).await.expect("an empty batch");
    assert_eq!(platform.cursor_seen().as_deref(), Some("b0"));
}

/// In small: the platform holds a poll longer than it said.
#[tokio::test]
async fn poll_late() {
    let platform = platform();
    let (session, _stop) = connect(&platform, None).await;
    let first = session.next_batch(None).await.expect("an empty batch, with the hint of 50 ms");
    platform.hold_next(Duration::from_millis(1500));
    platform.push_message(OWNER, "late");
    let batch = session.next_batch(Some(first.token)).await.expect("a batch");
    assert_eq!(texts(&batch), ["late"]);
    assert_eq!(platform.requests(Endpoint::GetUpdates).len(), 2, "the poll was not given up");
}

#[tokio::test]
async fn stop_fast() {
    let platform = platform();
    platform.hold(Duration::from_secs(35));
    let (session, stop) = connect(&platform, None).await;
    let reading = tokio::spawn(async move { session.next_batch(None).await });
    platform.wait_held(true, LIMIT).await.expect("the poll is held");
    stop.fire();
    let fault = reading.await.expect("no panic").expect_err("the poll ended");
    assert_eq!(fault.kind, FaultKind::Cancelled);
    platform.wait_held(false, LIMIT).await.expect("the platform sees the end");
}

/// The second empty answer that was not held rests before the third poll, and stop ends that.
#[tokio::test]
async fn a_platform_that_holds_no_polls_is_not_polled_in_a_hot_loop() {
    let platform = platform();
    for n in 0..3 {
        platform.push_poll(answer(0, &format!("b{n}")));
    }
    let (session, stop) = connect(&platform, None).await;
    let first = session.next_batch(None).await.expect("a sign of life");
    let begin = Instant::now();
    let second = session.next_batch(Some(first.token)).await.expect("an empty batch");
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
    assert!(second.messages.is_empty() && !second.quiet);

    let reading = tokio::spawn(async move { session.next_batch(Some(second.token)).await });
    platform.wait_requests(Endpoint::GetUpdates, 3, LIMIT).await.expect("the third poll");
    let begin = Instant::now();
    stop.fire();
    let _batch_or_cancelled = reading.await.expect("no panic");
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_signed_out_bot_says_so() {
    let platform = platform();
    platform.sign_out(true);
    let (session, _stop) = connect(&platform, None).await;
    let fault = session.next_batch(None).await.expect_err("signed out");
    assert_eq!((fault.kind, fault.code.as_deref()), (FaultKind::Auth, Some("-14")));

    platform.sign_out(false);
    let (session, _stop) = connect(&platform, None).await;
    session.next_batch(None).await.expect("a later good poll clears it");
}

#[tokio::test]
async fn trouble_on_the_way_is_tried_again() {
    let platform = platform();
    for trouble in [
        Fault::HangupBefore,
        Fault::HangupAfter,
        Fault::Answer(503, "<html>".to_owned()),
        Fault::Answer(429, String::new()),
    ] {
        let (session, _stop) = connect(&platform, None).await;
        platform.fault_next(Endpoint::GetUpdates, trouble.clone());
        let fault = session.next_batch(None).await.expect_err("trouble");
        assert_eq!(fault.kind, FaultKind::Retry, "{trouble:?}");
        assert!(!fault.message.contains("127.0.0.1"), "{}", fault.message);
    }
}

#[tokio::test]
async fn unusable_answers_run_nothing() {
    let platform = platform();
    for id in ["cursor-missing", "msgs-missing-ret0"] {
        wechat_case(id).expect("a case").script(&platform);
        let (session, _stop) = connect(&platform, Some("b0")).await;
        let fault = session.next_batch(None).await.expect_err(id);
        assert_eq!(fault.kind, FaultKind::Protocol);
    }
}
