//! One daemon a home, whoever else tries.

use std::{
    io::Read,
    process::{Child, Stdio},
    thread,
};

use rustix::process::Signal;
use serde_json::json;

use crate::{raw::Raw, support::Home};

/// Rounds of two daemons that start at once: 200 with `SCV_LONG_TESTS`.
fn rounds() -> usize {
    if std::env::var_os("SCV_LONG_TESTS").is_some() { 200 } else { 4 }
}

/// Killed when the test fails.
struct Started(Child);

impl Started {
    fn new(home: &Home) -> Self {
        let mut command = home.command(&["run", "--no-plugins"]);
        Self(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// It was refused, and told whose the home is.
    fn was_refused_by(mut self, owner: u32) {
        assert_eq!(self.0.wait().unwrap().code(), Some(1));
        let mut text = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(text.contains(&format!("(pid {owner})")), "{text}");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process that answers on the socket, once one does.
fn who_answers(home: &Home) -> u64 {
    while Raw::connect(home).is_err() {
        thread::yield_now();
    }
    let mut raw = Raw::hello(home);
    let status = raw.ask(&json!({"type": "daemon.control", "request_id": "s",
                                 "command": {"action": "status"}}));
    status["status"]["pid"].as_u64().unwrap()
}

#[test]
fn of_two_that_start_at_once_exactly_one_serves() {
    let home = Home::new();
    for round in 0..rounds() {
        // The one before was killed: its socket and its lock file are still there.
        assert_eq!(home.path().join("server.sock").exists(), round > 0);
        let (mut one, mut other) = (Started::new(&home), Started::new(&home));
        let (owner, loser) = loop {
            match (one.has_ended(), other.has_ended()) {
                (false, false) => thread::yield_now(),
                (true, _) => break (other, one),
                (_, true) => break (one, other),
            }
        };
        let pid = owner.0.id();
        loser.was_refused_by(pid);
        assert_eq!(who_answers(&home), u64::from(pid), "round {round}");
        drop(owner);
    }
}

#[test]
fn an_owner_that_was_stopped_is_not_robbed() {
    let home = Home::new();
    let owner = home.daemon(&["--no-plugins"]);
    let pid = owner.pid();
    owner.signal(Signal::STOP);
    Started::new(&home).was_refused_by(pid);
    owner.signal(Signal::CONT);
    assert_eq!(who_answers(&home), u64::from(pid));
    assert_eq!(owner.terminate(), 0);
}
