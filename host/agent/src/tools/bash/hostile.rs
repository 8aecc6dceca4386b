//! Commands that do not want to end. Each must end in time, leave nobody, and use little memory.
//!
//! `SCV_LONG_TESTS=1` holds them to the times of the specification and makes them as large as it
//! says; otherwise a busy machine gets ten times as long.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use scv_protocol::ToolError;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    ToolOutcome,
    tests::{Bench, bench, call},
};

/// What every process of a test holds in its arguments or its name.
struct Trap {
    bench: Bench,
    name: String,
}

struct Ended {
    outcome: ToolOutcome,
    took: Duration,
}

async fn trap(name: &str) -> Trap {
    let (bench, name) = (bench().await, format!("scv-trap-{name}-{}", std::process::id()));
    let nap = format!("#!/bin/bash\necho $$ >> born\nexec -a {name} sleep 300\n");
    let path = bench.path().join("nap");
    fs::write(&path, nap).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("a mode");
    Trap { bench, name }
}

impl Trap {
    /// Runs a script in which `./nap` sleeps under the trap's name; all `naps` of them must have
    /// begun before its end.
    async fn run(&self, script: &str, naps: usize, timeout: Duration) -> Ended {
        let born = self.bench.path().join("born");
        let _ = fs::remove_file(&born);
        let script = script
            .replace(
                "WAIT",
                "until [ \"$(wc -l < born)\" = $NAPS ]; do sleep 0.01; done 2>/dev/null",
            )
            .replace("$NAPS", &naps.to_string());
        let call = call(&script, timeout);
        let start = Instant::now();
        let outcome = self.bench.run_call(&call, &CancellationToken::new()).await;
        let took = start.elapsed();
        let count = fs::read_to_string(born).map_or(0, |born| born.lines().count());
        assert!(count >= naps, "{count} of {naps} began: {}", outcome.output);
        Ended { outcome, took }
    }

    fn assert_no_survivor(&self) {
        assert_eq!(self.survivor(), None);
    }

    /// Somebody with the trap's name who is alive, or an orphan of it that is a zombie of this
    /// process.
    fn survivor(&self) -> Option<String> {
        let me = std::process::id().to_string();
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            let read = |file| fs::read(entry.path().join(file)).unwrap_or_default();
            let line = String::from_utf8_lossy(&read("cmdline")).into_owned();
            if line.contains(&self.name) {
                return Some(format!("{:?} lives: {line}", entry.file_name()));
            }
            let stat = String::from_utf8_lossy(&read("stat")).into_owned();
            let fields: Vec<&str> =
                stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            let is_mine = fields.get(1) == Some(&me.as_str()) && fields.first() == Some(&"Z");
            let is_tool = ["(sleep)", "(bash)", "(nap)"].iter().any(|name| stat.contains(name));
            if is_mine && is_tool {
                return Some(format!("a zombie: {stat}"));
            }
        }
        None
    }
}

fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

const SHORT: Duration = Duration::from_millis(1500);

fn is_long_run() -> bool {
    std::env::var_os("SCV_LONG_TESTS").is_some()
}

/// A time to end in. What holds a pipe or sleeps does so for far longer.
fn limit(seconds: u64) -> Duration {
    Duration::from_secs(if is_long_run() { seconds } else { seconds * 10 })
}

#[tokio::test]
async fn who_ignores_term_is_killed() {
    let trap = trap("term").await;
    let script = "trap '' TERM; ./nap & ./nap & while :; do :; done";
    let ended = trap.run(script, 2, SHORT).await;
    assert_eq!(ended.outcome.error, Some(ToolError::Limit));
    assert!(ended.took < SHORT + limit(3), "{:?}", ended.took);
    trap.assert_no_survivor();
}

#[tokio::test]
async fn a_double_fork_does_not_escape() {
    let trap = trap("fork").await;
    for script in [
        "(./nap &); (./nap &); WAIT; echo done",
        "(setsid bash -c './nap & ./nap & disown -a' &); WAIT; echo done",
        "(setsid bash -c '(setsid ./nap &); (setsid ./nap &)' &); WAIT; echo done",
    ] {
        let ended = trap.run(script, 2, Duration::from_secs(120)).await;
        assert_eq!(ended.outcome.output, "done\n", "{script}");
        assert!(ended.took < limit(3), "{:?}: {script}", ended.took);
        trap.assert_no_survivor();
    }
}

#[tokio::test]
async fn a_session_of_its_own_with_the_pipe_held_does_not_escape() {
    let trap = trap("setsid").await;
    for script in [
        "setsid ./nap & WAIT; echo done",
        // Without the mark in its environment, and without a parent.
        "(env -i setsid ./nap &); WAIT; echo done",
        "(env -i setsid bash -c \"trap '' TERM HUP; ./nap & disown; sleep 300; true\" &); WAIT; \
         echo done",
    ] {
        let ended = trap.run(script, 1, Duration::from_secs(120)).await;
        assert_eq!(ended.outcome.output, "done\n", "{script}");
        assert!(ended.took < limit(4), "{:?}: {script}", ended.took);
        trap.assert_no_survivor();
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_nobody() {
    let trap = trap("dropped").await;
    let call = call("(setsid ./nap &); ./nap", Duration::from_secs(60));
    let born = trap.bench.path().join("born");
    let began = async {
        while !fs::read_to_string(&born).is_ok_and(|born| born.lines().count() == 2) {
            sleep(Duration::from_millis(5)).await;
        }
        // Until both have their name.
        sleep(Duration::from_millis(100)).await;
    };
    let cancel = CancellationToken::new();
    tokio::select! {
        outcome = trap.bench.run_call(&call, &cancel) => panic!("it goes on: {outcome:?}"),
        () = began => {}
    }
    // The rest is done after the drop, by the runtime.
    let deadline = Instant::now() + Duration::from_secs(60);
    while trap.survivor().is_some() && Instant::now() < deadline {
        sleep(Duration::from_millis(20)).await;
    }
    trap.assert_no_survivor();
}

#[tokio::test]
async fn a_call_beside_another_ends_its_own_processes_only() {
    let trap = trap("beside").await;
    let script = "(setsid ./nap &); (env -i setsid ./nap &); WAIT; touch up; \
                  until [ -e go ]; do sleep 0.01; done; \
                  for pid in $(cat born); do kill -0 $pid && echo alive; done";
    let other = async {
        while !trap.bench.path().join("up").exists() {
            sleep(Duration::from_millis(5)).await;
        }
        let call = call("(env -i setsid sleep 300 &); echo done", Duration::from_secs(120));
        let outcome = trap.bench.run_call(&call, &CancellationToken::new()).await;
        fs::write(trap.bench.path().join("go"), "").expect("a file");
        outcome.output
    };
    let (ended, other) = tokio::join!(trap.run(script, 2, Duration::from_secs(120)), other);
    assert_eq!(other, "done\n");
    assert_eq!(ended.outcome.output, "alive\nalive\n");
    trap.assert_no_survivor();
}

#[tokio::test]
async fn forkers_do_not_outrun_their_end() {
    let trap = trap("respawn").await;
    // Each begins the next one before it ends.
    fs::write(
        trap.bench.path().join("again"),
        format!(
            "trap '' TERM\necho $$ >> born\n(exec -a {} sleep 0.02)\nsetsid bash ./again &\n",
            trap.name
        ),
    )
    .expect("a file");
    let ended = trap.run("bash ./again & bash ./again & sleep 60", 10, SHORT).await;
    assert!(ended.took < SHORT + limit(3), "{:?}", ended.took);
    let born = || fs::read_to_string(trap.bench.path().join("born")).expect("a file").len();
    let before = born();
    trap.assert_no_survivor();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(born(), before, "somebody goes on");
}

#[tokio::test]
async fn orphans_that_end_by_themselves_are_waited_for() {
    let trap = trap("orphans").await;
    // Ends in time only if its zombies do while it runs.
    let script = "for i in {1..50}; do (sleep 0.05 &) ; (setsid sleep 0.05 &); done; sleep 0.3; \
                  zombies() { grep -hl '^PPid:.PARENT$' /proc/[0-9]*/status | \
                  xargs grep -l '^State:.Z' | wc -l; }; \
                  until [ \"$(zombies 2>/dev/null)\" = 0 ]; do sleep 0.1; done; echo none";
    let script = script.replace("PARENT", &std::process::id().to_string());
    let ended = trap.run(&script, 0, Duration::from_secs(120)).await;
    assert_eq!(ended.outcome.output, "none\n", "zombies while the command runs");
    trap.assert_no_survivor();
}

/// 1 GiB in a long run.
#[tokio::test]
async fn much_output_is_bounded() {
    let bytes: u64 = if is_long_run() { 1 << 30 } else { 1 << 26 };
    let trap = trap("output").await;
    let before = peak_memory_kib();
    let timeout = Duration::from_secs(300);
    let script = format!("head -c {bytes} /dev/zero | tr '\\0' 'x'; echo; echo end");
    let ended = trap.run(&script, 0, timeout).await;
    assert!(ended.took < timeout, "{:?}", ended.took);
    let outcome = ended.outcome;
    assert_eq!(outcome.error, None, "{}", outcome.output);
    assert!(outcome.truncated && outcome.output.len() <= 1024);
    assert!(outcome.output.ends_with("x\nend\n"), "{}", outcome.output);
    let growth = peak_memory_kib().saturating_sub(before);
    assert!(growth < 8 * 1024, "{growth} KiB");
    eprintln!("{bytes} bytes in {:?}, with {growth} KiB", ended.took);
}

/// A hundred children for each of the crowds (10,000 in a long run), none of which ends when it
/// is asked to.
#[tokio::test]
async fn many_children_end() {
    let crowds = if is_long_run() { 100 } else { 10 };
    let trap = trap("many").await;
    let before = peak_memory_kib();
    // Shells that read from a pipe: as many programs would take minutes to start, and one shell
    // takes ever longer for its next child.
    let script = format!(
        "trap '' TERM; mkfifo hold; exec 9<>hold; \
         crowd() {{ for i in {{1..100}}; do (read -u 9) & done; echo >> born; wait; }}; \
         for i in {{1..{crowds}}}; do crowd & done; WAIT; touch up; wait"
    );
    let script = script.replace("WAIT", "until [ $(wc -l < born) = $N ]; do sleep 0.05; done");
    let call = call(&script.replace("$N", &crowds.to_string()), Duration::from_secs(600));
    let cancel = CancellationToken::new();
    let up = trap.bench.path().join("up");
    let canceller = async {
        while !up.exists() {
            sleep(Duration::from_millis(20)).await;
        }
        cancel.cancel();
        Instant::now()
    };
    let (outcome, cancelled) = tokio::join!(trap.bench.run_call(&call, &cancel), canceller);
    let took = cancelled.elapsed();
    assert_eq!(outcome.error, Some(ToolError::Cancelled), "{}", outcome.output);
    assert!(!outcome.output.contains("could not be ended"), "{}", outcome.output);
    assert!(took < limit(6), "{took:?}");
    let growth = peak_memory_kib().saturating_sub(before);
    assert!(growth < 16 * 1024, "{growth} KiB");
    eprintln!("{crowds}00 children ended in {took:?}, with {growth} KiB");
    trap.assert_no_survivor();
}
