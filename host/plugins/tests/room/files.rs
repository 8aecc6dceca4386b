//! Files that must not be loaded, each with its step, its reason and its remedy.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use crate::common::*;
use scv_plugin_host::{
    PluginHost, PluginReport, PluginState, Policy, SearchOptions, SearchPath, Step, scan,
};

/// Looks with every plugin switched on.
fn look(search: &SearchPath) -> Vec<PluginReport> {
    scan(search, &Policy::default())
}

fn off() -> Policy {
    Policy { disabled: BTreeSet::from(["fixture".to_owned()]), ..Policy::default() }
}

fn refused(room: &Room) -> (Step, String) {
    let reports = look(&room.search());
    assert_eq!(reports.len(), 1, "{reports:?}");
    let report: &PluginReport = &reports[0];
    let refusal = report.refusal.as_ref().expect("it is refused");
    assert_eq!(report.state, PluginState::Refused);
    assert!(refusal.fix.starts_with(|c: char| c.is_lowercase()), "{refusal}");
    assert_eq!(
        refusal.to_string(),
        format!("{}: {}; {}", refusal.step, refusal.reason, refusal.fix)
    );
    assert!(!refusal.to_string().ends_with('.'), "{refusal}");
    (refusal.step, refusal.reason.clone())
}

#[track_caller]
fn assert_refused(room: &Room, step: Step, words: &str) {
    let (actual, reason) = refused(room);
    assert_eq!(actual, step, "{reason}");
    assert!(reason.contains(words), "{reason}");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_fixture_itself_is_ready() {
    let room = Room::with_fixture();
    let reports = look(&room.search());
    let report = &reports[0];
    assert_eq!(report.state, PluginState::Ready, "{report:?}");
    assert_eq!((report.name.as_str(), report.title.as_str()), ("fixture", "Fixture"));
    assert_eq!(report.channels, ["fixture", "fixed"]);
    assert_eq!((report.abi.as_str(), report.version.as_str()), ("1.0", "0.1.0"));
    assert_eq!(report.plugin_api, scv_plugin_api::VERSION);
    assert_eq!(report.sha256.len(), 64);
}

#[test]
fn what_is_no_library() {
    let room = Room::empty();
    for bytes in [&b""[..], b"hello", b"#!/bin/sh\n", b"\x7fEL"] {
        room.put(FILE, bytes);
        assert_refused(&room, Step::Inspect, "no ELF header");
    }
}

#[test]
fn a_library_cut_anywhere_is_truncated_or_damaged() {
    let room = Room::empty();
    let whole = fs::read(fixture()).unwrap();
    for len in [5, 63, 64, 100, 4_096, 20_000, whole.len() / 2, whole.len() - 1] {
        room.put(FILE, &whole[..len]);
        let (step, reason) = refused(&room);
        assert_eq!(step, Step::Inspect);
        let named = reason.contains("truncated") || reason.contains("damaged");
        assert!(named, "{len}: {reason}");
    }
    room.put(FILE, &whole[..20_000]);
    assert_refused(&room, Step::Inspect, "truncated: 20000 bytes, but a segment ends at ");
}

#[test]
fn a_library_for_another_cpu_or_class() {
    let room = Room::empty();
    let whole = fs::read(fixture()).unwrap();
    let mut other = whole.clone();
    other[18..20].copy_from_slice(&[0x2a, 0]);
    room.put(FILE, &other);
    assert_refused(&room, Step::Inspect, "another CPU (ELF machine 42, ");
    for (at, value) in [(4, 1), (5, 2)] {
        let mut other = whole.clone();
        other[at] = value;
        room.put(FILE, &other);
        assert_refused(&room, Step::Inspect, "another CPU");
    }
}

#[test]
fn an_executable_that_is_not_shared() {
    let room = Room::empty();
    let mut program = fs::read(fixture()).unwrap();
    program[16..18].copy_from_slice(&[2, 0]);
    room.put(FILE, &program);
    assert_refused(&room, Step::Inspect, "not a shared library (ELF type 2)");
}

#[test]
fn a_shared_library_that_is_no_plugin() {
    let room = Room::empty();
    let source = room.home().join("plain.c");
    fs::write(&source, "int answer(void) { return 42; }\n").unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(room.dir().join(FILE))
        .arg(&source)
        .status()
        .unwrap();
    assert!(built.success());
    set_mode(&room.dir().join(FILE), 0o644);
    assert_refused(&room, Step::Inspect, "no SCV_CHANNEL_MANIFEST_1 symbol");
}

#[test]
fn a_manifest_that_does_not_fit() {
    let room = Room::empty();
    room.put(FILE, &patched(&[(r#"{"scv_plugin":1"#, r#"{"scv_plugin":7"#)]));
    assert_refused(&room, Step::Inspect, "scv_plugin is not 1");
    room.put(FILE, &patched(&[(r#"{"scv_plugin":1"#, r#"?"scv_plugin":1"#)]));
    assert_refused(&room, Step::Inspect, "not a JSON object");
    room.put(FILE, &patched(&[(r#""abi":"1.0""#, r#""abi":"2.0""#)]));
    assert_refused(&room, Step::Inspect, "built for plugin ABI 2.0; this scv (0.1.0) loads 1.x");
    room.put(FILE, &patched(&[(r#""name":"fixture""#, r#""name":"fixturf""#)]));
    assert_refused(&room, Step::Inspect, "its manifest names it 'fixturf', its file 'fixture'");
    room.put(FILE, &patched(&[("SCV_CHANNEL_PLUGIN_ABI_1", "SCV_CHANNEL_PLUGIN_ABI_2")]));
    assert_refused(&room, Step::Inspect, "no SCV_CHANNEL_PLUGIN_ABI_1 symbol");
}

#[test]
fn a_minor_version_beyond_ours_is_welcome() {
    let room = Room::empty();
    room.put(FILE, &patched(&[(r#""abi":"1.0""#, r#""abi":"1.9""#)]));
    assert_eq!(look(&room.search())[0].state, PluginState::Ready);
}

#[test]
fn a_file_that_is_not_a_file() {
    let room = Room::empty();
    let path = room.dir().join(FILE);
    symlink(fixture(), &path).unwrap();
    assert_refused(&room, Step::Trust, "is a symbolic link");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_refused(&room, Step::Trust, "is no regular file");
    fs::remove_dir(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_refused(&room, Step::Trust, "is no regular file");
}

#[test]
fn files_and_folders_that_others_can_write() {
    let room = Room::with_fixture();
    let file = room.dir().join(FILE);
    set_mode(&file, 0o646);
    assert_refused(&room, Step::Trust, "is writable by group or others (mode 0646)");
    set_mode(&file, 0o644);
    set_mode(&room.dir(), 0o757);
    assert_refused(&room, Step::Trust, "is writable by group or others (mode 0757)");
    set_mode(&room.dir(), 0o700);
    set_mode(room.home(), 0o777);
    assert_refused(&room, Step::Trust, "is writable by group or others (mode 0777)");
    set_mode(room.home(), 0o1777);
    assert_eq!(look(&room.search())[0].state, PluginState::Ready, "sticky is fine");
}

#[test]
fn a_file_of_somebody_else() {
    let room = Room::with_fixture();
    let file = room.dir().join(FILE);
    // Only root can give a file away; for anybody else there is nothing to test.
    if std::os::unix::fs::chown(&file, Some(54_321), None).is_ok() {
        assert_refused(&room, Step::Trust, "belongs to another user (uid 54321)");
    }
    if std::os::unix::fs::chown(&file, Some(0), Some(54_321)).is_ok() {
        set_mode(&file, 0o664);
        assert_refused(&room, Step::Trust, "is writable by group or others (mode 0664)");
    }
}

#[test]
fn a_folder_that_is_configured_through_a_link_is_resolved_first() {
    let room = Room::with_fixture();
    let link = room.home().join("link");
    symlink(room.dir(), &link).unwrap();
    let search =
        SearchPath::resolve(SearchOptions { cli_dirs: vec![link], ..SearchOptions::default() });
    assert_eq!(look(&search)[0].state, PluginState::Ready);
}

#[test]
fn other_names_are_ignored_and_say_so() {
    let room = Room::with_fixture();
    for name in ["libother.so", "libscv_channel_.so", "libscv_channel_UPPER.so"] {
        room.put(name, b"x");
    }
    room.put("README", b"not even listed");
    let reports = look(&room.search());
    let ignored = |report: &&PluginReport| {
        report.refusal.as_ref().is_some_and(|refusal| refusal.reason.starts_with("it is ignored"))
    };
    assert_eq!(reports.len(), 4);
    assert_eq!(reports.iter().filter(ignored).count(), 3);
}

#[test]
fn no_more_than_64_files_are_read() {
    let room = Room::empty();
    for n in 0..70 {
        room.put(&format!("libscv_channel_x{n:02}.so"), b"");
    }
    let reports = look(&room.search());
    assert_eq!(reports.len(), 65, "the first one beyond says it");
    let last = reports.last().unwrap().refusal.as_ref().unwrap();
    assert_eq!(last.step, Step::Find);
}

#[test]
fn the_first_of_two_names_wins() {
    let (first, second) = (Room::with_fixture(), Room::with_fixture());
    let search = SearchPath::resolve(SearchOptions {
        cli_dirs: vec![first.dir(), first.dir(), second.dir(), "/no/such/folder".into()],
        ..SearchOptions::default()
    });
    let states: Vec<_> = look(&search).iter().map(|report| report.state).collect();
    assert_eq!(states, [PluginState::Ready, PluginState::Conflict]);
}

#[test]
fn the_first_of_two_channels_wins() {
    let room = Room::with_fixture();
    let other = patched(&[(r#""name":"fixture""#, r#""name":"fixturf""#)]);
    room.put("libscv_channel_fixturf.so", &other);
    let reports = look(&room.search());
    assert_eq!(reports[0].state, PluginState::Ready);
    assert_eq!(reports[1].state, PluginState::Conflict);
    let reason = &reports[1].refusal.as_ref().unwrap().reason;
    assert!(reason.contains("'fixture'"), "{reason}");
}

#[test]
fn a_plugin_that_is_switched_off_claims_no_channel() {
    let room = Room::with_fixture();
    room.put(
        "libscv_channel_fixturf.so",
        &patched(&[(r#""name":"fixture""#, r#""name":"fixturf""#)]),
    );
    let reports = scan(&room.search(), &off());
    let states: Vec<_> = reports.iter().map(|report| report.state).collect();
    assert_eq!(states, [PluginState::Disabled, PluginState::Ready]);
}

#[test]
fn a_manifest_is_known_of_refused_plugins_too_where_it_can_be_read() {
    let room = Room::empty();
    room.put(FILE, &patched(&[(r#""abi":"1.0""#, r#""abi":"2.0""#)]));
    let report = look(&room.search()).remove(0);
    let manifest = report.manifest.expect("it can be read");
    assert_eq!((report.state, manifest.abi.as_str()), (PluginState::Refused, "2.0"));
    assert_eq!(manifest.channels[0].id, "fixture");
    room.put(FILE, &patched(&[("SCV_CHANNEL_PLUGIN_ABI_1", "SCV_CHANNEL_PLUGIN_ABI_2")]));
    assert!(look(&room.search())[0].manifest.is_some());
    room.put(FILE, b"no library");
    assert_eq!(look(&room.search())[0].manifest, None);
}

#[tokio::test]
async fn a_library_whose_code_disagrees_with_its_file() {
    let room = Room::empty();
    let mut bytes = fs::read(fixture()).unwrap();
    let title = br#""title":"Fixture""#;
    let at = find(&bytes, title).unwrap();
    let second = find(&bytes[at + 1..], title);
    assert!(second.is_some(), "the symbol and the code hold a copy each");
    bytes[at + title.len() - 2] = b'f';
    room.put(FILE, &bytes);
    let host = PluginHost::new(room.options());
    host.load_all().await;
    let refusal = only_report(&host).refusal.unwrap();
    assert_eq!(refusal.step, Step::Load, "{refusal}");
    assert!(refusal.reason.contains("another manifest"), "{refusal}");
}

#[tokio::test]
async fn a_bad_file_costs_only_itself() {
    let room = Room::with_fixture();
    room.put("libscv_channel_bad.so", b"text");
    let host = PluginHost::new(room.options());
    host.load_all().await;
    let states: Vec<_> = host.reports().iter().map(|report| report.state).collect();
    assert_eq!(states, [PluginState::Refused, PluginState::Loaded]);
    assert_eq!(host.channels().len(), 1);
}

#[tokio::test]
async fn a_cache_that_cannot_be_used() {
    let room = Room::with_fixture();
    fs::write(room.home().join("cache"), b"a file").unwrap();
    let host = PluginHost::new(room.options());
    host.load_all().await;
    assert_eq!(only_report(&host).refusal.unwrap().step, Step::Copy);
}
