//! What a process leaves behind that dies while it loads a plugin, and what the next one does.

use std::{fs, os::unix::fs::DirBuilderExt, path::PathBuf, process::Command};

use crate::common::*;
use scv_plugin_host::{
    Deadlines, HostOptions, Isolation, PluginHost, PluginReport, PluginState, Policy, Step, check,
    scan,
};

fn sha256(room: &Room) -> String {
    scan(&room.search(), &Policy::default()).remove(0).sha256
}

fn mark(room: &Room) -> PathBuf {
    room.home().join("cache/plugins").join(format!("{}.loading", sha256(room)))
}

/// As a process that died leaves it: nobody holds its lock.
fn leave_behind(room: &Room, content: &str) {
    let mark = mark(room);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(mark.parent().unwrap()).unwrap();
    fs::write(mark, content).unwrap();
}

fn attempt(number: u32) -> String {
    format!("{{\"scv_loading\":1,\"attempt\":{number}}}")
}

async fn report_after(options: HostOptions) -> PluginReport {
    let host = PluginHost::new(options);
    host.load_all().await;
    only_report(&host)
}

fn assert_quarantined(report: &PluginReport, words: &str) {
    let refusal = report.refusal.as_ref().expect("it is not loaded");
    assert_eq!(report.state, PluginState::Quarantined, "{refusal}");
    assert!(refusal.reason.contains(words), "{refusal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_that_was_not_the_plugins_costs_nothing() {
    let room = Room::with_fixture();
    for died in [1, 2] {
        leave_behind(&room, &attempt(died));
        let report = report_after(room.options()).await;
        assert_eq!(report.state, PluginState::Loaded, "{died}: {:?}", report.refusal);
        assert!(!mark(&room).exists(), "a good load takes the mark away");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_third_death_in_a_row_is_enough() {
    let room = Room::with_fixture();
    leave_behind(&room, &attempt(3));
    assert_quarantined(&report_after(room.options()).await, "for the 3rd time in a row");
    assert!(!mark(&room).exists(), "it is written down in another place");
    let again = report_after(room.options()).await;
    assert_quarantined(&again, "for the 3rd time in a row");
    assert_eq!(again.refusal.unwrap().step, Step::Pin, "another process knows it, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_kills_its_loader_is_found_out_at_the_very_next_start() {
    let room = Room::with_fixture();
    let killer = || room.options_with("create:abort", Deadlines::default());
    leave_behind(&room, &attempt(1));
    assert_quarantined(&report_after(killer()).await, "died in its create: signal 6 (SIGABRT)");
    assert_quarantined(&report_after(killer()).await, "signal 6 (SIGABRT)");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_that_is_not_ours_is_believed_at_once() {
    for content in ["", "something else"] {
        let room = Room::with_fixture();
        leave_behind(&room, content);
        assert_quarantined(&report_after(room.options()).await, "that nobody can read");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_bytes_under_the_same_name_are_not_meant() {
    let room = Room::with_fixture();
    leave_behind(&room, &attempt(3));
    report_after(room.options()).await;
    let mut newer = fs::read(fixture()).unwrap();
    newer.extend_from_slice(b"newer");
    room.put(FILE, &newer);
    assert_eq!(report_after(room.options()).await.state, PluginState::Loaded);
}

/// In a child a crash brings nobody down, so nothing is held against the plugin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_of_its_own_needs_no_mark() {
    let room = Room::with_fixture();
    leave_behind(&room, &attempt(2));
    let report = report_after(room.apart()).await;
    assert_eq!((report.state, report.isolation), (PluginState::Loaded, Isolation::Process));
    assert!(mark(&room).exists(), "it is for the other form");
}

/// Loaded here, a library whose constructor fails like this would take the daemon with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_library_that_crashes_while_it_is_loaded_ends_its_probe_only() {
    // The first one only takes away the handler of Rust's runtime, which waits for the next.
    let crash = "#include <signal.h>\n\
                 __attribute__((constructor)) static void crash(void) { raise(SIGBUS); raise(SIGBUS); }";
    let room = Room::empty();
    room.put_c_plugin(crash);
    for options in [room.options(), room.apart()] {
        let step = match options.policy.isolation.is_empty() {
            true => Step::Probe,
            false => Step::Load,
        };
        let report = report_after(options).await;
        let refusal = report.refusal.unwrap();
        assert_eq!((report.state, refusal.step), (PluginState::Refused, step), "{refusal}");
        assert_eq!(refusal.reason, "died while loading: signal 7 (SIGBUS)");
    }
    assert!(!mark(&room).exists(), "it never came so far");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_library_that_never_comes_back_while_it_is_loaded_costs_its_probe_only() {
    let hang = "#include <unistd.h>\n\
                __attribute__((constructor)) static void hang(void) { for (;;) pause(); }";
    let room = Room::empty();
    room.put_c_plugin(hang);
    let deadlines =
        Deadlines { probe: std::time::Duration::from_millis(500), ..Deadlines::default() };
    let report = report_after(room.options_with("", deadlines)).await;
    let refusal = report.refusal.unwrap();
    assert_eq!((report.state, refusal.step), (PluginState::Refused, Step::Probe), "{refusal}");
    assert!(refusal.is_transient(), "the machine may have been busy: {refusal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_header() {
    let room = Room::empty();
    room.put_c_plugin("");
    let refusal = report_after(room.options()).await.refusal.unwrap();
    assert_eq!(refusal.step, Step::Load, "{refusal}");
    assert!(refusal.reason.contains("another abi_stable"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_symbol_that_is_nowhere() {
    let room = Room::empty();
    room.put_c_plugin("extern void nowhere(void); void *uses(void) { return (void *)nowhere; }");
    let refusal = report_after(room.options()).await.refusal.unwrap();
    assert_eq!(refusal.step, Step::Load, "{refusal}");
    assert!(refusal.reason.contains("undefined symbol: nowhere"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_library_of_its_own_that_is_not_there() {
    let room = Room::empty();
    let (source, library) = (room.home().join("dep.c"), room.home().join("libdep-of-mine.so"));
    fs::write(&source, "int dep(void) { return 1; }\n").unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wl,-soname,libdep-of-mine.so", "-o"]).args([&library, &source]);
    assert!(cc.status().unwrap().success());
    room.put_linked_c_plugin("int dep(void); int uses(void) { return dep(); }", &[&library]);
    fs::remove_file(&library).unwrap();

    let checked = check(&room.options(), "fixture").await.unwrap();
    assert_eq!(checked.foreign_libraries, ["libdep-of-mine.so"]);
    let refusal = report_after(room.options()).await.refusal.unwrap();
    assert_eq!(refusal.step, Step::Load, "{refusal}");
    assert!(refusal.reason.contains("libdep-of-mine.so: cannot open"), "{refusal}");
}

/// The oldest version of glibc for this CPU, which every library needs, by the name of one to come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_library_for_a_newer_glibc() {
    let (oldest, newer) = match cfg!(target_arch = "x86_64") {
        true => ("GLIBC_2.2.5\0", "GLIBC_9.9.9\0"),
        false => ("GLIBC_2.17\0", "GLIBC_9.99\0"),
    };
    let room = Room::empty();
    room.put(FILE, &patched(&[(oldest, newer)]));
    let refusal = report_after(room.options()).await.refusal.unwrap();
    assert_eq!(refusal.step, Step::Load, "{refusal}");
    assert!(refusal.reason.contains(newer.trim_end_matches('\0')), "{refusal}");
}

/// What was loaded well once by this program is not tried in a child again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_is_remembered_for_these_bytes_and_this_build() {
    let room = Room::with_fixture();
    assert_eq!(report_after(room.options()).await.state, PluginState::Loaded);
    let known = mark(&room).with_extension("probed");
    let build = fs::read_to_string(&known).unwrap();
    let no_helper = HostOptions { helper: "/no/such/program".into(), ..room.options() };
    let report = report_after(no_helper.clone()).await;
    assert_eq!(report.refusal.unwrap().step, Step::Probe, "it is another build");
    assert_eq!(report_after(room.options()).await.state, PluginState::Loaded);
    assert_eq!(fs::read_to_string(&known).unwrap(), build);
    fs::write(&known, "0.1.0\n").unwrap();
    assert_eq!(report_after(no_helper).await.state, PluginState::Loaded, "nobody was asked");
}
