//! State files as older releases wrote them: each loads, means what it says, and is written
//! back in a form that they read.

use std::{
    fs,
    path::{Path, PathBuf},
};

use scv_bridge::store::{Change, State};
use serde_json::Value;

use crate::support::home::TestHome;

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/state")
}

fn case(name: &str) -> Vec<u8> {
    fs::read(dir().join(name)).unwrap()
}

/// All state files.
fn names() -> Vec<String> {
    let entries = fs::read_dir(dir()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".json")).collect()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Opens a case for the identity that it is bound to.
fn load(name: &str) -> (TestHome, State) {
    let home = TestHome::signed_in();
    let bytes = case(name);
    fs::write(home.state_path(), &bytes).unwrap();
    let bound = json(&bytes)["credential_fingerprint"].as_str().unwrap_or("me").to_owned();
    let opened = home.open_as(&home.accounts, &bound).unwrap();
    assert_eq!(opened.state.fingerprint(), Some(bound.as_str()), "{name}");
    (home, opened.state)
}

/// Every file loads, and after a change and a clean stop it holds what it held before.
#[test]
fn every_case_survives_a_rewrite() {
    let names = names();
    assert_eq!(names.len(), 9);
    for name in names {
        let before = json(&case(&name));
        let (home, state) = load(&name);
        let mut opened = home.open_as(&home.accounts, state.fingerprint().unwrap()).unwrap();
        opened.log.append(&[Change::Cursor("moved".into())]).unwrap();
        opened.state.apply(&Change::Cursor("moved".into())).unwrap();
        opened.log.fold(&scv_bridge::store::Image::of(&opened.state)).unwrap();
        assert!(!home.journal_path().exists(), "{name}: no journal after a clean stop");

        let mut after = json(&fs::read(home.state_path()).unwrap());
        assert_eq!(after["cursor"], "moved");
        after["cursor"] = before["cursor"].clone();
        let mut expected = before.clone();
        if expected["credential_fingerprint"].is_null() {
            expected["credential_fingerprint"] = state.fingerprint().into();
        }
        if name == "oldest-no-key.json" {
            expected["in_flight"]["key"] = "u1".into();
        }
        assert_eq!(after, expected, "{name}");
    }
}

#[test]
fn fresh_and_unbound() {
    let (_, fresh) = load("fresh.json");
    assert_eq!((fresh.cursor(), fresh.seen().count()), (None, 0));
    let (home, unbound) = load("unbound.json");
    assert_eq!(unbound.cursor(), Some("b1"));
    assert!(unbound.is_seen("m1"));
    let on_disk = json(&fs::read(home.state_path()).unwrap());
    assert_eq!(on_disk["credential_fingerprint"], "me", "bound before first use");
}

#[test]
fn claims() {
    let (_, oldest) = load("oldest-no-key.json");
    assert_eq!(oldest.claims()[0].key, "u1", "no key is the direct chat");
    let (_, one) = load("one-claim.json");
    assert_eq!(one.claims().len(), 1);
    assert!(one.is_known("m3") && !one.is_seen("m3"));
    let (_, two) = load("two-claims-one-in-a-group.json");
    assert_eq!(two.claims()[1].key, "g1\0u2");
    assert_eq!(two.claims()[1].context_token.expose(), "t4");
}

#[test]
fn pending() {
    let (_, carrying) = load("pending-second-part-carrying.json");
    let pending = &carrying.pending()[0];
    assert_eq!((pending.next_chunk, pending.own.as_str()), (1, "new"));
    assert_eq!(pending.carried[0].reply, "old");
    let (_, transient) = load("pending-transient-unprompted.json");
    assert!(transient.pending()[0].transient);
    assert_eq!(transient.pending()[0].message_id, "");
}

#[test]
fn held_and_another_channels_cursor() {
    let (_, held) = load("held.json");
    let texts: Vec<&str> = held.held().iter().map(|h| h.reply.as_str()).collect();
    assert_eq!(texts, ["first", "second"]);
    // The one whose checkpoint is JSON.
    let is_json = |name: &String| json(&case(name))["cursor"].as_str().unwrap().starts_with('{');
    let (_, chats) = load(&names().into_iter().find(is_json).unwrap());
    assert!(json(chats.cursor().unwrap().as_bytes())["chats"]["oc_x"].is_object());
    assert_eq!(chats.pending()[0].context_token.expose(), "om_2");
}

#[test]
fn unknown_fields_of_a_newer_release_survive() {
    let home = TestHome::signed_in();
    let text = r#"{"credential_fingerprint":"me","cursor":"c","seen":[],"later":{"a":1},
        "pending":{"message_id":"m1","to_user_id":"u","context_token":"t","reply":"r",
            "client_ids":["id-1"],"next_chunk":0,"key":"u","mood":"good"},
        "in_flight":{"message_id":"m2","to_user_id":"u","context_token":"t","key":"u","weight":3},
        "held":[{"key":"u","to_user_id":"u","reply":"r","held_at":1,"why":"x"}]}"#;
    fs::write(home.state_path(), text).unwrap();
    let mut opened = home.open_as(&home.accounts, "me").unwrap();
    let change = Change::Seen(vec!["m9".into()]);
    opened.log.append([&change]).unwrap();
    opened.state.apply(&change).unwrap();
    opened.log.fold(&scv_bridge::store::Image::of(&opened.state)).unwrap();
    let mut after = json(&fs::read(home.state_path()).unwrap());
    assert_eq!(after["seen"], serde_json::json!(["m9"]));
    after["seen"] = serde_json::json!([]);
    assert_eq!(after, json(text.as_bytes()));
}
