//! Accounts: discovery, settings, locks, logout, modes.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    time::Duration,
};

use scv_bridge::{
    AccountName, AccountsError, ChannelId, Settings, SettingsChange,
    accounts::retry_busy,
    store::{Change, Image},
};
use scv_protocol::{RemoteTools, Senders};

use crate::support::home::{TestHome, credentials};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn grant() -> SettingsChange {
    SettingsChange {
        remote_tools: Some(RemoteTools::Owner),
        senders: Some(Senders::Owner),
        ..SettingsChange::default()
    }
}

#[test]
fn everything_is_private_from_birth() {
    let home = TestHome::signed_in();
    home.set(grant());
    let mut opened = home.open().unwrap();
    opened.log.append(&[Change::Key("k".into(), 1)]).unwrap();
    opened.state.apply(&Change::Key("k".into(), 1)).unwrap();
    assert_eq!(mode(&home.journal_path()), 0o600);
    opened.log.fold(&Image::of(&opened.state)).unwrap();
    for file in [
        "accounts/default.json",
        "settings/default.json",
        "state/default.json",
        "journal/default.keys",
        "locks/default.json",
        "transactions/default.json",
    ] {
        assert_eq!(mode(&home.path(file)), 0o600, "{file}");
        assert_eq!(mode(home.path(file).parent().unwrap()), 0o700, "{file}");
    }
    assert_eq!(mode(&home.root().join("channels")), 0o700);
    assert_eq!(mode(&home.path("")), 0o700);
}

#[test]
fn a_wider_mode_is_narrowed() {
    let home = TestHome::signed_in();
    let path = home.path("settings/default.json");
    fs::write(&path, r#"{"enabled":false}"#).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let snapshot = home.accounts.snapshot(&home.channel, &home.account).unwrap().unwrap();
    assert!(!snapshot.settings.enabled);
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn symlinks_are_refused() {
    let home = TestHome::signed_in();
    let path = home.path("accounts/default.json");
    let aside = home.root().join("aside.json");
    fs::rename(&path, &aside).unwrap();
    symlink(&aside, &path).unwrap();
    let snapshot = home.accounts.snapshot(&home.channel, &home.account);
    assert!(matches!(snapshot, Err(AccountsError::NotOurs { .. })), "{snapshot:?}");
    fs::remove_file(&path).unwrap();

    let locks = home.path("locks");
    fs::create_dir_all(home.root().join("elsewhere")).unwrap();
    fs::remove_dir_all(&locks).unwrap();
    symlink(home.root().join("elsewhere"), &locks).unwrap();
    let lifetime = home.accounts.lifetime(&home.channel, &home.account);
    let expected = "a folder of the channel is not a folder of yours; move it away, and this goes on by \
                    itself";
    assert_eq!(lifetime.unwrap_err().to_string(), expected);
}

#[test]
fn discovery_lists_all_or_fails() {
    let home = TestHome::new();
    assert_eq!(home.accounts.discover(&home.channel), Ok(vec![]));
    home.sign_in("b", None).unwrap();
    let dir = home.path("accounts");
    for n in 1..128 {
        fs::write(dir.join(format!("a{n}.json")), "{}").unwrap();
    }
    fs::write(dir.join(".a1.json.tmp"), "left behind").unwrap();
    assert_eq!(home.accounts.discover(&home.channel).unwrap().len(), 128);
    fs::write(dir.join("b.json"), "{}").unwrap();
    assert_eq!(
        home.accounts.discover(&home.channel),
        Err(AccountsError::TooMany(home.channel.clone()))
    );
    fs::remove_file(dir.join("b.json")).unwrap();
    fs::rename(dir.join("a1.json"), dir.join("a 1.json")).unwrap();
    assert_eq!(home.accounts.discover(&home.channel), Err(AccountsError::BadName));
    fs::remove_dir_all(&dir).unwrap();
    fs::write(&dir, "a file").unwrap();
    assert!(matches!(home.accounts.discover(&home.channel), Err(AccountsError::NotOurs { .. })));
}

#[test]
fn folders_of_unknown_channels_are_listed() {
    let home = TestHome::signed_in();
    fs::create_dir(home.root().join("channels/raven")).unwrap();
    let raven = ChannelId::new("raven").unwrap();
    let known = [home.channel.clone()];
    let unclaimed = |known: &[ChannelId]| home.accounts.unclaimed(known).unwrap();
    assert_eq!(unclaimed(&known), std::slice::from_ref(&raven));
    assert_eq!(unclaimed(&[]), [home.channel.clone(), raven]);
}

#[test]
fn a_snapshot_changes_its_revision_with_either_file() {
    let home = TestHome::signed_in();
    let snapshot = || home.accounts.snapshot(&home.channel, &home.account).unwrap().unwrap();
    let first = snapshot();
    assert_eq!(first, snapshot());
    assert_eq!(first.settings, Settings::default());
    home.set(grant());
    let second = snapshot();
    assert_ne!(first.revision, second.revision);
    assert!(!format!("{second:?}").contains("tok-fake-1"));
    fs::write(home.path("accounts/default.json"), r#"{"token":"rotated"}"#).unwrap();
    assert_ne!(second.revision, snapshot().revision);
}

#[test]
fn damaged_files_are_named_and_kept() {
    let home = TestHome::signed_in();
    for (file, text) in [
        ("settings", r#"{"enabled":true,"surprise":"secret-value"}"#),
        ("settings", ""),
        ("credentials", "{\"token\":\"secret-value\""),
        ("credentials", "[]"),
    ] {
        let folder = if file == "settings" { "settings" } else { "accounts" };
        let path = home.path(&format!("{folder}/default.json"));
        fs::write(&path, text).unwrap();
        let error = home.accounts.snapshot(&home.channel, &home.account).unwrap_err();
        assert!(matches!(&error, AccountsError::Damaged { file: f, .. } if *f == file), "{error}");
        assert!(!error.to_string().contains("secret-value"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn set_keeps_what_it_does_not_name() {
    let home = TestHome::signed_in();
    let workspace = home.root();
    home.set(SettingsChange { workspace: Some(workspace.clone()), ..grant() });
    let after = home.set(SettingsChange { enabled: Some(false), ..SettingsChange::default() });
    assert_eq!(
        after,
        Settings {
            enabled: false,
            workspace: Some(workspace),
            remote_tools: RemoteTools::Owner,
            senders: Senders::Owner,
        }
    );
    let missing = SettingsChange {
        workspace: Some(home.root().join("missing")),
        ..SettingsChange::default()
    };
    let refused = home.accounts.set(&home.channel, &home.account, missing);
    assert_eq!(refused, Err(AccountsError::Workspace));
    let other = AccountName::new("other").unwrap();
    let refused = home.accounts.set(&home.channel, &other, grant());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the account is not signed in; run `scv channels login pigeon --account other`"
    );
}

#[test]
fn logout_leaves_only_lock_files() {
    let home = TestHome::signed_in();
    home.set(grant());
    let mut opened = home.open().unwrap();
    opened.log.append(&[Change::Cursor("c".into())]).unwrap();
    let running = home.accounts.logout(&home.channel, &home.account);
    assert_eq!(running, Err(AccountsError::Running));
    drop(opened);
    home.accounts.logout(&home.channel, &home.account).unwrap();
    for folder in ["accounts", "settings", "state", "journal"] {
        assert_eq!(fs::read_dir(home.path(folder)).unwrap().count(), 0, "{folder}");
    }
    assert!(home.path("locks/default.json").exists());
    assert!(home.path("transactions/default.json").exists());
    let again = home.accounts.logout(&home.channel, &home.account);
    assert_eq!(
        again.unwrap_err().to_string(),
        "the account is not signed in; run `scv channels login pigeon`"
    );
}

/// A sign-in that was killed between writing and renaming leaves the token in a file.
#[test]
fn a_cut_off_sign_in_leaves_nothing_for_long() {
    let home = TestHome::signed_in();
    let leftover = home.path("accounts/.other.json.tmp");
    let writing = fs::File::open(home.path("transactions/default.json")).unwrap();
    fs4::FileExt::lock(&writing).unwrap();
    fs::write(home.path("accounts/.default.json.tmp"), "being written").unwrap();
    fs::write(&leftover, "tok-fake-1").unwrap();
    let found = home.accounts.discover(&home.channel).unwrap();
    assert_eq!(found, std::slice::from_ref(&home.account));
    assert!(!leftover.exists());
    assert!(home.path("accounts/.default.json.tmp").exists(), "somebody writes it right now");
    drop(writing);
    home.accounts.logout(&home.channel, &home.account).unwrap();
    assert_eq!(fs::read_dir(home.path("accounts")).unwrap().count(), 0);

    fs::write(&leftover, "tok-fake-1").unwrap();
    let other = AccountName::new("other").unwrap();
    home.accounts.logout(&home.channel, &other).unwrap();
    assert!(!leftover.exists());
    let again = home.accounts.logout(&home.channel, &other);
    assert!(matches!(again, Err(AccountsError::NotSignedIn(_))));
}

/// Wherever a logout is cut off, what was granted is gone, a second one finishes it, and a new
/// sign-in starts afresh.
#[test]
fn an_interrupted_logout_grants_nothing_and_can_be_finished() {
    use crate::support::faulty::{Fault, FaultyFileSystem};
    use std::sync::Arc;

    let prepare = || {
        let home = TestHome::signed_in();
        home.set(grant());
        let mut opened = home.open().unwrap();
        opened.log.append(&[Change::Cursor("old".into())]).unwrap();
        home
    };
    let home = prepare();
    let counting = FaultyFileSystem::counting();
    let accounts = home.over(Arc::new(counting.clone()));
    accounts.logout(&home.channel, &home.account).unwrap();
    let total = counting.operations();
    assert!(total >= 10);
    for at in 0..total {
        let home = prepare();
        let accounts = home.over(Arc::new(FaultyFileSystem::new(at, Fault::StopAfter)));
        let ended = accounts.logout(&home.channel, &home.account);
        let snapshot = home.accounts.snapshot(&home.channel, &home.account).unwrap();
        if let Some(snapshot) = snapshot {
            let untouched = snapshot.settings.enabled;
            assert!(untouched || snapshot.settings.remote_tools == RemoteTools::None, "{at}");
        } else {
            home.sign_in(crate::support::home::BOT, None).unwrap();
            let settings =
                home.accounts.snapshot(&home.channel, &home.account).unwrap().unwrap().settings;
            assert_eq!(settings.remote_tools, RemoteTools::None, "{at}");
            assert_eq!(settings.senders, Senders::Everyone, "{at}");
            home.open().unwrap_or_else(|error| panic!("{at}: {error}"));
        }
        let finished = home.accounts.logout(&home.channel, &home.account);
        assert!(finished.is_ok() || ended.is_ok(), "{at}: {finished:?}");
    }
}

#[test]
fn one_lifetime_lock_at_a_time() {
    let home = TestHome::signed_in();
    let first = home.accounts.lifetime(&home.channel, &home.account).unwrap();
    let second = home.accounts.lifetime(&home.channel, &home.account);
    assert!(matches!(second, Err(AccountsError::Running)));
    drop(first);
    home.accounts.lifetime(&home.channel, &home.account).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_command_waits_out_a_busy_account_for_five_seconds() {
    use fs4::FileExt;

    let home = TestHome::signed_in();
    home.set(grant());
    let lock = fs::File::open(home.path("transactions/default.json")).unwrap();
    FileExt::lock(&lock).unwrap();
    let busy = home.accounts.snapshot(&home.channel, &home.account);
    assert_eq!(busy.unwrap_err(), AccountsError::Busy);

    let began = tokio::time::Instant::now();
    let set = || home.accounts.set(&home.channel, &home.account, SettingsChange::default());
    assert_eq!(retry_busy(set).await, Err(AccountsError::Busy));
    assert!(began.elapsed() >= Duration::from_secs(5));

    let mut tries = 0;
    let set = || {
        tries += 1;
        if tries == 10 {
            FileExt::unlock(&lock).unwrap();
        }
        home.accounts.set(&home.channel, &home.account, SettingsChange::default())
    };
    assert!(retry_busy(set).await.is_ok());
}

#[test]
fn texts_hold_no_path_and_no_secret() {
    let home = TestHome::signed_in();
    fs::remove_file(home.path("accounts/default.json")).unwrap();
    fs::create_dir(home.path("accounts/default.json")).unwrap();
    let error = home.accounts.snapshot(&home.channel, &home.account).unwrap_err();
    assert!(!error.to_string().contains("default.json"), "{error}");
    assert!(!format!("{:?}", credentials("b")).contains("tok-fake"));
}

#[test]
fn a_glance_tells_every_change_and_settles() {
    let home = TestHome::signed_in();
    let other = home.root().join("old.toml");
    let glance = || home.accounts.glance([other.clone()]).unwrap();
    let before = glance();
    assert_eq!(glance(), before);
    let far_away = 4_000_000_000;
    assert!(before.is_settled(far_away) && !before.is_settled(1_000));
    let mut last = before;
    let changes: [&dyn Fn(); 4] = [
        &|| std::fs::write(&other, "x").unwrap(),
        &|| std::fs::write(home.path("settings/default.json"), "{\"enabled\":false}").unwrap(),
        &|| std::fs::write(home.path("settings/default.json"), "{}").unwrap(),
        &|| std::fs::remove_file(home.path("accounts/default.json")).unwrap(),
    ];
    for change in changes {
        change();
        let now = glance();
        assert_ne!(now, last);
        last = now;
    }
}
