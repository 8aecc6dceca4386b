//! `scv run` and the commands that ask it.

use crate::support::Home;

#[test]
fn a_daemon_answers_and_ends_on_sigterm() {
    let home = Home::new();
    let daemon = home.daemon(&["--no-plugins"]);
    let status = home.scv(&["status", "--json"]).json();
    assert_eq!(status["pid"], daemon.pid());
    assert_eq!(home.status()["daemon"]["pid"], daemon.pid());
    home.scv(&["reload"]).with(0);

    let second = home.scv(&["run"]).with(1);
    assert!(second.err.contains(&format!("pid {}", daemon.pid())), "{second:?}");

    let done = home.scv(&["exec", "--daemon", "hello"]).with(0);
    assert!(done.out.ends_with("hello\n"));
    let usage = home.scv(&["exec", "--approval-policy", "never", "hello"]).with(2);
    assert!(usage.err.contains("--private"), "{usage:?}");

    assert_eq!(daemon.terminate(), 0, "{}", home.log());
    assert!(!home.path().join("server.sock").exists());
    home.scv(&["status"]).with(1);
}

#[test]
fn a_daemon_that_was_killed_leaves_no_obstacle() {
    let home = Home::new();
    drop(home.daemon(&["--no-plugins"]));
    assert!(home.path().join("server.sock").exists(), "it was killed");
    home.scv(&["exec", "--daemon", "hello"]).with(6);
    home.scv(&["exec", "hello"]).with(0);
    assert_eq!(home.daemon(&["--no-plugins"]).terminate(), 0);
}

#[test]
fn what_cannot_start_says_why() {
    let home = Home::new();
    let long = home.path().join("x".repeat(100));
    let mut command = home.command(&["run"]);
    let done = command.env("SCV_HOME", &long).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(text.contains("107"), "{text}");

    let absent = home.scv(&["run", "--workspace", "/absent"]).with(1);
    assert!(absent.err.contains("--workspace"), "{absent:?}");
}
