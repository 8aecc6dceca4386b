//! `scv channels` and `scv plugins`, with the fixture plugin.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    process::Stdio,
};

use rustix::process::Signal;

use crate::support::{Home, signal};

const LOGIN: [&str; 3] = ["channels", "login", "fixture"];

#[test]
fn plugins_are_listed_with_and_without_a_daemon() {
    let home = Home::with_fixture();
    fs::write(home.plugins().join("libscv_channel_text.so"), "no library").unwrap();
    let down = home.scv(&["plugins", "list", "--json"]).json();
    let state = |list: &serde_json::Value, name: &str| {
        let mut plugins = list.as_array().unwrap().iter();
        plugins.find(|plugin| plugin["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!(state(&down, "fixture"), "ready");
    assert_eq!(state(&down, "text"), "refused");

    home.configure("[plugins.fixture]\nenabled = false\n");
    let off = home.scv(&["plugins", "list", "--json"]).json();
    assert_eq!(state(&off, "fixture"), "disabled");
    home.configure("");

    let _daemon = home.daemon(&[]);
    let up = home.scv(&["plugins", "list", "--json"]).json();
    assert_eq!(state(&up, "fixture"), "loaded");
    let shown = home.scv(&["plugins", "list"]).with(0);
    assert!(shown.out.contains("text: inspect: "), "{shown:?}");
}

#[test]
fn login_draws_asks_saves_and_says_what_is_next() {
    let home = Home::with_fixture();
    let done = home.scv_with_input(&LOGIN, "Ada\n").with(0);
    for expected in ["█", "http://127.0.0.1/fixture", "Who are you?", "hello Ada", "signed in"] {
        assert!(done.out.contains(expected), "{expected}: {}", done.out);
    }
    let link = "or open\nhttp://127.0.0.1/fixture\n";
    assert!(done.out.contains(&format!("█\n\n{link}")), "the link is under the code: {}", done.out);
    assert!(done.out.contains("scv run"), "{}", done.out);
    let file = home.path().join("channels/fixture/accounts/default.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let status = home.status();
    assert_eq!(status["daemon"], serde_json::Value::Null);
    assert_eq!(status["components"][0]["id"], "fixture:default");
    assert_eq!(status["components"][0]["state"], "unknown");
    let by_alias = home.scv(&["channels", "status", "fixed", "--json"]).json();
    assert_eq!(by_alias["components"][0]["id"], "fixture:default");
    let other = home.scv(&["channels", "status", "--account", "work", "--json"]).json();
    assert_eq!(other["components"], serde_json::json!([]));
}

#[test]
fn one_channels_fault_is_a_row_beside_the_accounts_of_others() {
    let home = Home::with_fixture();
    home.save("channels/fixture/accounts/default.json", "{}");
    home.save("channels/pigeon/accounts/no name!.json", "{}");
    let status = home.status();
    let ids = ids(&status);
    assert_eq!(ids, ["fixture:default", "pigeon:discovery-error"], "{status}");
    let narrowed = home.scv(&["channels", "status", "pigeon", "--account", "x"]).with(0);
    assert!(narrowed.out.contains("no account name"), "{narrowed:?}");
}

#[test]
fn files_of_an_older_release_move_with_the_first_command() {
    let home = Home::with_fixture();
    home.save("old-fixture/accounts/default.json", "{}");
    assert_eq!(ids(&home.status()), ["fixture:default"]);
    assert!(!home.path().join("old-fixture").exists());

    // Both folders: nothing moves, and the person is told where they are.
    home.save("old-fixture/accounts/work.json", "{}");
    let both = ["old-fixture", "channels/fixture"].map(|folder| home.path().join(folder));
    let names_both = |text: &str| both.iter().all(|path| text.contains(path.to_str().unwrap()));
    for verb in ["run", "stop", "logout"] {
        let done = home.scv(&["channels", verb, "fixed"]).with(1);
        assert!(names_both(&done.err), "{done:?}");
    }
    let offline = home.scv(&["channels", "status"]).with(0);
    assert!(names_both(&offline.out), "{offline:?}");
    let _daemon = home.daemon(&[]);
    home.scv(&["reload"]).with(0);
    let status = home.status();
    assert_eq!(ids(&status), ["fixture:discovery-error"], "{status}");
    assert!(names_both(status["components"][0]["error"].as_str().unwrap()), "{status}");
    let told = home.scv(&["status"]).with(0);
    assert!(told.out.contains("keep one folder") && !names_both(&told.out), "{told:?}");
}

fn ids(status: &serde_json::Value) -> Vec<&str> {
    let components = status["components"].as_array().unwrap().iter();
    components.map(|component| component["id"].as_str().unwrap()).collect()
}

#[test]
fn login_refuses_what_the_channel_does_not_take() {
    let home = Home::with_fixture();
    let option = home.scv(&[&LOGIN[..], &["--cage", "3"]].concat()).with(2);
    assert!(option.err.contains("--cage"), "{option:?}");
    let channel = home.scv(&["channels", "login", "owl"]).with(2);
    assert!(channel.err.contains("scv plugins list"), "{channel:?}");
    home.scv(&[&LOGIN[..], &["--account", "a/b"]].concat()).with(2);
    let help = home.scv(&[&LOGIN[..], &["--help"]].concat()).with(0);
    assert!(help.out.contains("--credentials"), "{help:?}");
    // Nobody is there to answer: the sign-in ends instead of waiting.
    home.scv(&LOGIN).with(1);
    assert!(!home.path().join("channels/fixture/accounts/default.json").exists());
}

#[test]
fn ctrl_c_cancels_a_sign_in_and_saves_nothing() {
    let home = Home::with_fixture();
    let mut child = home.command(&LOGIN).stdin(Stdio::piped()).spawn().unwrap();
    // `wait` would close it, and the end of the input is another way to give up.
    let _stdin = child.stdin.take();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains("Who are you?") {}
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("nothing was saved"), "{text}");
    assert!(!home.path().join("channels/fixture/accounts/default.json").exists());
}

#[test]
fn an_account_from_login_to_logout_under_a_daemon() {
    let home = Home::with_fixture();
    let daemon = home.daemon(&[]);
    let done = home.scv_with_input(&LOGIN, "Ada\n").with(0);
    assert!(done.out.contains("starts it now"), "{}", done.out);
    let account = home.until_state("connected");
    assert_eq!(account["user_id"], "Ada");
    assert_eq!(account["plugin"], "fixture");

    let workspace = home.plugins();
    let workspace = workspace.to_str().unwrap();
    let granted = home.scv(&[
        "channels",
        "run",
        "fixed",
        "--workspace",
        workspace,
        "--remote-tools",
        "owner",
    ]);
    assert_eq!(granted.with(0).err, "", "the grant is in effect");
    assert_eq!(home.until_state("connected")["remote_tools"], "owner");
    let absent = home.scv(&["channels", "run", "fixture", "--workspace", "/absent"]).with(1);
    assert!(absent.err.contains("/absent"), "{absent:?}");

    home.scv(&["channels", "stop", "fixture"]).with(0);
    assert_eq!(home.until_state("disabled")["enabled"], false);
    // Signing in again honours what was switched off.
    let again = home.scv_with_input(&LOGIN, "Ada\n").with(0);
    assert!(again.out.contains("switched off"), "{}", again.out);

    home.scv(&["channels", "logout", "fixture"]).with(0);
    assert_eq!(home.status()["components"], serde_json::json!([]));
    let twice = home.scv(&["channels", "logout", "fixture"]).with(1);
    assert!(twice.err.contains("not signed in"), "{twice:?}");
    assert_eq!(daemon.terminate(), 0, "{}", home.log());
}

#[test]
fn another_identity_needs_a_logout_first() {
    let home = Home::with_fixture();
    let login = |bot: &str| {
        let credentials = format!("{{\"bot_id\":\"{bot}\"}}");
        home.scv_with_input(&[&LOGIN[..], &["--credentials", &credentials]].concat(), "Ada\n")
    };
    login("one").with(0);
    login("one").with(0);
    let refused = login("two").with(1);
    assert!(refused.err.contains("scv channels logout fixture"), "{refused:?}");
}

#[test]
fn what_is_saved_of_an_account_is_shown_without_a_daemon() {
    let home = Home::with_fixture();
    home.scv_with_input(&LOGIN, "Ada\n").with(0);
    home.save("channels/fixture/settings/default.json", r#"{"remote_tools":"owner"}"#);
    assert_eq!(home.status()["components"][0]["remote_tools"], "owner");
}

#[test]
fn a_channel_that_is_not_there_is_named() {
    let home = Home::with_fixture();
    let _daemon = home.daemon(&[]);
    for verb in ["login", "stop", "status"] {
        let done = home.scv(&["channels", verb, "nope"]).with(2);
        assert!(done.err.contains("'nope'; `scv plugins list`"), "{done:?}");
    }
    let none = home.scv(&["channels", "login"]).with(2);
    assert!(none.err.contains("name a channel"), "{none:?}");
    let wrong = home.scv(&["channels", "stop"]).with(2);
    assert!(wrong.err.contains("Usage: scv channels stop <CHANNEL>\n"), "{wrong:?}");
}

#[test]
fn changes_need_a_daemon() {
    let home = Home::with_fixture();
    for verb in ["run", "stop", "held", "logout"] {
        let done = home.scv(&["channels", verb, "fixture"]).with(1);
        assert!(done.err.contains("scv run"), "{done:?}");
    }
    let send = home.scv(&["channels", "send", "fixture", "hello"]).with(1);
    assert!(send.err.contains("scv run"), "{send:?}");
}

#[test]
fn what_is_not_signed_in_is_named_with_the_way_to_sign_it_in() {
    let home = Home::with_fixture();
    let none = home.scv(&["channels", "status", "fixture", "--account", "zz"]).with(0);
    assert!(none.out.contains("no account 'zz' is signed in; "), "{none:?}");
    let _daemon = home.daemon(&[]);
    let login = "not signed in; run `scv channels login fixture --account zz`";
    for words in [
        &["send", "fixture", "--account", "zz", "hello"][..],
        &["run", "fixture", "--account", "zz"],
    ] {
        let refused = home.scv(&[&["channels"], words].concat()).with(1);
        assert!(refused.err.contains(login), "{refused:?}");
    }
}
