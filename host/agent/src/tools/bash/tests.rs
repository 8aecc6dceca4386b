//! Commands that behave, and commands that do not.

use std::{fs, path::Path, time::Instant};

use cap_std::{ambient_authority, fs::Dir};
use serde_json::json;
use tokio::{
    sync::{Mutex, MutexGuard, mpsc},
    time::sleep,
};

use super::*;
use crate::config::Secret;

pub(super) struct Bench {
    workshop: Workshop,
    _folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// An orphan that has shed its mark is left to any older call that runs, so a test beside others
/// would see its orphans live on.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

pub(super) async fn bench() -> Bench {
    let turn = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().expect("a folder");
    let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).expect("opens");
    let cwd = folder.path().canonicalize().expect("a path");
    let config = ToolsConfig { output_limit_bytes: 1024, ..ToolsConfig::default() };
    let workshop = Workshop { dir, cwd, config, secrets: vec![Secret::new("never-inherit-me")] };
    Bench { workshop, _folder: folder, _turn: turn }
}

pub(super) fn call(command: &str, timeout: Duration) -> BashCall {
    BashCall { command: command.to_owned(), cwd: None, timeout }
}

impl Bench {
    async fn run(&self, command: &str) -> ToolOutcome {
        self.run_call(&call(command, Duration::from_secs(20)), &CancellationToken::new()).await
    }

    pub(super) fn path(&self) -> &Path {
        &self.workshop.cwd
    }

    pub(super) async fn run_call(
        &self,
        call: &BashCall,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        let (reporter, _reports) = mpsc::channel(1);
        run(call, &self.workshop, reporter, cancel).await
    }
}

/// Whether the process runs; a zombie that nobody has reaped yet does not.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

async fn wait_until_dead(pid: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_alive(pid) {
        assert!(Instant::now() < deadline, "process {pid} lives on");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn gives_output_and_status() {
    let bench = bench().await;
    for (command, output, error) in [
        ("echo out; echo err >&2", "out\nerr\n", None),
        ("true", "(no output)", None),
        ("echo no; exit 3", "no\n[exit status: 3]", Some(ToolError::Failed)),
        ("cat; pwd >/dev/null", "(no output)", None),
        ("printf 'a\\0b\\033'", "a\u{fffd}b\u{fffd}", None),
    ] {
        let outcome = bench.run(command).await;
        assert_eq!((outcome.output.as_str(), outcome.error), (output, error), "{command}");
        assert!(!outcome.truncated);
    }
    let outcome = bench.run("pwd").await;
    assert_eq!(Path::new(outcome.output.trim()), bench.workshop.cwd);
}

#[tokio::test]
async fn endless_output_is_bounded_and_a_timeout_is_kept() {
    let bench = bench().await;
    let start = Instant::now();
    let call = call("yes $'\\x01'", Duration::from_millis(300));
    let outcome = bench.run_call(&call, &CancellationToken::new()).await;
    assert!(outcome.output.len() <= bench.workshop.config.output_limit_bytes);
    assert!(outcome.truncated && outcome.output.contains("timed out"), "{}", outcome.output);
    assert_eq!(outcome.error, Some(ToolError::Limit));
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    let bench = bench().await;
    let start = Instant::now();
    let outcome = bench.run("sleep 300 & echo $!").await;
    assert_eq!(outcome.error, None);
    wait_until_dead(outcome.output.trim()).await;
    assert!(start.elapsed() < Duration::from_secs(3), "the held pipe holds nobody");
}

#[tokio::test]
async fn what_is_left_behind_may_end_in_order() {
    let bench = bench().await;
    let command = "(trap 'echo bye > bye; exit' TERM; touch up; while :; do sleep 0.05; done) & \
                   while [ ! -e up ]; do sleep 0.01; done";
    assert_eq!(bench.run(command).await.error, None);
    let bye = fs::read_to_string(bench.workshop.cwd.join("bye"));
    assert_eq!(bye.expect("TERM comes before KILL"), "bye\n");
}

#[tokio::test]
async fn who_leaves_the_group_with_the_pipe_is_not_waited_for() {
    let bench = bench().await;
    let start = Instant::now();
    let outcome = bench.run("setsid sleep 4 & sleep 0.1; echo done").await;
    assert_eq!(outcome.output, "done\n");
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn cancel_kills_who_ignores_term() {
    let bench = bench().await;
    let cancel = CancellationToken::new();
    let file = bench.workshop.cwd.join("pid");
    let command = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done";
    let call = call(command, Duration::from_secs(60));
    let canceller = async {
        while !fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')) {
            sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
        Instant::now()
    };
    let (outcome, cancelled) = tokio::join!(bench.run_call(&call, &cancel), canceller);
    assert_eq!(outcome.error, Some(ToolError::Cancelled));
    assert!(cancelled.elapsed() < Duration::from_secs(3));
    let pid = fs::read_to_string(&file).expect("the pid");
    wait_until_dead(pid.trim()).await;
}

#[tokio::test]
async fn a_dropped_call_is_killed() {
    let bench = bench().await;
    let file = bench.workshop.cwd.join("pid");
    let call = call("sleep 300 & echo $! > pid; wait", Duration::from_secs(60));
    let cancel = CancellationToken::new();
    {
        let running = bench.run_call(&call, &cancel);
        let started = async {
            while !fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            outcome = running => panic!("it goes on: {outcome:?}"),
            () = started => {}
        }
    }
    let pid = fs::read_to_string(&file).expect("the pid");
    wait_until_dead(pid.trim()).await;
}

#[tokio::test]
async fn a_cancelled_call_does_not_begin() {
    let bench = bench().await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let call = call("touch begun", Duration::from_secs(5));
    let outcome = bench.run_call(&call, &cancel).await;
    assert_eq!(outcome, ToolOutcome::cancelled());
    assert!(!bench.workshop.cwd.join("begun").exists());
}

#[test]
fn whoever_could_not_be_ended_is_told_of() {
    let call = call("x", Duration::from_secs(5));
    let mut capture = Capture::new(100);
    capture.push(b"out");
    let outcome = report(End::TimedOut, Err(Survivors(3)), &call, capture);
    let text = "out\n[timed out after 5 seconds and was ended]\n[3 processes could not be ended]";
    assert_eq!((outcome.output.as_str(), outcome.error), (text, Some(ToolError::Limit)));
}

#[test]
fn wrong_arguments_are_refused_before_anybody_is_asked() {
    let config = ToolsConfig::default();
    let max = config.max_timeout.as_secs();
    for arguments in [
        json!({}),
        json!({"command": " "}),
        json!({"command": "a\0b"}),
        json!({"command": ["ls"]}),
        json!({"command": "x".repeat(MAX_COMMAND_BYTES + 1)}),
        json!({"command": "ls", "cwd": ""}),
        json!({"command": "ls", "where": "/"}),
        json!({"command": "ls", "timeout_seconds": 0}),
        json!({"command": "ls", "timeout_seconds": max + 1}),
        json!({"command": "ls", "timeout_seconds": -1}),
    ] {
        let refusal = plan(&arguments, &config).expect_err("wrong");
        assert_eq!(refusal.error, ToolError::InvalidArguments, "{arguments}");
    }
    let plan = plan(&json!({"command": "cargo test"}), &config).expect("a plan");
    assert_eq!(plan.risk, Risk::Process);
    assert_eq!(plan.summary, "Run shell command: cargo test");
    assert_eq!(plan.call, Call::Bash(call("cargo test", config.command_timeout)));
}
