//! The folder of an older release moves as a whole, under all its locks, or not at all.

use std::fs;

use fs4::FileExt;
use scv_bridge::{AccountName, AccountsError, accounts::Migration};
use scv_plugin_api::wire::{Legacy, Secret};
use serde_json::json;

use crate::support::home::TestHome;

fn legacy() -> Legacy {
    Legacy { home_dir: "coop".into(), single_file: "coop.toml".into(), v2_prefix: "coop".into() }
}

/// An old folder with the accounts `default` and `work`.
fn old_home() -> TestHome {
    let home = TestHome::new();
    for (folder, account, text) in [
        ("accounts", "default", r#"{"token":"a"}"#),
        ("accounts", "work", r#"{"token":"b"}"#),
        ("settings", "work", r#"{"enabled":false}"#),
        ("state", "default", r#"{"cursor":"b1","seen":["m1"],"pending":null,"in_flight":null}"#),
        ("locks", "default", ""),
        ("transactions", "default", ""),
    ] {
        let dir = home.root().join("coop").join(folder);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{account}.json")), text).unwrap();
    }
    home
}

fn migrate(home: &TestHome) -> Result<Migration, AccountsError> {
    home.accounts.migrate_legacy(&legacy(), &home.channel)
}

#[test]
fn everything_arrives_unchanged() {
    let home = old_home();
    assert!(migrate(&home).unwrap().moved);
    assert!(!home.root().join("coop").exists());
    let work = AccountName::new("work").unwrap();
    assert_eq!(
        home.accounts.discover(&home.channel).unwrap(),
        [AccountName::default(), work.clone()]
    );
    let snapshot = home.accounts.snapshot(&home.channel, &work).unwrap().unwrap();
    assert!(!snapshot.settings.enabled);
    let opened = home.open_as(&home.accounts, "me").unwrap();
    assert_eq!(opened.state.cursor(), Some("b1"));
    assert!(!migrate(&home).unwrap().moved, "once");
}

#[test]
fn without_an_old_folder_nothing_happens() {
    let home = TestHome::new();
    let migration = migrate(&home).unwrap();
    assert!(!migration.moved && migration.single_file.is_none());
    assert!(!home.path("").exists(), "not even the new folder is made");
}

#[test]
fn both_folders_are_refused_and_stay() {
    let home = old_home();
    home.sign_in("b", None).unwrap();
    assert_eq!(migrate(&home).unwrap_err(), AccountsError::BothHomes);
    assert!(home.root().join("coop/accounts/work.json").exists());
    assert!(home.path("accounts/default.json").exists());
}

#[test]
fn any_lock_of_an_older_release_makes_it_wait() {
    for (folder, account) in [("locks", "default"), ("transactions", "default"), ("locks", "work")]
    {
        let home = old_home();
        let path = home.root().join("coop").join(folder).join(format!("{account}.json"));
        let lock = fs::File::create(path).unwrap();
        FileExt::lock(&lock).unwrap();
        assert_eq!(migrate(&home).unwrap_err(), AccountsError::LegacyBusy, "{folder}");
        assert!(!home.path("").exists());
        FileExt::unlock(&lock).unwrap();
        assert!(migrate(&home).unwrap().moved);
    }
}

#[test]
fn a_symlink_in_place_of_the_old_folder_is_refused() {
    let home = old_home();
    fs::rename(home.root().join("coop"), home.root().join("moved")).unwrap();
    std::os::unix::fs::symlink(home.root().join("moved"), home.root().join("coop")).unwrap();
    assert!(matches!(migrate(&home), Err(AccountsError::NotOurs { .. })));
}

#[test]
fn the_single_file_becomes_the_default_account() {
    let home = TestHome::new();
    let single = home.root().join("coop.toml");
    fs::write(&single, "token = \"tok-fake-1\"").unwrap();
    let text = migrate(&home).unwrap().single_file.unwrap();
    assert_eq!(text.expose(), "token = \"tok-fake-1\"");
    assert!(!format!("{text:?}").contains("tok"));

    let credentials = Secret::new(json!({"token": "tok-fake-1"}));
    home.accounts.import_single_file(&legacy(), &home.channel, &credentials).unwrap();
    assert!(!single.exists());
    let snapshot = home.accounts.snapshot(&home.channel, &home.account).unwrap().unwrap();
    assert_eq!(snapshot.credentials, credentials);
    assert!(migrate(&home).unwrap().single_file.is_none());
}

#[test]
fn the_single_file_never_replaces_an_account_and_goes_with_its_logout() {
    let home = TestHome::signed_in();
    let single = home.root().join("coop.toml");
    fs::write(&single, "token = \"old\"").unwrap();
    assert!(migrate(&home).unwrap().single_file.is_none());
    assert!(single.exists());
    home.accounts.logout(&home.channel, &home.account).unwrap();
    assert!(migrate(&home).unwrap().single_file.is_none());
}
