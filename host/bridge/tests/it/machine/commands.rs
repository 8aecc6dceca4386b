//! Commands in a chat.

use scv_plugin_api::wire::Inbound;

use super::world::World;
use crate::support::platform::{direct, in_group};

/// The texts of replies that wait, by the message that they answer.
fn notice(world: &World, id: &str) -> String {
    let mut all = world.state.pending().iter().filter(|p| p.message_id == id);
    let notice = all.next().unwrap_or_else(|| panic!("{id} has no answer"));
    assert!(notice.transient && all.next().is_none());
    notice.reply.clone()
}

#[test]
fn commands_need_no_slot_and_count_for_nothing() {
    let mut world = World::new();
    let mut messages: Vec<Inbound> =
        (0..8).map(|n| direct(&format!("m{n}"), "u", "hello")).collect();
    messages.extend(["/status", "/help", "/STOP ", "\u{ff0f}new"].map(|c| direct(c, "u", c)));
    messages.push(direct("m8", "u", "/new and more"));
    world.hello(messages);
    assert_eq!(world.state.claims().len(), 8);
    assert!(notice(&world, "/status").contains("8 messages wait"));
    assert!(notice(&world, "/help").contains("/stop"));
    assert!(notice(&world, "/STOP ").contains("not working on any message"));
    assert!(notice(&world, "m8").starts_with("I am still working"), "the 9th message");
    assert_eq!(world.forgotten, ["u"]);
    assert!(world.cancelled.is_empty());
}

#[test]
fn stop_concerns_the_running_turn_of_the_sender_alone() {
    let mut world = World::new();
    world.hello(vec![
        in_group("m1", "g", "u", "one"),
        in_group("m2", "g", "v", "two"),
        direct("m3", "u", "three"),
        direct("m4", "u", "four"),
    ]);
    world.hello(vec![in_group("s1", "g", "u", "/stop")]);
    assert_eq!(world.cancelled, ["g\0u"]);
    world.hello(vec![direct("s2", "u", "/stop"), direct("s3", "w", "/stop")]);
    assert_eq!(world.cancelled, ["g\0u", "u"]);
    assert!(notice(&world, "s2").contains("One message waits"));
    assert_eq!(world.state.claims().len(), 4, "what waits stays");
}

#[test]
fn after_new_the_next_message_knows_nothing_of_those_before() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one"), direct("m2", "u", "two")]);
    world.hello(vec![direct("n", "u", "/new"), direct("m3", "u", "three")]);
    world.hello(vec![direct("m4", "u", "four")]);
    assert_eq!(world.forgotten, ["u"]);
    world.calm_down();
    assert_eq!(world.fresh, ["m3"]);
    assert_eq!(world.forgotten, ["u"]);
}

#[test]
fn after_new_what_still_waits_is_forgotten_when_it_is_done() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one"), direct("n", "u", "/new")]);
    world.calm_down();
    assert_eq!(world.forgotten, ["u", "u"]);
    world.hello(vec![direct("m2", "u", "two")]);
    world.calm_down();
    assert!(world.fresh.is_empty(), "there is no session to replace");
}
