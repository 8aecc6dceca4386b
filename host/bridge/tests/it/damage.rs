//! Torn commits are cut, damage stops the account and keeps its files; nothing reads as empty.

use std::{
    fs,
    path::{Path, PathBuf},
};

use scv_bridge::store::{Change, Claim, File, Image, Opened, Pending, State, StoreError};

use crate::support::home::TestHome;

pub(crate) fn claim(id: &str) -> Change {
    Change::Claim(Claim {
        message_id: id.into(),
        to_user_id: "u".into(),
        context_token: format!("handle-{id}").into(),
        key: "u".into(),
        extra: serde_json::Map::new(),
    })
}

pub(crate) fn reply(id: &str) -> Change {
    Change::Reply(Pending {
        message_id: id.into(),
        to_user_id: "u".into(),
        context_token: format!("handle-{id}").into(),
        reply: format!("an answer of a usual length to {id}"),
        client_ids: vec![format!("client-{id}")],
        next_chunk: 0,
        key: "u".into(),
        carried: vec![],
        own: String::new(),
        transient: false,
        extra: serde_json::Map::new(),
    })
}

/// A few commits of every kind.
fn commits() -> Vec<Vec<Change>> {
    vec![
        vec![
            Change::Key("k1".into(), 1_000),
            claim("m1"),
            claim("m2"),
            Change::Cursor("c1".into()),
        ],
        vec![reply("m1")],
        vec![Change::Progress("client-m1".into(), 1), Change::Seen(vec!["m0".into()])],
        vec![Change::Delivered("client-m1".into()), reply("m2")],
        vec![Change::Hold { reply: "client-m2".into(), text: Some("kept".into()), held_at: 5 }],
        vec![Change::Expire(3), Change::Cursor("c2".into())],
    ]
}

pub(crate) fn commit(opened: &mut Opened, changes: &[Change]) -> Result<(), StoreError> {
    opened.log.append(changes)?;
    for change in changes {
        opened.state.apply(change).unwrap();
    }
    Ok(())
}

/// A home with a base and a journal, the state after each commit, and where each ends.
fn journalled() -> (TestHome, Vec<State>, Vec<usize>) {
    let home = TestHome::signed_in();
    let mut opened = home.open().unwrap();
    let mut states = vec![opened.state.clone()];
    let mut ends = vec![0];
    for changes in commits() {
        commit(&mut opened, &changes).unwrap();
        states.push(opened.state.clone());
        ends.push(fs::metadata(home.journal_path()).unwrap().len() as usize);
    }
    (home, states, ends)
}

fn error(home: &TestHome) -> StoreError {
    match home.open() {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    }
}

#[test]
fn reopened_it_holds_what_it_held() {
    let (home, states, _) = journalled();
    let opened = home.open().unwrap();
    assert_eq!(Some(&opened.state), states.last());
    assert!(!opened.was_torn);
    assert!(opened.state.is_known_key("k1", 2_000));
}

#[test]
fn cut_at_each_byte_it_holds_the_commits_before_the_cut() {
    let (home, states, ends) = journalled();
    let journal = fs::read(home.journal_path()).unwrap();
    for cut in 0..=journal.len() {
        fs::write(home.journal_path(), &journal[..cut]).unwrap();
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        // The first record alone says nothing yet.
        let opened = home.open().unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(opened.state, states[whole], "cut at {cut}");
    }
}

#[test]
fn after_a_torn_commit_it_goes_on() {
    let (home, states, ends) = journalled();
    let journal = fs::read(home.journal_path()).unwrap();
    fs::write(home.journal_path(), &journal[..ends[3] + 9]).unwrap();
    let mut opened = home.open().unwrap();
    assert!(opened.was_torn);
    assert_eq!(opened.state, states[3]);
    commit(&mut opened, &commits()[3]).unwrap();
    drop(opened);
    let opened = home.open().unwrap();
    assert!(!opened.was_torn);
    assert_eq!(opened.state, states[4]);
}

#[test]
fn flipped_at_each_byte_before_the_last_commit_it_is_damage_and_stays_as_it_is() {
    let (home, _, ends) = journalled();
    let journal = fs::read(home.journal_path()).unwrap();
    let base = fs::read(home.state_path()).unwrap();
    for at in 0..ends[ends.len() - 2] {
        let mut flipped = journal.clone();
        flipped[at] ^= 0x10;
        fs::write(home.journal_path(), &flipped).unwrap();
        let error = error(&home);
        assert!(
            matches!(error, StoreError::Damaged { file: File::Journal, .. }),
            "byte {at}: {error}"
        );
        assert_eq!(fs::read(home.journal_path()).unwrap(), flipped);
        assert_eq!(fs::read(home.state_path()).unwrap(), base);
    }
}

#[test]
fn a_tail_of_zeros_is_a_torn_commit() {
    let (home, states, _) = journalled();
    let mut journal = fs::read(home.journal_path()).unwrap();
    journal.resize(journal.len() + 512, 0);
    fs::write(home.journal_path(), &journal).unwrap();
    let opened = home.open().unwrap();
    assert!(opened.was_torn);
    assert_eq!(Some(&opened.state), states.last());
}

#[test]
fn a_base_that_is_cut_or_flipped_under_its_journal_is_damage() {
    let (home, ..) = journalled();
    let base = fs::read(home.state_path()).unwrap();
    for at in 0..base.len() {
        fs::write(home.state_path(), &base[..at]).unwrap();
        error(&home);
        let mut flipped = base.clone();
        flipped[at] ^= 1;
        fs::write(home.state_path(), &flipped).unwrap();
        error(&home);
        assert_eq!(fs::read(home.state_path()).unwrap(), flipped, "it is kept");
    }
    fs::remove_file(home.state_path()).unwrap();
    error(&home);
    assert!(!home.state_path().exists());
}

#[test]
fn a_base_that_is_no_state_is_damage() {
    let home = TestHome::signed_in();
    for text in ["", " ", "{}", "[]", "null", "{\"cursor\":\"\"}", "{\"cursor\":\"\",\"seen\":"] {
        fs::write(home.state_path(), text).unwrap();
        let error = error(&home);
        assert!(matches!(error, StoreError::Damaged { file: File::Base, .. }), "{text}: {error}");
        assert_eq!(fs::read_to_string(home.state_path()).unwrap(), text);
    }
}

#[test]
fn a_journal_without_changes_under_another_base_is_removed() {
    let (home, states, _) = journalled();
    let journal = fs::read(home.journal_path()).unwrap();
    let first = 16 + u32::from_le_bytes(journal[..4].try_into().unwrap()) as usize;
    fs::write(home.journal_path(), &journal[..first]).unwrap();
    let mut base: serde_json::Value =
        serde_json::from_slice(&fs::read(home.state_path()).unwrap()).unwrap();
    base["cursor"] = "from an older release".into();
    fs::write(home.state_path(), base.to_string()).unwrap();
    let opened = home.open().unwrap();
    assert_eq!(opened.state.cursor(), Some("from an older release"));
    assert_eq!(opened.state.fingerprint(), states[0].fingerprint());
    assert!(!home.journal_path().exists());
}

#[test]
fn a_journal_with_changes_under_another_base_is_damage() {
    let (home, ..) = journalled();
    let base = fs::read_to_string(home.state_path()).unwrap();
    fs::write(home.state_path(), base + " ").unwrap();
    let error = error(&home);
    assert!(matches!(error, StoreError::Damaged { file: File::Journal, .. }), "{error}");
}

#[test]
fn damaged_keys_are_damage() {
    let (home, ..) = journalled();
    let mut opened = home.open().unwrap();
    opened.log.fold(&Image::of(&opened.state)).unwrap();
    let state = opened.state.clone();
    drop(opened);
    let path = home.path("journal/default.keys");
    let keys = fs::read(&path).unwrap();
    assert_eq!(home.open().unwrap().state, state);
    for at in 0..keys.len() {
        fs::write(&path, &keys[..at]).unwrap();
        error(&home);
        let mut flipped = keys.clone();
        flipped[at] ^= 1;
        fs::write(&path, &flipped).unwrap();
        error(&home);
    }
}

#[test]
fn swapped_accounts_stop_by_their_fingerprints() {
    let (home, ..) = journalled();
    let opened = home.open_as(&home.accounts, "somebody else");
    assert!(matches!(opened.err(), Some(StoreError::OtherIdentity)));
    let text = StoreError::OtherIdentity.to_string();
    assert!(!text.contains('/'), "{text}");
}

#[test]
fn symlinks_are_refused() {
    let (home, ..) = journalled();
    let aside: PathBuf = home.root().join("aside");
    for path in [home.state_path(), home.journal_path()] {
        fs::rename(&path, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        assert!(matches!(error(&home), StoreError::NotOurs(_)));
        fs::rename(&aside, &path).unwrap();
    }
    home.open().unwrap();
}

#[test]
fn what_is_no_file_is_named_and_kept() {
    let (home, ..) = journalled();
    let aside: PathBuf = home.root().join("aside");
    let keys = home.path("journal/default.keys");
    let lock = home.path("transactions/default.json");
    for path in [home.state_path(), home.journal_path(), keys, lock] {
        let had_file = fs::rename(&path, &aside).is_ok();
        let not_files: [fn(&Path); 2] = [make_folder, make_fifo];
        for make in not_files {
            make(&path);
            let error = error(&home);
            assert!(matches!(error, StoreError::NotOurs(_)), "{path:?}: {error}");
            assert!(error.to_string().contains("is not a regular file of yours; move it away"));
            let moved = tempfile::tempdir_in(home.root()).unwrap();
            fs::rename(&path, moved.path().join("it is kept")).unwrap();
        }
        if had_file {
            fs::rename(&aside, &path).unwrap();
        }
    }
    home.open().unwrap();
}

fn make_folder(path: &Path) {
    fs::create_dir(path).unwrap();
}

fn make_fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn files_removed_in_use_are_noticed() {
    let (home, ..) = journalled();
    let mut opened = home.open().unwrap();
    fs::remove_file(home.journal_path()).unwrap();
    let change = Change::Cursor("c3".into());
    assert_eq!(opened.log.append(&[change]), Err(StoreError::Gone));
}
