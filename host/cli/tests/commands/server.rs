//! `scv server --stdio`: the protocol over pipes, and nothing else on stdout.

use std::{
    fs,
    io::{BufRead, BufReader, Lines, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Home, signal};

/// A program that talks to a server of its own.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn start(home: &Home) -> Self {
        let mut command = home.command(&["server", "--stdio", "--approval-policy", "never"]);
        let mut child = command.env("SCV_LOG", "trace").stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, lines }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The next line, which must be an event.
    fn next(&mut self) -> Option<Value> {
        let line = self.lines.next()?.unwrap();
        let event: Value = serde_json::from_str(&line).expect(&line);
        assert!(event["type"].is_string(), "{line}");
        Some(event)
    }

    fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().expect(kind);
            if event["type"] == kind {
                return event;
            }
        }
    }

    fn session(&mut self, home: &Home) -> Value {
        self.send(&json!({"type": "initialize", "request_id": "1", "protocol_version": 3,
                          "client": {"name": "test", "version": "0"}}));
        self.until("initialized");
        self.send(&json!({"type": "session.start", "request_id": "2", "cwd": home.plugins()}));
        self.until("session.started")["session_id"].clone()
    }

    fn ask(&mut self, session: &Value, prompt: &str) {
        self.send(&json!({"type": "turn.start", "request_id": "3", "session_id": session,
                          "prompt": prompt}));
    }

    /// Starts a command that would run for long, and gives its process once it runs.
    fn long_command(&mut self, home: &Home) -> String {
        let session = self.session(home);
        self.ask(&session, "call bash {\"command\":\"echo $$ > pid; exec sleep 600\"}");
        self.until("tool.started");
        let file = home.plugins().join("pid");
        loop {
            match fs::read_to_string(&file) {
                Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
                _ => std::thread::yield_now(),
            }
        }
    }

    /// The exit status, and the log.
    fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        while self.next().is_some() {}
        let status = self.child.wait().unwrap();
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (status.code().expect(&log), log)
    }
}

fn runs(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

#[test]
fn stdout_carries_frames_only_and_the_end_of_input_ends_it() {
    let home = Home::new();
    let mut client = Client::start(&home);
    let session = client.session(&home);
    client.ask(&session, "call bash {\"command\":\"echo from-the-tool\"}");
    let done = client.until("tool.completed");
    assert_eq!(done["output"], "from-the-tool\n");
    client.until("turn.completed");
    let (code, log) = client.end();
    assert_eq!(code, 0, "{log}");
    assert!(!home.path().exists(), "it needs no home");
}

#[test]
fn components_are_not_managed_over_pipes() {
    let home = Home::new();
    let mut client = Client::start(&home);
    client.session(&home);
    client.send(&json!({"type": "daemon.control", "request_id": "4",
                        "command": {"action": "status"}}));
    let refused = client.until("error");
    assert_eq!((&refused["code"], &refused["request_id"]), (&"unsupported".into(), &"4".into()));
    assert_eq!(client.end().0, 0);
}

#[test]
fn the_end_of_input_ends_a_command_that_runs() {
    let home = Home::new();
    let mut client = Client::start(&home);
    let pid = client.long_command(&home);
    assert!(runs(&pid));
    assert_eq!(client.end().0, 0);
    assert!(!runs(&pid), "the tool's process is left");
}

#[test]
fn sigterm_ends_a_command_that_runs_and_says_so() {
    let home = Home::new();
    let mut client = Client::start(&home);
    let pid = client.long_command(&home);
    signal(&client.child, Signal::TERM);
    client.until("turn.cancelled");
    assert_eq!(client.child.wait().unwrap().code(), Some(0));
    assert!(!runs(&pid), "the tool's process is left");
}

#[test]
fn a_client_that_only_stops_reading_ends_it() {
    let home = Home::new();
    let mut client = Client::start(&home);
    let session = client.session(&home);
    let Client { child, mut input, lines } = client;
    drop(lines);
    let turn = json!({"type": "turn.start", "request_id": "3", "session_id": session,
                      "prompt": "hello"});
    // The server may be gone before the whole line is written.
    let _ = writeln!(input.as_mut().unwrap(), "{turn}");
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    drop(input);
}

#[test]
fn what_makes_no_sense_is_said_before_it_serves() {
    let home = Home::new();
    let bare = home.scv(&["server"]).with(2);
    assert!(bare.err.contains("--stdio"), "{bare:?}");
    home.configure("[agent]\nsteps = 1\n");
    let wrong = home.scv(&["server", "--stdio"]).with(2);
    assert!(wrong.err.contains("config.toml:2: ") && wrong.out.is_empty(), "{wrong:?}");
}

#[test]
fn an_output_without_room_is_a_failure() {
    let home = Home::new();
    let mut command = home.command(&["server", "--stdio"]);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(full).spawn().unwrap();
    let initialize = json!({"type": "initialize", "request_id": "1", "protocol_version": 3,
                            "client": {"name": "test", "version": "0"}});
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{initialize}").unwrap();
    let done = child.wait_with_output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(told.contains("could not be written; "), "{told}");
    drop(input);
}

#[test]
fn a_folder_that_cannot_be_is_not_taken_for_a_wrong_configuration() {
    let home = Home::new();
    let mut client = Client::start(&home);
    client.send(&json!({"type": "initialize", "request_id": "1", "protocol_version": 3,
                        "client": {"name": "test", "version": "0"}}));
    client.until("initialized");
    client.send(&json!({"type": "session.start", "request_id": "2", "cwd": "/tmp\0x"}));
    let refused = client.until("error");
    assert!(refused["message"].as_str().unwrap().starts_with("cwd is "), "{refused}");
    assert_eq!(client.end().0, 0);
}
