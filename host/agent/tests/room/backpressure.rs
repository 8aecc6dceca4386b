//! Clients that do not read.

use scv_agent::{Outbox, OutboxLimits, SessionOptions, SubmitError};
use scv_protocol::{ClientMessage, ServerEvent};

use crate::client::{PATIENCE, agent, kind, start_in};

fn tight() -> OutboxLimits {
    OutboxLimits { frames: 4, ..OutboxLimits::default() }
}

#[tokio::test]
async fn cancel_works_while_nobody_reads_and_no_event_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let (outbox, mut reader) = Outbox::channel(tight());
    let options = SessionOptions { protocol_version: 3, outbox };
    let session = agent().start_session(start_in(folder.path()), options).await.expect("one");
    let session_id = session.id().clone();
    let prompt = format!("{}wait 3000", "line\n".repeat(100));
    let request_id = "t".to_owned();
    let message = ClientMessage::TurnStart { request_id, session_id: session_id.clone(), prompt };
    session.submit(message).await.expect("taken");
    let mut events: Vec<ServerEvent> = Vec::new();
    let mut turn = None;
    while !events.last().is_some_and(ServerEvent::is_terminal) {
        let frames = tokio::time::timeout(PATIENCE, reader.next()).await.expect("in time");
        let frames = frames.expect("open");
        let lines = frames.bytes().split_inclusive(|byte| *byte == b'\n');
        events.extend(lines.map(|line| serde_json::from_slice::<ServerEvent>(line).expect("one")));
        if let (None, Some(ServerEvent::TurnStarted { at, .. })) =
            (&turn, events.iter().find(|event| kind(event) == "turn.started"))
        {
            // The frames are not given back yet: the outbox is full.
            turn = Some(at.turn_id.clone());
            session
                .submit(ClientMessage::TurnCancel {
                    request_id: "c".into(),
                    session_id: session_id.clone(),
                    turn_id: at.turn_id.clone(),
                })
                .await
                .expect("taken");
        }
    }
    let seqs: Vec<_> = events
        .iter()
        .filter_map(|event| serde_json::to_value(event).expect("JSON")["seq"].as_u64())
        .collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert_eq!(kind(events.last().expect("one")), "turn.cancelled");
    assert!(events.len() < 50, "the provider did not run ahead: {}", events.len());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_and_never_reads_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (outbox, _reader) = Outbox::channel(tight());
    let options = SessionOptions { protocol_version: 3, outbox };
    let session = agent().start_session(start_in(folder.path()), options).await.expect("one");
    let message = || ClientMessage::SessionPause {
        request_id: "p".into(),
        session_id: session.id().clone(),
        paused: true,
    };
    let mut result = Ok(());
    for _ in 0..1000 {
        result = session.submit(message()).await;
        if result.is_err() {
            break;
        }
    }
    assert_eq!(result, Err(SubmitError::Backpressure));
    session.close().await;
}

#[tokio::test]
async fn a_lost_connection_ends_the_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let (outbox, reader) = Outbox::channel(OutboxLimits::default());
    let options = SessionOptions { protocol_version: 3, outbox };
    let session = agent().start_session(start_in(folder.path()), options).await.expect("one");
    drop(reader);
    let message = || ClientMessage::SessionPause {
        request_id: "p".into(),
        session_id: session.id().clone(),
        paused: true,
    };
    let closed = async { while session.submit(message()).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, closed).await.expect("it ends");
}
