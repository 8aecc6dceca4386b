//! Bounds, order, and that nobody waits for ever.

use std::time::Duration;

use scv_protocol::ErrorCode;
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::limits::OUTBOX_BATCH_BYTES;

fn event(text: &str) -> ServerEvent {
    ServerEvent::error(None, ErrorCode::InternalError, text)
}

fn limits(frames: usize, bytes: usize) -> OutboxLimits {
    OutboxLimits { frames, bytes, max_frame_bytes: 200 }
}

#[tokio::test]
async fn frames_that_are_ready_leave_together_in_order() {
    let (outbox, mut reader) = Outbox::channel(OutboxLimits::default());
    for text in ["a", "b", "c"] {
        outbox.send(&event(text)).await.expect("room");
    }
    let frames = reader.next().await.expect("frames");
    assert_eq!(frames.count(), 3);
    let lines: Vec<ServerEvent> = frames
        .bytes()
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).expect("an event"))
        .collect();
    assert_eq!(lines, [event("a"), event("b"), event("c")]);
}

#[tokio::test]
async fn a_frame_too_large_leaves_no_trace() {
    let (outbox, mut reader) = Outbox::channel(limits(10, 0));
    outbox.send(&event("a")).await.expect("room");
    let large = outbox.send(&event(&"x".repeat(200))).await;
    assert_eq!(large, Err(OutboxError::TooLarge { limit: 200 }));
    let frames = reader.next().await.expect("frames");
    assert_eq!(frames.count(), 1);
    assert_eq!(frames.bytes().iter().filter(|byte| **byte == b'\n').count(), 1);
}

#[tokio::test]
async fn capacity_is_free_only_when_frames_are_written() {
    let (outbox, mut reader) = Outbox::channel(limits(2, 100_000));
    for _ in 0..2 {
        outbox.send(&event("a")).await.expect("room");
    }
    assert!(outbox.send_later(&event("b")).is_none());
    let frames = reader.next().await.expect("frames");
    assert!(outbox.send_later(&event("b")).is_none(), "the two are being written");
    drop(frames);
    assert_eq!(outbox.send_later(&event("b")), Some(Ok(())));
}

#[tokio::test]
async fn bytes_are_bounded_too() {
    let (outbox, mut reader) = Outbox::channel(limits(1000, 1000));
    let mut sent = 0;
    while outbox.send_later(&event(&"x".repeat(50))).is_some() {
        sent += 1;
    }
    let frames = reader.next().await.expect("frames");
    assert!(frames.bytes().len() <= 1000 && sent < 1000 && sent > 2, "{sent}");
}

#[tokio::test]
async fn a_full_batch_takes_no_more_and_the_order_stays() {
    let (outbox, mut reader) = Outbox::channel(OutboxLimits::default());
    let large = "x".repeat(OUTBOX_BATCH_BYTES);
    for text in ["a", &large, "b", "c"] {
        outbox.send(&event(text)).await.expect("room");
    }
    let mut counts = Vec::new();
    for expected in ["a", "b"] {
        let frames = reader.next().await.expect("frames");
        assert!(String::from_utf8_lossy(frames.bytes()).contains(&format!("\"{expected}\"")));
        counts.push(frames.count());
    }
    assert_eq!(counts, [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_send_waits_and_a_bounded_one_gives_up() {
    let (outbox, mut reader) = Outbox::channel(limits(1, 0));
    outbox.send(&event("a")).await.expect("room");
    let bounded = outbox.send_within(&event("b"), Duration::from_secs(3)).await;
    assert_eq!(bounded, Err(OutboxError::Backpressure));
    let waiting = AbortOnDropHandle::new(tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.send(&event("c")).await }
    }));
    drop(reader.next().await);
    assert_eq!(waiting.await.expect("no panic"), Ok(()));
    let frames = reader.next().await.expect("frames");
    assert!(String::from_utf8_lossy(frames.bytes()).contains("\"c\""));
}

#[tokio::test]
async fn both_ends_end_the_queue() {
    let (outbox, mut reader) = Outbox::channel(OutboxLimits::default());
    outbox.send(&event("last")).await.expect("room");
    outbox.close();
    assert_eq!(outbox.send(&event("late")).await, Err(OutboxError::Closed));
    assert!(reader.next().await.is_some(), "what was queued is still written");
    assert!(reader.next().await.is_none());

    let (outbox, mut reader) = Outbox::channel(OutboxLimits::default());
    drop(outbox.clone());
    assert!(!outbox.is_closed());
    drop(outbox);
    assert!(reader.next().await.is_none());

    let (outbox, reader) = Outbox::channel(limits(1, 0));
    outbox.send(&event("a")).await.expect("room");
    let late = event("b");
    let (result, ()) = tokio::join!(outbox.send(&late), async { drop(reader) });
    assert_eq!(result, Err(OutboxError::Closed));
}
