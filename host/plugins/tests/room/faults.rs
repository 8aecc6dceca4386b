//! A plugin that misbehaves in each place: the host lives, knows why, and in time.

use std::{sync::Arc, time::Duration};

use crate::common::*;
use scv_plugin_api::{
    host::ChannelTransport,
    wire::{Fault, FaultKind, InspectRequest, SendOutcome},
};
use scv_plugin_host::{Deadlines, LoadedChannel, PluginHost, PluginState, Step};
use serde_json::json;
use tokio::time::Instant;

/// The entries that answer with a fault.
const ENTRIES: [&str; 7] =
    ["inspect", "login", "connect", "next_batch", "send", "call", "session_call"];

/// Calls the entry and gives what went wrong.
async fn fault_of(channel: &LoadedChannel, entry: &str) -> Fault {
    let plugin: &Arc<dyn ChannelTransport> = &channel.transport;
    match entry {
        "inspect" => {
            let request = InspectRequest {
                channel: "fixture".into(),
                account: "default".into(),
                credentials: json!({}).into(),
            };
            plugin.inspect(request).await.unwrap_err()
        }
        "login" => {
            let person = Arc::new(Person::default());
            plugin.login(login_request(), person).await.unwrap_err()
        }
        "connect" => {
            let session = plugin.connect(connect_request(json!({}))).await;
            session.err().expect("connect fails")
        }
        "call" => plugin.call("echo", json!({})).await.unwrap_err(),
        in_session => {
            let session = connected(channel, json!({})).await;
            match in_session {
                "next_batch" => session.next_batch(None).await.unwrap_err(),
                "session_call" => session.call("echo", json!({})).await.unwrap_err(),
                "send" => match session.send(message("c", "x")).await {
                    SendOutcome::Retry { reason, .. } => Fault::retry(reason),
                    other => panic!("{other:?}"),
                },
                other => panic!("no entry {other}"),
            }
        }
    }
}

/// The plugin still does its work.
async fn works(channel: &LoadedChannel) {
    let session = connected(channel, inbox(&["1"])).await;
    let batch = session.next_batch(None).await.unwrap();
    assert_eq!(batch.messages.len(), 1);
    assert_eq!(session.close(2_000).await.unwrap().tasks_left, 0);
}

async fn end(host: &PluginHost) {
    assert_eq!(host.shutdown(Duration::from_secs(5)).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_any_entry_is_a_fault_without_its_words() {
    let room = Room::with_fixture();
    for way in ["panic", "bomb"] {
        for entry in ENTRIES {
            let setting = format!("{entry}:{way}");
            let (host, channel) = loaded(room.options_with(&setting, short_deadlines())).await;
            let fault = fault_of(&channel, entry).await;
            assert!(fault.message.contains("panicked"), "{setting}: {fault:?}");
            assert!(entry == "send" || fault.kind == FaultKind::Panicked, "{setting}: {fault:?}");
            assert!(!format!("{fault:?}").contains(CANARY), "{fault:?}");
            if !["connect", "next_batch"].contains(&entry) {
                works(&channel).await;
            }
            end(&host).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_create_refuses_the_plugin() {
    let room = Room::with_fixture();
    for way in ["panic", "bomb", "fail"] {
        let setting = format!("create:{way}");
        let host = PluginHost::new(room.options_with(&setting, short_deadlines()));
        host.load_all().await;
        let report = only_report(&host);
        let refusal = report.refusal.clone().unwrap();
        assert_eq!((report.state, refusal.step), (PluginState::Refused, Step::Create));
        assert!(!format!("{report:?}").contains(CANARY));
        assert_eq!(host.claims()[0].channel, "fixture");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_a_drop_or_close_ends_nothing() {
    let room = Room::with_fixture();
    for setting in ["drop:panic", "drop_session:panic", "close:panic", "drop_session:bomb"] {
        let (host, channel) = loaded(room.options_with(setting, short_deadlines())).await;
        works(&channel).await;
        drop(connected(&channel, json!({})).await);
        works(&channel).await;
        end(&host).await;
        drop((host, channel));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_future_that_panics_when_it_is_dropped_ends_nothing() {
    let room = Room::with_fixture();
    for entry in ["login", "connect", "call", "send", "session_call"] {
        let setting = format!("{entry}:pend-bomb");
        let (host, channel) = loaded(room.options_with(&setting, short_deadlines())).await;
        fault_of(&channel, entry).await;
        if entry != "connect" {
            works(&channel).await;
        }
        end(&host).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_that_hangs_misses_its_deadline_and_no_more() {
    let room = Room::with_fixture();
    let tables = ENTRIES.map(|entry| {
        let options = room.options_with(&format!("{entry}:hang"), short_deadlines());
        async move {
            let (host, channel) = loaded(options).await;
            let started = Instant::now();
            let fault = fault_of(&channel, entry).await;
            let took = started.elapsed();
            assert!(took < Duration::from_secs(4), "{entry}: {took:?}, {fault:?}");
            if entry == "inspect" {
                assert_eq!(only_report(&host).state, PluginState::Wedged);
            } else {
                assert_eq!(fault.kind, FaultKind::Retry, "{entry}: {fault:?}");
            }
            // The only worker is stuck, and ending finds that out in time.
            let left = host.shutdown(Duration::from_millis(100)).await;
            assert!(entry == "inspect" || left == ["fixture"], "{entry}: {left:?}");
        }
    });
    futures_util::future::join_all(tables).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_does_not_close_wedges_its_plugin() {
    let room = Room::with_fixture();
    for setting in ["close:hang", "send:hang"] {
        let (host, channel) = loaded(room.options_with(setting, short_deadlines())).await;
        let session = connected(&channel, json!({})).await;
        if setting == "send:hang" {
            session.send(message("c", "x")).await;
        }
        let started = Instant::now();
        assert!(session.close(300).await.is_err(), "{setting}");
        assert!(started.elapsed() < Duration::from_secs(4));
        assert_eq!(only_report(&host).state, PluginState::Wedged);
        let later = channel.transport.connect(connect_request(json!({}))).await;
        let fault = later.err().unwrap();
        assert_eq!(fault.message, "plugin 'fixture' did not stop; restart the daemon");
        host.load_all().await;
        assert_eq!(only_report(&host).state, PluginState::Wedged, "looking again is no cure");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_close_waits_for_ever_is_cut_at_the_grace() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.options_with("close:pend", short_deadlines())).await;
    let session = connected(&channel, json!({})).await;
    assert_eq!(session.close(300).await.unwrap().tasks_left, 1);
    assert_eq!(only_report(&host).state, PluginState::Wedged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_that_hangs_is_given_up_and_not_tried_again() {
    let room = Room::with_fixture();
    let mut deadlines = short_deadlines();
    deadlines.create = Duration::from_secs(2);
    let host = PluginHost::new(room.options_with("create:hang", deadlines));
    let started = Instant::now();
    host.load_all().await;
    assert!(started.elapsed() < Duration::from_secs(6));
    let report = only_report(&host);
    assert_eq!(report.state, PluginState::Wedged);
    assert_eq!(report.refusal.unwrap().step, Step::Create);
    let started = Instant::now();
    host.load_all().await;
    assert!(started.elapsed() < Duration::from_millis(1_900), "no second thread is spent on it");
    assert!(host.channels().is_empty());
    assert_eq!(host.claims().len(), 1);
}

/// While one hangs in its `create`, what else was found is there already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_that_hangs_does_not_delay_another_plugin() {
    let room = Room::with_fixture();
    let other = [
        (r#""name":"fixture""#, r#""name":"another""#),
        (r#""id":"fixture""#, r#""id":"another""#),
        (r#"["fixed"]"#, r#"["other"]"#),
    ];
    room.put("libscv_channel_another.so", &patched(&other));
    let patient = Deadlines { create: Duration::from_secs(30), ..Deadlines::default() };
    let host = PluginHost::new(room.options_with("create:hang", patient));
    let mut changes = host.changes();
    let loading = tokio::spawn({
        let host = Arc::clone(&host);
        async move { host.load_all().await }
    });
    changes.wait_for(|()| host.find_channel("another").is_some()).await.unwrap();
    works(&host.find_channel("another").unwrap()).await;
    let states: Vec<_> = host.reports().iter().map(|report| report.state).collect();
    assert_eq!(states, [PluginState::Loaded, PluginState::Ready], "the other one still hangs");
    loading.abort();
}

/// On one thread, so that the look in between comes before the second `create` has failed.
#[tokio::test]
async fn a_refused_plugin_says_why_while_it_is_tried_again() {
    let room = Room::with_fixture();
    let host = PluginHost::new(room.options_with("create:fail", short_deadlines()));
    host.load_all().await;
    let refused = host.claims();
    assert_eq!(refused.len(), 1);
    let mut changes = host.changes();
    let between = async {
        changes.changed().await.unwrap();
        assert_eq!(only_report(&host).state, PluginState::Ready);
        assert_eq!(host.claims(), refused);
    };
    tokio::join!(host.load_all(), between);
    assert_eq!(only_report(&host).state, PluginState::Refused);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_pending_calls_are_dropped_at_once_and_leave_nothing() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.options_with("send:pend", short_deadlines())).await;
    let session = connected(&channel, inbox(&["1"])).await;
    let calls = (0..100).map(|n| session.send(message(&n.to_string(), "x")));
    let all = futures_util::future::join_all(calls);
    let dropped = tokio::time::timeout(Duration::from_millis(50), all).await;
    assert!(dropped.is_err(), "they wait for ever");
    assert_eq!(session.next_batch(None).await.unwrap().messages.len(), 1);
    let started = Instant::now();
    assert_eq!(session.close(4_000).await.unwrap().tasks_left, 0);
    assert!(started.elapsed() < Duration::from_secs(2), "nothing was left to wait for");
    end(&host).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_plugin_does_not_delay_another_one() {
    let (bad, good) = (Room::with_fixture(), Room::with_fixture());
    let patient = Deadlines::default();
    let (_bad_host, stuck) = loaded(bad.options_with("next_batch:hang", patient)).await;
    let (good_host, channel) = loaded(good.options()).await;
    let stuck_session = connected(&stuck, json!({})).await;
    let stuck_read = tokio::spawn(async move { stuck_session.next_batch(None).await });
    works(&channel).await;
    end(&good_host).await;
    assert!(!stuck_read.is_finished(), "it hangs all the while");
    stuck_read.abort();
}
