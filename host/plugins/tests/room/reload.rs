//! Files that change while their plugin serves.

use std::{collections::BTreeSet, fs, os::unix::fs::DirBuilderExt, path::PathBuf};

use crate::common::*;
use scv_plugin_host::{HostOptions, PluginHost, PluginReport, PluginState, Policy, Step, scan};
use serde_json::json;

fn cache(room: &Room) -> PathBuf {
    room.home().join("cache/plugins")
}

/// What is in the cache beside its lock.
fn copies(room: &Room) -> Vec<String> {
    let entries = fs::read_dir(cache(room)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lock" && !name.ends_with(".probed")).collect()
}

fn scan_one(room: &Room) -> PluginReport {
    scan(&room.search(), &Policy::default()).remove(0)
}

fn newer() -> Vec<u8> {
    let mut bytes = fs::read(fixture()).unwrap();
    bytes.extend_from_slice(b"newer");
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_overwritten_in_place_hurts_nobody_and_is_stale() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.options()).await;
    let session = connected(&channel, inbox(&["1"])).await;
    room.put(FILE, b"gone");
    assert_eq!(session.next_batch(None).await.unwrap().messages.len(), 1);
    host.load_all().await;
    let report = only_report(&host);
    assert_eq!(report.state, PluginState::Stale);
    assert!(report.refusal.unwrap().reason.contains("would be refused"));

    room.put(FILE, &newer());
    host.load_all().await;
    let report = only_report(&host);
    assert_eq!(report.state, PluginState::Stale);
    let refusal = report.refusal.unwrap();
    assert_eq!((refusal.step, refusal.reason.as_str()), (Step::Serve, "a new file is on disk"));
    let payload = json!({ "still": "here" });
    assert_eq!(session.call("echo", payload.clone()).await.unwrap(), payload);
    assert!(host.find_channel("fixture").is_some());

    fs::remove_file(room.dir().join(FILE)).unwrap();
    host.load_all().await;
    assert_eq!(only_report(&host).state, PluginState::Stale);
    room.put(FILE, &fs::read(fixture()).unwrap());
    host.load_all().await;
    assert_eq!(only_report(&host).state, PluginState::Loaded, "the old bytes are back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_bytes_are_not_loaded_a_second_time() {
    let room = Room::with_fixture();
    let (host, channel) = loaded(room.options()).await;
    let bytes = fs::read(fixture()).unwrap();
    fs::remove_file(room.dir().join(FILE)).unwrap();
    room.put(FILE, &bytes);
    host.load_all().await;
    assert_eq!(only_report(&host).state, PluginState::Loaded);
    let now = host.find_channel("fixture").unwrap();
    assert!(std::sync::Arc::ptr_eq(&channel.transport, &now.transport));
    assert_eq!(copies(&room), [format!("{}.so", only_report(&host).sha256)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_files_load_and_refused_ones_get_another_chance() {
    let room = Room::empty();
    let host = PluginHost::new(room.options());
    host.load_all().await;
    assert!(host.reports().is_empty());
    room.put(FILE, b"half a copy");
    host.load_all().await;
    assert_eq!(only_report(&host).state, PluginState::Refused);
    room.put(FILE, &fs::read(fixture()).unwrap());
    host.load_all().await;
    assert_eq!(only_report(&host).state, PluginState::Loaded);
    assert!(host.claims().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disabled_plugin_is_listed_and_not_run() {
    let room = Room::with_fixture();
    let host = PluginHost::new(HostOptions {
        policy: Policy { disabled: BTreeSet::from(["fixture".to_owned()]), ..Policy::default() },
        ..room.options_with("create:panic", short_deadlines())
    });
    host.load_all().await;
    assert_eq!(only_report(&host).state, PluginState::Disabled);
    assert!(host.channels().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setting_that_the_manifest_does_not_know_is_refused() {
    let room = Room::with_fixture();
    let mut options = room.options_with("", short_deadlines());
    let settings = options.settings.get_mut("fixture").unwrap();
    settings.insert("colour".into(), "red".into());
    let host = PluginHost::new(options);
    host.load_all().await;
    let refusal = only_report(&host).refusal.unwrap();
    assert_eq!(refusal.step, Step::Create);
    assert_eq!(refusal.reason, "it has no setting 'colour'");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_share_a_copy_and_nothing_else() {
    let room = Room::with_fixture();
    let (first, one) = loaded(room.options()).await;
    let (_second, two) = loaded(room.options()).await;
    drop((first, one));
    let session = connected(&two, inbox(&["1"])).await;
    assert_eq!(session.next_batch(None).await.unwrap().messages.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_nobody_needs_are_removed_after_loading() {
    let room = Room::with_fixture();
    let (first, _) = loaded(room.options()).await;
    let old = only_report(&first).sha256;
    for left_behind in ["new.tmp".to_owned(), format!("{}.so", "0".repeat(64))] {
        fs::write(cache(&room).join(left_behind), b"old").unwrap();
    }
    room.put(FILE, &newer());
    let (second, _) = loaded(room.options()).await;
    let new = only_report(&second).sha256;
    assert_ne!(old, new);
    let mut expected = [format!("{old}.so"), format!("{new}.so")];
    expected.sort();
    let mut left = copies(&room);
    left.sort();
    assert_eq!(left, expected, "both are loaded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_system_refuses_is_transient_and_tried_again() {
    let room = Room::with_fixture();
    // The copy cannot be put there: the name is taken by a folder that is not empty.
    let taken = cache(&room).join(format!("{}.so", scan_one(&room).sha256));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(taken.join("in")).unwrap();
    let host = PluginHost::new(room.options());
    host.load_all().await;
    let refusal = only_report(&host).refusal.unwrap();
    assert_eq!(refusal.step, Step::Copy, "{refusal}");
    assert!(refusal.is_transient(), "{refusal}");
    fs::remove_dir_all(taken).unwrap();
    host.load_all().await;
    assert_eq!(only_report(&host).state, PluginState::Loaded);

    room.put(FILE, b"no library");
    assert!(!scan_one(&room).refusal.unwrap().is_transient());
}
