//! Clients without manners get the contract's errors, and the others notice nothing.

use std::{
    io::{ErrorKind, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};

use crate::{
    raw::{Raw, turn},
    support::Home,
};

/// Somebody else, whose turns and commands are answered all the while.
struct Bystander {
    answers: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Bystander {
    fn begin(home: &Home) -> Self {
        let (answers, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let mut raw = Raw::hello(home);
        let thread = thread::spawn({
            let (answers, stop) = (Arc::clone(&answers), Arc::clone(&stop));
            move || {
                let session = raw.session();
                while !stop.load(Ordering::Relaxed) {
                    raw.start_turn(&session, "still there?");
                    let answer = raw.until("assistant.completed");
                    assert!(answer["content"].as_str().unwrap().ends_with("still there?"));
                    raw.until("turn.completed");
                    let reload = json!({"type": "daemon.control", "request_id": "r",
                                        "command": {"action": "reload"}});
                    raw.send(&reload);
                    raw.until("daemon.status");
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self { answers, stop, thread }
    }

    /// Waits until it has been answered again a few times.
    fn is_answered(&self) {
        let enough = self.answers.load(Ordering::Relaxed) + 3;
        while self.answers.load(Ordering::Relaxed) < enough {
            assert!(!self.thread.is_finished(), "the bystander was disturbed");
            thread::yield_now();
        }
    }

    fn end(self) {
        self.is_answered();
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

fn attach() -> Value {
    json!({"type": "session.attach", "request_id": "a"})
}

/// The connection is as good as before.
fn goes_on(raw: &mut Raw) {
    assert_eq!(raw.ask(&attach())["code"], "unsupported");
}

#[test]
fn lines_that_are_none() {
    let home = Home::new();
    let _daemon = home.daemon(&["--no-plugins"]);
    let others = Bystander::begin(&home);
    let mut raw = Raw::hello(&home);

    raw.write(&vec![b'x'; 1024 * 1024 + 1]);
    let refused = raw.next();
    assert_eq!((&refused["code"], &refused["fatal"]), (&"invalid_request".into(), &false.into()));
    raw.write(b"the rest of it\n");
    goes_on(&mut raw);

    let deep = |open: &str| [open.repeat(200_000), "\n".into()].concat().into_bytes();
    for line in [
        b"\0\0\0\n".to_vec(),
        b"{\"type\":\"session.attach\",\"request_id\":\"\0\"}\n".to_vec(),
        b"{\"type\":\"session.attach\",\"request_id\":\"\xff\xfe\"}\n".to_vec(),
        b"\xf0\x28\x8c\x28\n".to_vec(),
        deep("["),
        deep("{\"a\":"),
    ] {
        raw.write(&line);
        let refused = raw.next();
        assert_eq!(refused["code"], "invalid_json", "{refused}");
        assert_eq!(refused["fatal"], false);
        goes_on(&mut raw);
    }
    // Unknown fields are ignored, and must not be a way around the limit of nesting.
    let field = [r#"{"type":"session.attach","request_id":"d","x":"#, &"[".repeat(100_000)];
    raw.write(format!("{}{}}}\n", field.concat(), "]".repeat(100_000)).as_bytes());
    assert_eq!(raw.next()["type"], "error");
    goes_on(&mut raw);
    others.end();
}

#[test]
fn ten_thousand_prompts_at_once() {
    const SENT: usize = 10_000;
    const PLACES: usize = 64;
    let home = Home::new();
    let _daemon = home.daemon(&["--no-plugins"]);
    let others = Bystander::begin(&home);
    let mut raw = Raw::hello(&home);
    let session = raw.session();
    raw.start_turn(&session, "wait 3600");
    let running = raw.until("turn.started")["turn_id"].clone();

    let mut writer = raw.stream.try_clone().unwrap();
    let line = format!("{}\n", turn(&session, "more"));
    let sending = thread::spawn(move || writer.write_all(line.repeat(SENT).as_bytes()));
    let (mut queued, mut refused) = (0, 0);
    while queued + refused < SENT {
        let event = raw.next();
        match event["type"].as_str().unwrap() {
            "queue.enqueued" => queued += 1,
            "error" => {
                assert_eq!(event["code"], "queue_limit", "{event}");
                refused += 1;
            }
            "assistant.delta" => {}
            other => panic!("{other}"),
        }
    }
    sending.join().unwrap().unwrap();
    assert_eq!(queued, PLACES);
    raw.send(&json!({"type": "session.pause", "request_id": "p", "session_id": session,
                     "paused": true}));
    raw.until("session.paused");
    raw.send(&json!({"type": "turn.cancel", "request_id": "c", "session_id": session,
                     "turn_id": running}));
    raw.until("turn.cancelled");
    others.end();
}

/// What belongs to no turn waits 3 seconds for its reader.
#[test]
fn a_client_that_asks_and_never_reads_loses_its_connection() {
    let home = Home::new();
    let _daemon = home.daemon(&["--no-plugins"]);
    let others = Bystander::begin(&home);
    let mut raw = Raw::hello(&home);
    let status = json!({"type": "daemon.control", "request_id": "s",
                        "command": {"action": "status"}});
    let line = format!("{}\n{status}\n", attach());
    let ended = loop {
        if let Err(error) = raw.stream.write_all(line.as_bytes()) {
            break error;
        }
    };
    let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
    assert!(kinds.contains(&ended.kind()), "{ended}");
    others.end();
}

/// A turn waits for its reader as long as it takes, and loses nothing. With `SCV_LONG_TESTS` the
/// reader stops for 10 seconds, otherwise for as long as the others need for a few turns.
#[test]
fn a_reader_that_stops_in_a_turn_misses_nothing() {
    let home = Home::new();
    let _daemon = home.daemon(&["--no-plugins"]);
    let others = Bystander::begin(&home);
    let mut raw = Raw::hello(&home);
    let session = raw.session();
    // A session's own answers wait behind the turn's: three turns are more than the pipe holds.
    let prompt = "word ".repeat(50_000);
    for _ in 0..3 {
        raw.start_turn(&session, &prompt);
    }
    if std::env::var_os("SCV_LONG_TESTS").is_some() {
        #[expect(
            clippy::disallowed_methods,
            reason = "on request: a client that reads nothing for long"
        )]
        thread::sleep(std::time::Duration::from_secs(10));
    }
    others.is_answered();
    let (mut seq, mut turns, mut text) = (1, 0, String::new());
    while turns < 3 {
        let event = raw.next();
        seq += 1;
        assert_eq!(event["seq"], seq, "{}", event["type"]);
        match event["type"].as_str().unwrap() {
            "assistant.delta" => text.push_str(event["content"].as_str().unwrap()),
            "assistant.completed" => {
                assert_eq!(event["content"].as_str(), Some(text.as_str()));
                text.clear();
            }
            "turn.completed" => turns += 1,
            _ => {}
        }
    }
    others.end();
}

#[test]
fn a_session_belongs_to_its_connection() {
    let home = Home::new();
    let _daemon = home.daemon(&["--no-plugins"]);
    let (mut one, mut other) = (Raw::hello(&home), Raw::hello(&home));
    let session = one.session();
    one.start_turn(&session, "wait 3600");
    one.until("turn.started");
    assert_ne!(other.session(), session);
    assert_eq!(other.ask(&turn(&session, "mine?"))["code"], "session_not_found");
    drop(one);
    // The turn ended with its connection; the daemon and the others did not.
    let own = Raw::hello(&home).session();
    assert_ne!(own, session);
    goes_on(&mut other);
}
