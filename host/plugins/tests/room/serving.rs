//! A plugin that behaves: signing in, reading, sending, closing, through the built library.

use std::{sync::Arc, time::Duration};

use crate::common::*;
use futures_util::FutureExt;
use scv_plugin_api::wire::{FaultKind, InspectRequest, LoginEventBody, LoginResult, SendOutcome};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    time::Instant,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_shows_asks_and_ends_with_credentials() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.options()).await;
    let person = Arc::new(Person::default());
    let result = channel.transport.login(login_request(), person.clone()).await.unwrap();
    let LoginResult::SignedIn { credentials, .. } = result else {
        panic!("{result:?}");
    };
    assert_eq!(credentials.expose()["owner_id"], "ann");
    let shown = person.shown.lock().unwrap().clone();
    assert!(matches!(shown[0], LoginEventBody::Qr { .. }), "{shown:?}");
    assert!(matches!(shown[3], LoginEventBody::Notice { .. }), "{shown:?}");
    let request =
        InspectRequest { channel: "fixture".into(), account: "default".into(), credentials };
    let identity = channel.transport.inspect(request).await.unwrap();
    assert_eq!(identity.owner_id.as_deref(), Some("ann"));
    assert!(host.find_channel("fixed").is_some(), "aliases count");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_come_in_order_and_again_until_they_are_acknowledged() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.options()).await;
    let session = connected(&channel, inbox(&["1", "2"])).await;
    let first = session.next_batch(None).await.unwrap();
    assert_eq!(first.messages[0].id, "1");
    drop(session);

    let session = connected(&channel, inbox(&["1", "2"])).await;
    let again = session.next_batch(None).await.unwrap();
    assert_eq!(again, first);
    let second = session.next_batch(Some(again.token.clone())).await.unwrap();
    assert_eq!(second.messages[0].id, "2");
    let repeated = session.next_batch(Some(again.token)).await.unwrap_err();
    assert_eq!(repeated.kind, FaultKind::Protocol, "an old ack is refused");
    let empty = session.next_batch(Some(second.token)).await.unwrap();
    assert!(empty.messages.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_dropped_at_any_moment_loses_nothing() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.options()).await;
    let ids: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let session = connected(&channel, inbox(&ids)).await;
    let mut ack = None;
    let mut dropped = 0;
    for id in ids {
        let batch = loop {
            // One poll, then the future is dropped unless it had the batch.
            match session.next_batch(ack.clone()).now_or_never() {
                Some(batch) => break batch.unwrap(),
                None => tokio::task::yield_now().await,
            }
            dropped += 1;
        };
        assert_eq!(batch.messages[0].id, id);
        ack = Some(batch.token);
    }
    assert!(dropped >= 200, "each batch made somebody wait");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_reader_at_a_time() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.options()).await;
    let session = connected(&channel, inbox(&[])).await;
    let (first, second) = tokio::join!(session.next_batch(None), session.next_batch(None));
    assert!(first.is_ok());
    assert_eq!(second.unwrap_err().kind, FaultKind::Protocol);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_reaches_the_platform_and_brings_its_receipt() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.options()).await;
    let platform = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let sink = platform.local_addr().unwrap().to_string();
    let session = connected(&channel, json!({ "sink": sink })).await;
    let seen = async {
        let (stream, _) = platform.accept().await.unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).await.unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    };
    let (outcome, seen) = tokio::join!(session.send(message("c1", "hello")), seen);
    let receipt = Some("receipt-c1".to_owned());
    assert_eq!(outcome, SendOutcome::Accepted { receipt });
    assert_eq!(seen["text"], "hello");
    assert_eq!(seen["reply_to"], "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_through_and_unknown_ones_say_so() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.options()).await;
    let session = connected(&channel, inbox(&[])).await;
    let payload = json!({ "text": "x" });
    let plugin = &channel.transport;
    assert_eq!(plugin.call("echo", payload.clone()).await.unwrap(), payload);
    assert_eq!(session.call("echo", payload.clone()).await.unwrap(), payload);
    let unknown = plugin.call("nothing", json!({})).await.unwrap_err();
    assert_eq!(unknown.kind, FaultKind::Unsupported);
    let unknown = session.call("nothing", json!({})).await.unwrap_err();
    assert_eq!(unknown.kind, FaultKind::Unsupported);
    let bad = plugin.call("not-an-object", json!({})).await.unwrap_err();
    assert_eq!(bad.kind, FaultKind::Protocol);
    let bad = plugin.call("echo", json!("text")).await.unwrap_err();
    assert_eq!(bad.kind, FaultKind::Protocol);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_ends_a_waiting_reader_at_once() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.options()).await;
    let session = connected(&channel, inbox(&[])).await;
    let started = Instant::now();
    let (read, closed) = tokio::join!(session.next_batch(None), session.close(5_000));
    assert_eq!(closed.unwrap().tasks_left, 0);
    assert!(started.elapsed() < Duration::from_secs(2));
    // What had arrived, or that it is over; both are right.
    assert!(read.is_ok() || read.unwrap_err().kind == FaultKind::Cancelled);
    let late = session.next_batch(None).await.unwrap_err();
    assert!(matches!(late.kind, FaultKind::Cancelled | FaultKind::Protocol));
    assert!(host.shutdown(Duration::from_secs(5)).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_ignores_stop_is_dropped_half_a_second_later() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.options()).await;
    let session = connected(&channel, json!({ "fault": "next_batch:pend" })).await;
    let started = Instant::now();
    let (read, closed) = tokio::join!(session.next_batch(None), session.close(5_000));
    assert_eq!(read.unwrap_err().kind, FaultKind::Cancelled);
    assert_eq!(closed.unwrap().tasks_left, 0);
    let took = started.elapsed();
    let bounds = Duration::from_millis(450)..Duration::from_secs(2);
    assert!(bounds.contains(&took), "{took:?}");
    assert!(host.shutdown(Duration::from_secs(5)).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_shutdown_everything_is_cancelled() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.options()).await;
    let session = connected(&channel, inbox(&[])).await;
    session.close(1_000).await.unwrap();
    let forgotten = connected(&channel, inbox(&[])).await;
    assert!(host.shutdown(Duration::from_secs(5)).await.is_empty());
    let connect = channel.transport.connect(connect_request(inbox(&[]))).await;
    assert_eq!(connect.err().unwrap().kind, FaultKind::Cancelled);
    let call = channel.transport.call("echo", json!({})).await;
    assert_eq!(call.unwrap_err().kind, FaultKind::Cancelled);
    assert!(host.shutdown(Duration::from_secs(5)).await.is_empty(), "twice is no harm");
    assert_eq!(forgotten.close(1_000).await.unwrap().tasks_left, 0, "late is no harm");
}
