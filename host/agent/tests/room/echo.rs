//! Sessions with the provider that needs nothing.

use std::path::PathBuf;

use scv_agent::{Outbox, OutboxLimits, SessionOptions};
use scv_protocol::{ClientMessage, ErrorCode, ServerEvent, SessionId, TurnId};

use crate::client::{
    agent, answer, approval_of, connect, connect_with, kind, kinds, outputs, shown, start_in,
    turn_of,
};

#[tokio::test]
async fn a_prompt_comes_back() {
    let mut client = connect(&agent()).await;
    let events = client.turn("hello").await;
    let text = "echo (no model is configured): hello";
    assert_eq!((answer(&events).as_str(), shown(&events).as_str()), (text, text));
    assert_eq!(kind(&events[0]), "turn.started");
    assert_eq!(kind(events.last().expect("an end")), "turn.completed");
}

#[tokio::test]
async fn session_started_tells_the_canonical_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (outbox, mut reader) = Outbox::channel(OutboxLimits::default());
    let mut start = start_in(folder.path());
    start.cwd = folder.path().join(".").join("..").join(folder.path().file_name().expect("a name"));
    let options = SessionOptions { protocol_version: 2, outbox };
    let session = agent().start_session(start, options).await.expect("a session");
    let frames = reader.next().await.expect("frames");
    let line = frames.bytes().split(|byte| *byte == b'\n').next().expect("a line");
    let started: ServerEvent = serde_json::from_slice(line).expect("an event");
    let ServerEvent::SessionStarted { session_id, cwd, model, request_id, .. } = started else {
        panic!("session.started first, not {started:?}");
    };
    assert_eq!(session_id, *session.id());
    assert_eq!(cwd, folder.path().canonicalize().expect("a path"));
    assert_eq!((model.as_str(), request_id.as_str()), ("echo", "start"));
}

#[tokio::test]
async fn a_wrong_start_is_an_invalid_request() {
    let agent = agent();
    let file = tempfile::NamedTempFile::new().expect("a file");
    let folders = [PathBuf::from("relative"), PathBuf::from("/no/such"), file.path().to_owned()];
    for cwd in folders {
        let error = connect_with(&agent, |start| start.cwd = cwd).await.err().expect("refused");
        assert_eq!(error.code(), ErrorCode::InvalidRequest);
    }
    let error = connect_with(&agent, |start| start.provider = Some("x".into())).await.err();
    let event = error.expect("refused").event("r".into());
    assert!(matches!(event, ServerEvent::Error { request_id: Some(id), .. } if id == "r"));
}

#[tokio::test]
async fn a_wait_is_cancelled_at_once_and_the_next_prompt_starts() {
    let mut client = connect(&agent()).await;
    client.start("slow\nwait 3000").await;
    let events = client.until("assistant.delta").await;
    client.start("next").await;
    assert_eq!(kind(client.until("queue.enqueued").await.last().expect("one")), "queue.enqueued");
    client.cancel(turn_of(&events[0])).await;
    let events = client.until("queue.dequeued").await;
    assert_eq!(kinds(&events[events.len() - 2..]), ["turn.cancelled", "queue.dequeued"]);
    assert!(answer(&client.until_end().await).ends_with("next"));
}

#[tokio::test]
async fn an_approved_command_runs_and_a_denied_one_does_not() {
    let mut client = connect(&agent()).await;
    let prompt = "call bash {\"command\":\"echo run >> ran; cat ran\"}";
    for (approved, output) in [(true, "run\n"), (false, "denied")] {
        client.start(prompt).await;
        let events = client.until("approval.requested").await;
        client.resolve(approval_of(events.last().expect("it")), approved).await;
        let events = client.until_end().await;
        let done = outputs(&events);
        assert!(done[0].0.contains(output) && done[0].1 == approved, "{done:?}");
        assert_eq!(kinds(&events).contains(&"tool.started".to_owned()), approved);
        assert!(answer(&events).contains(output));
    }
    let ran = std::fs::read_to_string(client.folder.path().join("ran")).expect("it ran once");
    assert_eq!(ran, "run\n");
}

#[tokio::test]
async fn without_tools_a_call_is_refused_unasked() {
    let mut client = connect_with(&agent(), |start| start.no_tools = true).await.expect("one");
    let events = client.turn("call bash {\"command\":\"touch x\"}").await;
    assert_eq!(
        kinds(&events)[2..4],
        ["tool.proposed", "tool.completed"],
        "no approval is asked for"
    );
    assert!(answer(&events).contains("tools are turned off"));
    assert!(!client.folder.path().join("x").exists());
}

#[tokio::test]
async fn messages_for_nobody_are_answered_with_their_request_id() {
    let mut client = connect(&agent()).await;
    client
        .submit(ClientMessage::TurnCancel {
            request_id: "lost".into(),
            session_id: SessionId::new("other"),
            turn_id: TurnId::new("t"),
        })
        .await;
    let event = client.next().await;
    let ServerEvent::Error { request_id, code, fatal: false, .. } = event else {
        panic!("an error, not {event:?}");
    };
    assert_eq!((request_id.as_deref(), code), (Some("lost"), ErrorCode::SessionNotFound));
}

#[tokio::test]
async fn close_cancels_what_runs_and_waits_for_it() {
    let mut client = connect(&agent()).await;
    client.start("call bash {\"command\":\"echo up > up; sleep 300\"}").await;
    let events = client.until("approval.requested").await;
    client.resolve(approval_of(events.last().expect("it")), true).await;
    client.until("tool.started").await;
    let events = client.close().await;
    assert_eq!(kinds(&events), ["tool.completed", "turn.cancelled"]);
}

#[tokio::test]
async fn a_dropped_session_ends_by_itself() {
    let mut client = connect(&agent()).await;
    client.start("wait 3000").await;
    client.until("turn.started").await;
    let (other, _reader) = Outbox::channel(OutboxLimits::default());
    let options = SessionOptions { protocol_version: 3, outbox: other };
    let start = start_in(client.folder.path());
    client.session = agent().start_session(start, options).await.expect("another");
    assert_eq!(kind(client.until_end().await.last().expect("one")), "turn.cancelled");
}
