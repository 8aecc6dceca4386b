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
    let usage = home.scv(&["exec", "--config", "config.toml", "hello"]).with(2);
    assert!(usage.err.contains("--private"), "{usage:?}");
    let absent = home.scv(&["exec", "--provider", "absent", "hello"]).with(2);
    assert!(absent.err.contains("'absent'; name one of echo, openai"), "{absent:?}");
    let off = home.scv(&["plugins", "list", "--plugin-dir", "plugins"]).with(2);
    assert!(off.err.contains("running daemon"), "{off:?}");

    assert_eq!(daemon.terminate(), 0, "{}", home.log());
    assert!(!home.path().join("server.sock").exists());
    home.scv(&["status"]).with(1);
}

#[test]
fn a_daemon_says_what_it_serves_and_reload_what_it_does_not_yet() {
    let home = Home::with_fixture();
    let daemon = home.daemon(&["--no-plugins"]);
    let list = home.scv(&["plugins", "list"]).with(0);
    assert!(list.out.contains("plugins are off"), "{list:?}");
    assert!(!home.scv(&["reload"]).with(0).out.contains("restart"));
    home.configure("[agent]\nmax_steps = 1\n");
    assert!(home.scv(&["reload"]).with(0).out.contains("restart"));
    home.configure("[agent]\nsteps = 1\n");
    assert!(home.scv(&["reload"]).with(2).err.contains("config.toml:2: "));
    while !home.log().contains("plugins are off") {}
    let log = home.log();
    let path = home.path();
    for expected in [path.to_str().unwrap(), "provider=\"echo\"", "--no-plugins"] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    assert_eq!(daemon.terminate(), 0, "{}", home.log());
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
    let absent = home.scv(&["run", "--plugin-dir", "/absent"]).with(2);
    assert!(absent.err.contains("/absent"), "{absent:?}");
    home.configure("");
    std::fs::remove_file(home.path().join("config.toml")).unwrap();
    std::fs::create_dir(home.path().join("config.toml")).unwrap();
    let folder = home.scv(&["run"]).with(2);
    assert_eq!(folder.err.matches("regular file").count(), 1, "{folder:?}");
}
