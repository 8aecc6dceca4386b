//! What a command of a tool leaves behind: nobody, whatever becomes of the daemon.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Home, signal};

/// Far more than any of it takes.
const SOON: Duration = Duration::from_secs(60);

/// Sleepers that only these tests start, by their name.
struct Sleepers(String);

impl Sleepers {
    fn new(test: &str) -> Self {
        Self(format!("scv-{test}-{}", std::process::id()))
    }

    /// Two that have left the command's group, its session and its environment, and a third that
    /// has left its group and session; none of them ends when it is asked to.
    fn prompt(&self, and_then: &str) -> String {
        let nap = format!("echo >> up; trap \"\" TERM; exec -a {} sleep 600", self.0);
        let script = format!(
            "for i in 1 2; do (env -i setsid bash -c '{nap}' &); done; \
             (setsid bash -c '{nap}' &); {and_then}"
        );
        format!("call bash {}", json!({ "command": script }))
    }

    fn count(&self) -> usize {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| line.starts_with(self.0.as_bytes())).count()
    }

    fn until(&self, count: usize) {
        let deadline = Instant::now() + SOON;
        while self.count() != count {
            assert!(Instant::now() < deadline, "{} of {}, not {count}", self.count(), self.0);
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_daemon_that_is_killed_leaves_nobody() {
    let home = Home::new();
    let daemon = home.daemon(&["--no-plugins"]);
    let sleepers = Sleepers::new("killed");
    let prompt = sleepers.prompt("sleep 600");
    let mut client = home.command(&["exec", "--daemon", "--yes", &prompt]).spawn().unwrap();
    sleepers.until(3);
    daemon.signal(Signal::KILL);
    sleepers.until(0);
    assert_eq!(client.wait().unwrap().code(), Some(1));
}

#[test]
fn a_command_that_ends_leaves_nobody_and_its_status() {
    let home = Home::new();
    let sleepers = Sleepers::new("ended");
    let wait = "until [ $(wc -l < up) = 3 ]; do sleep 0.05; done; echo all are up; exit 7";
    let done = home.scv(&["exec", "--yes", &sleepers.prompt(wait)]).with(0);
    sleepers.until(0);
    assert!(done.out.contains("all are up\n[exit status: 7]"), "{done:?}");
    let killed = home.scv(&["exec", "--yes", "call bash {\"command\":\"kill -9 $$\"}"]).with(0);
    assert!(killed.out.contains("[exit status: 137]"), "{killed:?}");
}

#[test]
fn a_turn_that_is_cancelled_leaves_nobody() {
    let home = Home::new();
    let sleepers = Sleepers::new("cancelled");
    let prompt = sleepers.prompt("trap '' TERM; sleep 600");
    let mut client = home.command(&["exec", "--yes", &prompt]).spawn().unwrap();
    sleepers.until(3);
    signal(&client, Signal::INT);
    assert_eq!(client.wait().unwrap().code(), Some(130));
    sleepers.until(0);
}
