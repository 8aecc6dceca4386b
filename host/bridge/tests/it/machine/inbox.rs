//! What comes in: limits, notices and what is known already.

use std::collections::HashSet;

use scv_bridge::machine::Input;
use scv_plugin_api::wire::{Batch, Inbound, InboundKind};

use super::world::World;
use crate::support::platform::{direct, in_group};

#[test]
fn a_ninth_message_of_a_conversation_gets_a_busy_notice() {
    let mut world = World::new();
    let messages = (0..9).map(|n| direct(&format!("m{n}"), "u", "hello")).collect();
    world.hello(messages);
    assert_eq!(world.state.claims().len(), 8);
    let [notice] = world.state.pending() else {
        panic!("one notice expected");
    };
    assert_eq!(notice.message_id, "m8");
    assert!(notice.transient);
}

#[test]
fn the_65th_message_of_an_account_gets_a_busy_notice() {
    let mut world = World::new();
    let messages = (0..65).map(|n| direct(&format!("m{n}"), &format!("u{n}"), "hi")).collect();
    world.hello(messages);
    assert_eq!(world.state.claims().len(), 64);
    assert_eq!(world.state.pending()[0].message_id, "m64");
}

#[test]
fn duplicates_alone_need_no_commit() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one")]);
    world.calm_down();
    world.is_polling = false;
    world.feed(Input::Batch(Batch {
        token: "t2".into(),
        checkpoint: "c".into(),
        messages: vec![direct("m1", "u", "one")],
        ..Batch::default()
    }));
    assert!(world.commits.is_empty());
    assert!(world.is_polling, "acknowledged at once");
}

#[test]
fn a_second_key_catches_a_redelivery_under_a_new_id() {
    let mut world = World::new();
    let with_key =
        |id: &str, key: &str| Inbound { dedup_key: Some(key.into()), ..direct(id, "u", "yes") };
    world.hello(vec![with_key("m1", "k1")]);
    world.hello(vec![with_key("m2", "k1"), with_key("m3", "k3"), with_key("m4", "k3")]);
    world.calm_down();
    assert_eq!(world.turns_started, HashSet::from(["m1".to_owned(), "m3".to_owned()]));
    assert!(world.state.is_seen("m2") && world.state.is_seen("m4"));
}

#[test]
fn unreadable_messages_get_one_notice_in_ten_minutes_in_direct_chats() {
    let mut world = World::new();
    let unreadable =
        |message: Inbound| Inbound { kind: InboundKind::Unreadable, text: None, ..message };
    world.hello(vec![
        unreadable(direct("m1", "u", "")),
        unreadable(direct("m2", "u", "")),
        unreadable(in_group("m3", "g", "u", "")),
    ]);
    let noticed: Vec<&str> = world.state.pending().iter().map(|p| p.message_id.as_str()).collect();
    assert_eq!(noticed, ["m1"]);
    assert!(world.state.is_seen("m2") && world.state.is_seen("m3"));
    world.now_ms += 10 * 60_000;
    world.hello(vec![unreadable(direct("m4", "u", ""))]);
    assert_eq!(world.state.pending().len(), 2);
}

#[test]
fn a_prompt_beyond_the_protocol_gets_a_notice() {
    let mut world = World::new();
    let long = "x".repeat(scv_protocol::limits::MAX_PROMPT_BYTES + 1);
    world.hello(vec![direct("m1", "u", &long)]);
    assert!(world.state.claims().is_empty());
    assert!(world.state.pending()[0].transient);
}

#[test]
fn nothing_is_read_while_256_replies_wait() {
    let mut world = World::new();
    let long = "x".repeat(scv_protocol::limits::MAX_PROMPT_BYTES + 1);
    let messages = (0..256).map(|n| direct(&format!("m{n}"), &format!("u{n}"), &long)).collect();
    world.hello(messages);
    assert!(!world.is_polling);
    world.end_send(0, 7);
    world.store(true);
    assert!(world.is_polling);
}
