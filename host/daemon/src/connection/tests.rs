//! The rules of a connection, as a client sees them line by line.

use std::time::Duration;

use scv_protocol::limits::MAX_CLIENT_FRAME_BYTES;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, DuplexStream, Lines, WriteHalf},
    task::JoinHandle,
};

use super::*;
use crate::{Config, components, limits::MAX_WAITING_COMMANDS_COUNT};

/// Longer than any answer takes on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// A client without manners: it writes what it likes.
struct Raw {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    serve: JoinHandle<()>,
    stop: CancellationToken,
}

impl Raw {
    fn connect() -> Self {
        Self::connect_with(None)
    }

    fn connect_with(components: Option<Arc<Components>>) -> Self {
        let server = Arc::new(Server {
            sessions: Sessions::new(Config::default()).unwrap(),
            components,
            tasks: TaskTracker::new(),
        });
        let (ours, theirs) = tokio::io::duplex(4096);
        let stop = CancellationToken::new();
        let serve = tokio::spawn(serve(server, theirs, stop.clone()));
        let (reader, writer) = tokio::io::split(ours);
        Self { lines: BufReader::new(reader).lines(), writer, serve, stop }
    }

    async fn initialized(version: u32) -> Self {
        let mut raw = Self::connect();
        let answer = raw.ask(&hello(version)).await;
        assert_eq!(answer["protocol_version"], version);
        raw
    }

    async fn write(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    async fn read(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(SOON, self.lines.next_line()).await.expect("silence");
        let line = line.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.ask_line(&message.to_string()).await
    }

    async fn ask_line(&mut self, line: &str) -> Value {
        self.write(line).await;
        self.read().await.expect("an answer")
    }

    /// The error's code, after checking that the connection goes on.
    async fn refused(&mut self, message: &Value) -> String {
        let answer = self.ask(message).await;
        assert_eq!(answer["type"], "error", "{answer}");
        assert_eq!(answer["fatal"], false, "{answer}");
        assert_eq!(answer["request_id"], message["request_id"], "{answer}");
        answer["code"].as_str().unwrap().to_owned()
    }

    /// Opens a session and gives its id.
    async fn session(&mut self) -> Value {
        let cwd = std::env::temp_dir();
        let start = json!({"type": "session.start", "request_id": "s", "cwd": cwd});
        let started = self.ask(&start).await;
        assert_eq!(started["type"], "session.started", "{started}");
        assert_eq!(self.read().await.unwrap()["type"], "queue.snapshot");
        started["session_id"].clone()
    }
}

fn hello(version: u32) -> Value {
    json!({"type": "initialize", "request_id": "h", "protocol_version": version,
           "client": {"name": "test", "version": "0"}})
}

fn start() -> Value {
    json!({"type": "session.start", "request_id": "2", "cwd": "/"})
}

#[tokio::test]
async fn nothing_goes_before_initialize() {
    let mut raw = Raw::connect();
    let status =
        json!({"type": "daemon.control", "request_id": "1", "command": {"action": "status"}});
    assert_eq!(raw.refused(&status).await, "not_initialized");
    assert_eq!(raw.refused(&start()).await, "not_initialized");
    assert_eq!(raw.ask(&hello(3)).await["type"], "initialized");
    assert_eq!(raw.refused(&hello(3)).await, "invalid_request");
}

#[tokio::test]
async fn both_versions_are_served_and_no_other() {
    for version in [2, 3] {
        Raw::initialized(version).await;
    }
    let client = json!({"name": "test", "version": "0"});
    for version in [json!(0), json!(4), json!(-1), json!("3"), json!(2.5), Value::Null] {
        for client in [&client, &Value::Null] {
            let mut hello = hello(3);
            hello["protocol_version"] = version.clone();
            hello["client"] = client.clone();
            let mut raw = Raw::connect();
            let answer = raw.ask(&hello).await;
            assert_eq!(answer["code"], "version_mismatch", "{hello}");
            assert_eq!(answer["fatal"], true);
            assert_eq!(answer["request_id"], "h");
            assert_eq!(raw.read().await, None, "no event follows a fatal one");
            raw.serve.await.unwrap();
        }
    }
    let mut raw = Raw::initialized(3).await;
    assert_eq!(raw.refused(&hello(9)).await, "invalid_request", "too late for a mismatch");
}

#[tokio::test]
async fn lines_that_are_no_messages() {
    let mut raw = Raw::initialized(3).await;
    for line in ["nonsense", "[1]", "\"text\"", "{\"type\":\"turn.start\"", "{\"a\":1}x"] {
        let answer = raw.ask_line(line).await;
        assert_eq!(answer["code"], "invalid_json", "{line}");
        assert_eq!(answer["fatal"], false);
    }
    let unknown = json!({"type": "teleport", "request_id": "7"});
    assert_eq!(raw.refused(&unknown).await, "invalid_request");
    let incomplete = json!({"type": "turn.start", "request_id": "8"});
    assert_eq!(raw.refused(&incomplete).await, "invalid_request");
    let extra = json!({"type": "session.attach", "request_id": "9", "unheard_of": true});
    assert_eq!(raw.refused(&extra).await, "unsupported");
}

#[tokio::test]
async fn an_endless_line_is_refused_before_it_ends() {
    let mut raw = Raw::initialized(3).await;
    let chunk = vec![b'x'; 64 * 1024];
    for _ in 0..=MAX_CLIENT_FRAME_BYTES / chunk.len() {
        raw.writer.write_all(&chunk).await.unwrap();
    }
    let answer = raw.read().await.unwrap();
    assert_eq!(answer["code"], "invalid_request");
    raw.write("still the same line").await;
    let attach = json!({"type": "session.attach", "request_id": "1"});
    assert_eq!(raw.refused(&attach).await, "unsupported", "the next line counts again");
}

#[tokio::test]
async fn the_last_line_needs_no_newline() {
    let mut raw = Raw::initialized(3).await;
    raw.writer.write_all(br#"{"type":"session.attach","request_id":"1"}"#).await.unwrap();
    raw.writer.shutdown().await.unwrap();
    assert_eq!(raw.read().await.unwrap()["code"], "unsupported");
    assert_eq!(raw.read().await, None);
    raw.serve.await.unwrap();
}

#[tokio::test]
async fn a_client_that_only_stopped_writing_gets_its_answers() {
    let home = tempfile::tempdir().unwrap();
    let components = components::tests::components(home.path());
    let mut raw = Raw::connect_with(Some(Arc::clone(&components)));
    raw.ask(&hello(3)).await;
    let changing = components.change().await;
    for id in ["1", "2"] {
        let reload = json!({"type": "daemon.control", "request_id": id,
                            "command": {"action": "reload"}});
        raw.write(&reload.to_string()).await;
    }
    raw.writer.shutdown().await.unwrap();
    // Long enough for the connection to have seen its end.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(changing);
    for id in ["1", "2"] {
        assert_eq!(raw.read().await.expect("an answer")["request_id"], id);
    }
    assert_eq!(raw.read().await, None);
    raw.serve.await.unwrap();
}

#[tokio::test]
async fn a_client_that_only_stopped_reading_ends_in_order() {
    let server = Arc::new(Server {
        sessions: Sessions::new(Config::default()).unwrap(),
        components: None,
        tasks: TaskTracker::new(),
    });
    let (mut client, reader) = tokio::io::duplex(4096);
    let (gone, writer) = tokio::io::duplex(4096);
    drop(gone);
    let stream = tokio::io::join(reader, writer);
    let serve = tokio::spawn(serve(server, stream, CancellationToken::new()));
    client.write_all(b"nonsense\n").await.unwrap();
    serve.await.expect("no panic");
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_and_told_why() {
    let began = tokio::time::Instant::now();
    let mut silent = Raw::connect();
    let told = silent.read().await.unwrap();
    assert_eq!((&told["code"], &told["fatal"]), (&json!("not_initialized"), &json!(true)));
    assert_eq!(silent.read().await, None);
    silent.serve.await.unwrap();
    assert_eq!(began.elapsed().as_millis(), u128::from(INITIALIZE_MS));

    let mut raw = Raw::initialized(3).await;
    tokio::time::sleep(Duration::from_millis(10 * INITIALIZE_MS)).await;
    assert_eq!(
        raw.refused(&hello(3)).await,
        "invalid_request",
        "it may be silent as long as it likes"
    );
}

#[tokio::test]
async fn one_session_a_connection() {
    let mut raw = Raw::initialized(3).await;
    let turn = json!({"type": "turn.start", "request_id": "1", "session_id": "x", "prompt": "p"});
    assert_eq!(raw.refused(&turn).await, "session_not_found");
    let relative = json!({"type": "session.start", "request_id": "1", "cwd": "here"});
    assert_eq!(raw.refused(&relative).await, "invalid_request");
    raw.session().await;
    assert_eq!(raw.refused(&start()).await, "invalid_request");
    assert_eq!(raw.refused(&turn).await, "session_not_found");
}

#[tokio::test]
async fn a_turn_over_the_whole_connection() {
    let mut raw = Raw::initialized(3).await;
    let session = raw.session().await;
    let turn =
        json!({"type": "turn.start", "request_id": "t", "session_id": session, "prompt": "hi"});
    raw.write(&turn.to_string()).await;
    let mut kinds = Vec::new();
    loop {
        let event = raw.read().await.unwrap();
        let kind = event["type"].as_str().unwrap().to_owned();
        if kind == "assistant.completed" {
            assert!(event["content"].as_str().unwrap().ends_with("hi"));
        }
        kinds.push(kind.clone());
        if kind == "turn.completed" {
            break;
        }
    }
    assert_eq!(kinds.first().unwrap(), "turn.started");
}

#[tokio::test]
async fn components_are_not_managed_in_process() {
    let mut raw = Raw::initialized(3).await;
    let status =
        json!({"type": "daemon.control", "request_id": "1", "command": {"action": "status"}});
    assert_eq!(raw.refused(&status).await, "unsupported");
}

/// Nothing that waits for the component lock may keep the next line from being read.
#[tokio::test]
async fn commands_wait_for_each_other_and_nothing_waits_for_them() {
    let home = tempfile::tempdir().unwrap();
    let components = components::tests::components(home.path());
    let mut raw = Raw::connect_with(Some(Arc::clone(&components)));
    raw.ask(&hello(3)).await;
    let session = raw.session().await;
    let turn = json!({"type": "turn.start", "request_id": "t", "session_id": session,
                      "prompt": "wait 3600"});
    let started = raw.ask(&turn).await;
    assert_eq!(started["type"], "turn.started");

    let changing = components.change().await;
    let reload = |id: usize| {
        json!({"type": "daemon.control", "request_id": id.to_string(),
               "command": {"action": "reload"}})
    };
    // One may be under way already when the next one comes.
    let taken = MAX_WAITING_COMMANDS_COUNT;
    for id in 0..taken + 2 {
        raw.write(&reload(id).to_string()).await;
    }
    let cancel = json!({"type": "turn.cancel", "request_id": "c", "session_id": session,
                        "turn_id": started["turn_id"]});
    raw.write(&cancel.to_string()).await;
    let mut refused = 0;
    loop {
        let event = raw.read().await.unwrap();
        match event["type"].as_str().unwrap() {
            "turn.cancelled" => break,
            "error" => refused += usize::from(event["code"] == "component_error"),
            "daemon.status" => panic!("the component lock is held: {event}"),
            _ => {}
        }
    }
    assert!(refused > 0, "how many wait is bounded");
    drop(changing);
    for id in 0..taken {
        assert_eq!(raw.read().await.unwrap()["request_id"], id.to_string(), "in their order");
    }
}

#[tokio::test]
async fn it_ends_when_the_client_goes_and_when_the_server_stops() {
    let mut raw = Raw::initialized(3).await;
    raw.session().await;
    let Raw { lines, writer, serve, .. } = raw;
    drop((lines, writer));
    serve.await.unwrap();

    let mut raw = Raw::initialized(3).await;
    raw.session().await;
    raw.stop.cancel();
    assert_eq!(raw.read().await, None);
    raw.serve.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_loses_its_connection() {
    let Raw { lines, mut writer, mut serve, stop } = Raw::connect();
    let flood = async { while writer.write_all(b"nonsense\n").await.is_ok() {} };
    let began = tokio::time::Instant::now();
    tokio::select! {
        () = flood => {}
        ended = &mut serve => ended.unwrap(),
    }
    assert!(began.elapsed() >= Duration::from_millis(BACKPRESSURE_MS));
    assert!(began.elapsed() <= Duration::from_millis(BACKPRESSURE_MS + 2 * CLEANUP_GRACE_MS));
    drop((lines, stop));
}
