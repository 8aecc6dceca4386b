//! The store over a file system that fails or stops at each of its operations in turn: what is
//! acknowledged is durable, and nothing else is there but at most the commit under way.

use std::{io, sync::Arc};

use scv_bridge::{
    fs::FileSystem,
    limits::FOLD_JOURNAL_BYTES,
    store::{Change, Image, Opened, State, StoreError},
};

use crate::{
    damage::{claim, commit, reply},
    support::{
        faulty::{Fault, FaultyFileSystem},
        home::TestHome,
    },
};

/// Three answered messages, a fold in the middle, and a clean stop.
pub(crate) enum Step {
    Commit(Vec<Change>),
    Fold,
}

/// The three commits of an answered message of one part.
fn answered(id: &str) -> [Step; 3] {
    [
        Step::Commit(vec![
            Change::Key(format!("key-{id}"), 1_790_000_000_000),
            claim(id),
            Change::Cursor(format!("after-{id}")),
        ]),
        Step::Commit(vec![reply(id)]),
        Step::Commit(vec![Change::Delivered(format!("client-{id}"))]),
    ]
}

pub(crate) fn scenario() -> Vec<Step> {
    let mut steps = Vec::new();
    steps.extend(answered("m1"));
    steps.push(Step::Fold);
    steps.extend(answered("m2"));
    steps.extend(answered("m3"));
    steps.push(Step::Fold);
    steps
}

/// How a run of the scenario ends by itself.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    TheEnd,
    /// One step after a step that failed at first, as if killed there.
    OneStepAfterAFailure,
}

/// Runs the scenario until a step fails too often. Answers the state that was acknowledged, and
/// what it would have been with the step that failed.
fn run(
    home: &TestHome,
    fs: &FaultyFileSystem,
    tries: usize,
    until: Until,
) -> Option<(State, State)> {
    let accounts = home.over(Arc::new(fs.clone()) as Arc<dyn FileSystem>);
    let mut opened = (0..tries).find_map(|_| home.open_over(&accounts).ok())?;
    let mut has_failed = false;
    for step in scenario() {
        let before = opened.state.clone();
        let stops_here = has_failed && until == Until::OneStepAfterAFailure;
        let Some(failures) = (0..tries).find(|_| take(&mut opened, &step).is_ok()) else {
            let mut after = before.clone();
            if let Step::Commit(changes) = &step {
                for change in changes {
                    after.apply(change).unwrap();
                }
            }
            return Some((before, after));
        };
        if stops_here {
            break;
        }
        has_failed |= failures > 0;
    }
    Some((opened.state.clone(), opened.state))
}

pub(crate) fn take(opened: &mut Opened, step: &Step) -> Result<(), StoreError> {
    match step {
        Step::Commit(changes) => commit(opened, changes),
        Step::Fold => opened.log.fold(&Image::of(&opened.state)),
    }
}

fn operations() -> usize {
    let home = TestHome::signed_in();
    let fs = FaultyFileSystem::counting();
    run(&home, &fs, 1, Until::TheEnd).unwrap();
    fs.operations()
}

#[test]
fn at_every_operation_every_fault_leaves_what_was_acknowledged() {
    let total = operations();
    assert!(total > 30, "the scenario has only {total} operations");
    let kinds = [
        io::ErrorKind::StorageFull,
        io::ErrorKind::Other,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::Interrupted,
    ];
    let once = kinds.map(Fault::Once);
    let always = kinds.map(Fault::Always);
    let faults = once.into_iter().chain(always).chain([Fault::Short, Fault::StopAfter]);
    for fault in faults {
        for at in 0..total {
            check(fault, at, Until::TheEnd);
            check(fault, at, Until::OneStepAfterAFailure);
        }
    }
}

fn check(fault: Fault, at: usize, until: Until) {
    let home = TestHome::signed_in();
    let fs = FaultyFileSystem::new(at, fault);
    let Some((acknowledged, under_way)) = run(&home, &fs, 3, until) else {
        home.open().unwrap();
        return;
    };
    let reopened = home.open().unwrap_or_else(|e| panic!("{fault:?} at {at}: {e}")).state;
    assert!(reopened == acknowledged || reopened == under_way, "{fault:?} at {at}: {reopened:?}");
    if matches!(fault, Fault::Once(_) | Fault::Short) && until == Until::TheEnd {
        assert_eq!(reopened.cursor(), Some("after-m3"), "{fault:?} at {at}");
    }
}

#[test]
fn an_answered_message_costs_three_syncs_and_under_4_kib_whatever_is_kept() {
    for kept in [0, 4_096] {
        let home = TestHome::signed_in();
        let mut opened = home.open().unwrap();
        let ids = (0..kept).map(|n| format!("message-id-{n:060}")).collect();
        commit(&mut opened, &[Change::Seen(ids)]).unwrap();
        opened.log.fold(&Image::of(&opened.state)).unwrap();
        drop(opened);

        let fs = FaultyFileSystem::counting();
        let accounts = home.over(Arc::new(fs.clone()));
        let mut opened = home.open_over(&accounts).unwrap();
        commit(&mut opened, &[Change::Cursor("a first commit makes the journal".into())]).unwrap();
        let (syncs, bytes) = (fs.syncs(), fs.bytes());
        for step in answered("m1") {
            take(&mut opened, &step).unwrap();
        }
        assert_eq!(fs.syncs() - syncs, 3, "{kept} kept");
        assert!(fs.bytes() - bytes < 4_096, "{kept} kept: {} bytes", fs.bytes() - bytes);
    }
}

#[test]
fn a_journal_of_1_mib_wants_to_be_folded() {
    let home = TestHome::signed_in();
    let mut opened = home.open().unwrap();
    let mut n = 0;
    while !opened.log.wants_fold() {
        n += 1;
        commit(&mut opened, &[Change::Cursor(format!("{n:065000}"))]).unwrap();
    }
    let journal = std::fs::metadata(home.journal_path()).unwrap();
    assert!(journal.len() >= FOLD_JOURNAL_BYTES && journal.len() < FOLD_JOURNAL_BYTES + 66_000);
    opened.log.fold(&Image::of(&opened.state)).unwrap();
    assert!(!opened.log.wants_fold());
    assert!(!home.journal_path().exists());
    let state = opened.state.clone();
    drop(opened);
    assert_eq!(home.open().unwrap().state, state);
}

/// A disk that was full for long: every fold failed, and the journal has grown to its limit.
#[test]
fn a_full_journal_can_still_be_folded() {
    let home = TestHome::signed_in();
    let mut opened = home.open().unwrap();
    let mut length = 16 * 1024 * 1024;
    while length > 0 {
        match commit(&mut opened, &[Change::Cursor("x".repeat(length))]) {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error, StoreError::Full);
                length /= 2;
            }
        }
    }
    assert!(opened.log.wants_fold());
    opened.log.fold(&Image::of(&opened.state)).unwrap();
    commit(&mut opened, &[Change::Cursor("it goes on".into())]).unwrap();
    drop(opened);
    assert_eq!(home.open().unwrap().state.cursor(), Some("it goes on"));
}
