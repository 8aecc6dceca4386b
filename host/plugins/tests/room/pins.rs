//! The home's folder of plugins: only what a person has added is loaded from there.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use crate::common::*;
use scv_plugin_host::{
    HostOptions, Isolation, PluginHost, PluginReport, PluginState, Policy, SearchOptions,
    SearchPath, Step, scan,
};
use serde_json::{Value, json};

/// A home with the fixture in its own folder of plugins.
fn home_with_fixture(room: &Room) -> (SearchPath, PathBuf) {
    let dir = room.home().join("plugins");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    let file = dir.join(FILE);
    fs::copy(fixture(), &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let home = Some(room.home().to_owned());
    (SearchPath::resolve(SearchOptions { home, ..SearchOptions::default() }), file)
}

fn write_pins(room: &Room, pin: &Value) {
    let path = room.home().join("plugins.lock.json");
    fs::write(&path, json!({"version": 1, "plugins": {"fixture": pin}}).to_string()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn only(search: &SearchPath) -> PluginReport {
    scan(search, &Policy::default()).remove(0)
}

#[track_caller]
fn assert_stopped(search: &SearchPath, state: PluginState, words: &str) {
    let report = only(search);
    let refusal = report.refusal.expect("it is not loaded");
    assert_eq!((report.state, refusal.step), (state, Step::Pin), "{refusal}");
    assert!(refusal.to_string().contains(words), "{refusal}");
}

#[test]
fn each_decision_is_a_state_of_its_own() {
    let room = Room::empty();
    let (search, file) = home_with_fixture(&room);
    let sha256 = only(&search).sha256;
    assert_stopped(&search, PluginState::Unpinned, "run `scv plugins add ");
    write_pins(&room, &json!({"sha256": "00"}));
    assert_stopped(&search, PluginState::Unpinned, "but plugins.lock.json pins 00");
    write_pins(&room, &json!({"sha256": sha256, "enabled": false}));
    assert_stopped(&search, PluginState::Disabled, "run `scv plugins enable fixture`");
    let quarantine = json!({"sha256": sha256, "reason": "it crashed", "since_unix_seconds": 1});
    write_pins(&room, &json!({"sha256": sha256, "quarantined": quarantine}));
    assert_stopped(&search, PluginState::Quarantined, "it crashed; run `scv plugins check");
    let other = json!({"sha256": "00", "reason": "it crashed", "since_unix_seconds": 1});
    write_pins(&room, &json!({"sha256": sha256, "quarantined": other}));
    assert_eq!(only(&search).state, PluginState::Ready, "those were other bytes");
    assert_eq!(only(&search).isolation, Isolation::Process, "as everything from this folder");
    assert_eq!(only(&search).file, file);

    let pins = room.home().join("plugins.lock.json");
    fs::write(&pins, "{").unwrap();
    assert_stopped(&search, PluginState::Refused, "plugins.lock.json cannot be read");
    fs::set_permissions(&pins, fs::Permissions::from_mode(0o666)).unwrap();
    assert_stopped(&search, PluginState::Refused, "others can change");
}

#[test]
fn another_folder_needs_no_pin_but_obeys_one() {
    let room = Room::with_fixture();
    let report = scan(&room.search(), &Policy::default()).remove(0);
    assert_eq!((report.state, report.isolation), (PluginState::Ready, Isolation::InProcess));
    write_pins(&room, &json!({"enabled": false}));
    assert_eq!(only(&room.search()).state, PluginState::Disabled);
}

/// Damage to what was decided about one plugin must neither stop another one nor let the one run.
#[test]
fn in_another_folder_only_what_a_damaged_file_names_is_stopped() {
    let room = Room::with_fixture();
    let pins = room.home().join("plugins.lock.json");
    write_pins(&room, &json!({"enabled": false}));
    let text = fs::read_to_string(&pins).unwrap();
    for damaged in [&text[..text.len() - 1], &text.replace("enabled\":", "enabled\"")] {
        fs::write(&pins, damaged).unwrap();
        assert_stopped(&room.search(), PluginState::Refused, "cannot be read");
    }
    let mut bytes = text.replace("fixture", "another").into_bytes();
    bytes[3] = 0xff;
    fs::write(&pins, bytes).unwrap();
    assert_eq!(only(&room.search()).state, PluginState::Ready, "the file does not name it");

    fs::write(&pins, &text).unwrap();
    fs::set_permissions(&pins, fs::Permissions::from_mode(0o666)).unwrap();
    assert_stopped(&room.search(), PluginState::Refused, "others can change");
    fs::remove_file(&pins).unwrap();
    fs::create_dir(&pins).unwrap();
    assert_stopped(&room.search(), PluginState::Refused, "cannot be read");
}

/// Whatever way leads to the folder: its files need pins.
#[test]
fn the_folder_by_another_name_needs_pins_too() {
    let room = Room::empty();
    home_with_fixture(&room);
    let link = room.home().join("link");
    std::os::unix::fs::symlink(room.home().join("plugins"), &link).unwrap();
    let search = SearchPath::resolve(SearchOptions {
        cli_dirs: vec![link],
        home: Some(room.home().to_owned()),
        ..SearchOptions::default()
    });
    assert_eq!(only(&search).state, PluginState::Unpinned);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pinned_plugin_serves_and_one_that_is_withdrawn_serves_no_more() {
    let room = Room::empty();
    let (search, file) = home_with_fixture(&room);
    write_pins(&room, &json!({"sha256": only(&search).sha256}));
    let host = PluginHost::new(HostOptions { search, ..room.options() });
    host.load_all().await;
    assert_eq!(only_report(&host).state, PluginState::Loaded);
    assert_eq!(host.channels()[0].isolation, Isolation::Process);

    write_pins(&room, &json!({"sha256": only_report(&host).sha256, "enabled": false}));
    host.look().await;
    assert_eq!(only_report(&host).state, PluginState::Stale, "not before a reload");
    assert_eq!(host.channels().len(), 1);
    host.reload().await;
    assert_eq!(only_report(&host).state, PluginState::Disabled);
    assert!(host.channels().is_empty() && host.claims().is_empty());
    host.end_retired(std::time::Duration::from_secs(5)).await;

    write_pins(&room, &json!({"sha256": only_report(&host).sha256}));
    host.reload().await;
    assert_eq!(host.channels().len(), 1, "and it comes back");
    fs::remove_file(file).unwrap();
    host.reload().await;
    assert!(host.reports().is_empty() && host.channels().is_empty());
}
