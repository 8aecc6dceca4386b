//! A plugin in a process of its own: what it does to itself, it does to nobody else.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::common::*;
use scv_plugin_api::{
    host::ChannelSession,
    wire::{Fault, FaultKind, LoginEventBody, LoginResult, SendOutcome},
};
use scv_plugin_host::{Deadlines, Isolation, LoadedChannel, PluginHost, PluginState, Step};
use serde_json::json;
use tokio::time::sleep;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// How a plugin ends its process, and what that is called.
const CRASHES: [(&str, &str); 5] = [
    ("exit", "status 3"),
    ("abort", "signal 6 (SIGABRT)"),
    ("null-write", "signal 11 (SIGSEGV)"),
    // Rust's own handler of stack overflows aborts after its message.
    ("overflow", "signal "),
    ("eat", "signal 6 (SIGABRT)"),
];

fn script(fault: &str) -> serde_json::Value {
    let mut script = inbox(&["1"]);
    script["fault"] = fault.into();
    script
}

/// Tries until the plugin's process is there again: the wait before that is one second at first.
async fn connected_again(
    channel: &LoadedChannel,
    credentials: serde_json::Value,
) -> Box<dyn ChannelSession> {
    let started = Instant::now();
    loop {
        match channel.transport.connect(connect_request(credentials.clone())).await {
            Ok(session) => return session,
            Err(fault) => assert!(started.elapsed() < SOON, "{fault:?}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

async fn answers(channel: &LoadedChannel) {
    let session = connected_again(channel, inbox(&["1"])).await;
    let batch = session.next_batch(None).await.unwrap();
    assert_eq!(batch.messages.len(), 1);
    let outcome = session.send(message("c1", "hello")).await;
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    assert_eq!(session.close(2_000).await.unwrap().tasks_left, 0);
}

fn assert_ended(fault: &Fault, how: &str) {
    assert_eq!(fault.kind, FaultKind::Retry, "{fault:?}");
    let expected = format!("the plugin's process ended: {how}");
    assert!(fault.message.starts_with(&expected), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_ends_all_its_sessions_with_its_signal_and_another_process_serves() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.apart()).await;
    assert_eq!(only_report(&host).isolation, Isolation::Process);
    let session = connected(&channel, script("next_batch:abort")).await;
    let other = connected(&channel, inbox(&["1"])).await;
    let how = "signal 6 (SIGABRT)";
    assert_ended(&session.next_batch(None).await.unwrap_err(), how);
    assert_ended(&other.next_batch(None).await.unwrap_err(), how);
    let report = only_report(&host);
    let refusal = report.refusal.unwrap();
    assert_eq!((report.state, refusal.step), (PluginState::Loaded, Step::Serve));
    assert!(refusal.reason.contains(how), "{refusal}");
    // The first wait is a second, and this comes before it is over unless the machine stalls.
    if let Err(early) = channel.transport.connect(connect_request(json!({}))).await {
        assert!(early.message.contains(how) && early.after_ms.is_some(), "{early:?}");
    }
    assert!(session.close(100).await.is_ok(), "what is over is over");
    answers(&channel).await;
    assert_eq!(only_report(&host).refusal, None, "it runs again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_to_crash_is_told_by_its_name() {
    for (way, how) in CRASHES {
        let room = Room::with_fixture();
        let (host, channel) = loaded(room.apart()).await;
        let session = connected(&channel, script(&format!("send:{way}"))).await;
        match session.send(message("c1", "x")).await {
            SendOutcome::Retry { reason, .. } => {
                assert!(reason.contains(how), "{way}: {reason}");
            }
            other => panic!("{way}: {other:?}"),
        }
        answers(&channel).await;
        drop(session);
        assert_eq!(host.shutdown(SOON).await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_its_files_ends_that_process_only() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.apart()).await;
    let session = connected(&channel, script("send:close-files")).await;
    let outcome = session.send(message("c1", "x")).await;
    assert!(matches!(outcome, SendOutcome::Retry { .. }), "{outcome:?}");
    answers(&channel).await;
}

/// Processes whose parent's group this is, by the command that they run.
fn in_group(group: &str) -> usize {
    let is_in = |stat: &Path| {
        let text = fs::read_to_string(stat).unwrap_or_default();
        // `pid (name) state ppid pgrp …`; a zombie is gone already.
        let fields: Vec<_> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        fields.get(2) == Some(&group) && fields.first() != Some(&"Z")
    };
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.filter(|entry| is_in(&entry.path().join("stat"))).count()
}

/// The child's id: it is this process's only child that runs the helper.
fn child_of_this_process() -> String {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let child = |entry: &fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields: Vec<_> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        stat.contains("(scv-plugin-help") && fields.get(1) == Some(&own.as_str())
    };
    let child = entries.into_iter().find(child).expect("a child runs");
    child.file_name().into_string().unwrap()
}

/// Only under nextest is this the one test of its process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_plugin_started_ends_with_it() {
    if std::env::var_os("NEXTEST").is_none() {
        return;
    }
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.apart()).await;
    let session = connected(&channel, script("send:fork-bomb")).await;
    let child = child_of_this_process();
    assert_eq!(in_group(&child), 1);
    let outcome = session.send(message("c1", "x")).await;
    assert!(matches!(outcome, SendOutcome::Retry { .. }), "{outcome:?}");
    let started = Instant::now();
    while in_group(&child) > 0 {
        assert!(started.elapsed() < SOON, "{} are left", in_group(&child));
        sleep(Duration::from_millis(20)).await;
    }
    answers(&channel).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_while_loading_refuses_the_plugin_and_names_the_signal() {
    let room = Room::with_fixture();
    let host = PluginHost::new(room.apart_with("create:abort", Deadlines::default()));
    host.load_all().await;
    let report = only_report(&host);
    let refusal = report.refusal.unwrap();
    assert_eq!((report.state, refusal.step), (PluginState::Refused, Step::Create));
    assert_eq!(refusal.reason, "died in its create: signal 6 (SIGABRT)");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_does_not_come_back_is_killed_and_not_wedged() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.apart_with("", short_deadlines())).await;
    let session = connected(&channel, script("close:hang")).await;
    let closed = session.close(300).await.unwrap();
    assert_eq!(closed.tasks_left, 0, "nothing is left of a process that was killed");
    let gone = connected_again(&channel, script("inspect:hang")).await;
    drop(gone);
    assert_eq!(only_report(&host).state, PluginState::Loaded);
    answers(&channel).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_shows_and_asks_through_the_socket() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.apart()).await;
    let person = Arc::new(Person::default());
    let result = channel.transport.login(login_request(), person.clone()).await.unwrap();
    let LoginResult::SignedIn { credentials, .. } = result else {
        panic!("{result:?}");
    };
    assert_eq!(credentials.expose()["owner_id"], "ann");
    let shown = person.shown.lock().unwrap().clone();
    assert!(matches!(shown[0], LoginEventBody::Qr { .. }), "{shown:?}");
    assert!(matches!(shown[3], LoginEventBody::Notice { .. }), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_documents_and_many_calls_at_once_come_whole() {
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.apart()).await;
    let session = connected(&channel, json!({})).await;
    let large = json!({ "text": "x".repeat(900_000) });
    let calls = (0..20).map(|_| session.call("echo", large.clone()));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.unwrap(), large);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_a_drop_or_a_thread_of_its_own_ends_nothing() {
    for setting in ["drop:panic", "drop_session:panic", "call:thread-panic"] {
        let room = Room::with_fixture();
        for apart in [false, true] {
            let options = match apart {
                true => room.apart_with(setting, Deadlines::default()),
                false => room.options_with(setting, Deadlines::default()),
            };
            let (host, channel) = loaded(options).await;
            if setting.starts_with("call") {
                let fault = channel.transport.call("echo", json!({})).await.unwrap_err();
                assert!(!format!("{fault:?}").contains(CANARY), "{fault:?}");
            }
            let session = connected(&channel, inbox(&["1"])).await;
            assert_eq!(session.next_batch(None).await.unwrap().messages.len(), 1);
            drop(session);
            answers(&channel).await;
            assert_eq!(only_report(&host).refusal, None, "{setting}, apart: {apart}");
            assert_eq!(host.shutdown(SOON).await, [""; 0], "{setting}, apart: {apart}");
        }
    }
}
