//! `scv exec`: what scripts branch on.

use std::io::{BufRead, BufReader};

use rustix::process::Signal;

use crate::support::{Home, signal};

const CALL: &str = "call bash {\"command\":\"echo from-the-tool\"}";

#[test]
fn the_answer_alone_is_on_stdout() {
    let home = Home::new();
    let done = home.scv(&["exec", "hello"]).with(0);
    assert_eq!(done.out, "echo (no model is configured): hello\n");
    assert_eq!(done.err, "");
    assert!(!home.path().exists(), "a private server leaves nothing behind");
}

#[test]
fn prompts_come_from_a_pipe_too() {
    let home = Home::new();
    for words in [&["exec"][..], &["exec", "-"]] {
        let done = home.scv_with_input(words, "piped").with(0);
        assert!(done.out.ends_with("piped\n"), "{done:?}");
    }
    home.scv_with_input(&["exec"], " \n").with(2);
    for words in [&["exec"][..], &["exec", ""]] {
        let none = home.scv(words).with(2);
        assert!(none.err.contains("there is no prompt; write one"), "{none:?}");
    }
}

#[test]
fn tool_calls_are_denied_unless_approved() {
    let home = Home::new();
    let denied = home.scv(&["exec", CALL]).with(3);
    assert!(!denied.out.contains("from-the-tool"), "{denied:?}");
    assert!(denied.err.contains("--yes"), "{denied:?}");
    let approved = home.scv(&["exec", "--yes", CALL]).with(0);
    assert!(approved.out.contains("from-the-tool"), "{approved:?}");
    let never = home.scv(&["exec", "--private", "--approval-policy", "never", CALL]);
    assert!(never.with(0).out.contains("from-the-tool"));
}

#[test]
fn failures_have_their_own_status() {
    let home = Home::new();
    home.scv(&["exec", "--daemon", "hello"]).with(6);
    home.scv(&["exec", "--daemon", "--private", "hello"]).with(2);
    let absent = home.scv(&["exec", "--provider", "absent", "hello"]).with(2);
    assert!(absent.err.contains("'absent'; name one of echo, openai"), "{absent:?}");
    home.configure("[agent]\nmax_steps = 1\n");
    home.scv(&["exec", "--yes", CALL]).with(4);
    // Port 1 of the loopback address has no server on any sane machine.
    home.configure(
        "[providers.local]\nwire_api = 'chat'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'm'\nmax_retries = 0\n",
    );
    home.scv(&["exec", "hello"]).with(5);
    home.configure("[agent]\nsteps = 1\n");
    let usage = home.scv(&["exec", "hello"]).with(2);
    assert!(usage.err.contains("config.toml:2: "), "{usage:?}");
}

#[test]
fn json_gives_every_event() {
    let done = Home::new().scv(&["exec", "--json", "hello"]).with(0);
    let kinds: Vec<String> = done
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds.first().unwrap(), "session.started");
    assert_eq!(kinds.last().unwrap(), "turn.completed");
}

#[test]
fn ctrl_c_cancels_the_turn() {
    let home = Home::new();
    let mut child = home.command(&["exec", "--json", "wait 600"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains("turn.started") {}
    signal(&child, Signal::INT);
    assert!(lines.any(|line| line.unwrap().contains("turn.cancelled")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
