//! One scenario for every form of transport: what the bridge relies on.

use scv_plugin_api::{
    host::ChannelTransport,
    wire::{Batch, FaultKind, Inbound, Manifest, SendOutcome},
};
use scv_plugin_host::fake::Fake;

use crate::common::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_process() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.options()).await;
    scenario(&*channel.transport).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_process_of_its_own() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.apart()).await;
    assert_eq!(channel.isolation, scv_plugin_host::Isolation::Process);
    scenario(&*channel.transport).await;
}

#[tokio::test]
async fn fake() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.options()).await;
    let manifest: Manifest = channel.transport.manifest().clone();
    let fake = Fake::new(manifest);
    fake.read(Ok(Batch {
        token: "token-1".into(),
        checkpoint: "1".into(),
        messages: vec![Inbound { id: "1".into(), ..Inbound::default() }],
        ..Batch::default()
    }));
    scenario(&fake).await;
    assert_eq!(fake.sent().len(), 1);
    assert_eq!(fake.acks()[1].as_deref(), Some("token-1"));
    assert_eq!(fake.connected()[0].session_id, "session-1");
}

/// One message comes, is acknowledged and answered; then nothing; then the end.
async fn scenario(plugin: &dyn ChannelTransport) {
    assert_eq!(plugin.manifest().channels[0].id, "fixture");
    let session = plugin.connect(connect_request(inbox(&["1"]))).await.unwrap();
    let batch = session.next_batch(None).await.unwrap();
    assert_eq!((batch.messages[0].id.as_str(), batch.checkpoint.as_str()), ("1", "1"));
    let outcome = session.send(message("c1", "hello")).await;
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    let empty = session.next_batch(Some(batch.token)).await.unwrap();
    assert!(empty.messages.is_empty() && !empty.token.is_empty());
    let unknown = session.call("no-such-op", serde_json::json!({})).await;
    assert_eq!(unknown.unwrap_err().kind, FaultKind::Unsupported);

    let reading = session.next_batch(Some(empty.token));
    let (read, closed) = tokio::join!(reading, session.close(2_000));
    assert_eq!(closed.unwrap().tasks_left, 0);
    assert!(read.is_ok() || read.is_err_and(|fault| fault.kind == FaultKind::Cancelled));
    let late = session.send(message("c2", "late")).await;
    assert!(matches!(late, SendOutcome::Retry { .. }), "{late:?}");
    assert_eq!(plugin.shutdown(2_000).await.unwrap().tasks_left, 0);
}
