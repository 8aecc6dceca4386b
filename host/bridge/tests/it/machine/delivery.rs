//! Refused, held and paused replies.

use scv_bridge::{
    limits::HELD_AGE_SECONDS,
    machine::{Input, Timer},
};

use super::world::World;
use crate::support::platform::{direct, in_group};

#[test]
fn a_refused_reply_rides_with_the_next_and_comes_back_when_that_is_refused() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 2);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    assert_eq!(world.state.held()[0].reply, "ää");
    world.fire_timers();

    world.hello(vec![direct("m2", "u", "two")]);
    world.end_turn(0, true, 3);
    world.store(true);
    assert!(world.state.held().is_empty());
    let pending = &world.state.pending()[0];
    assert_eq!(
        pending.reply,
        "[Earlier reply that could not be delivered at the time]\nää\n\n\
         [Reply to your latest message]\näää"
    );
    assert_eq!(pending.own, "äää");

    world.end_send(0, 0);
    world.store(true);
    let held: Vec<&str> = world.state.held().iter().map(|h| h.reply.as_str()).collect();
    assert_eq!(held, ["ää", "äää"]);
    assert!(world.state.is_seen("m1") && world.state.is_seen("m2"));
}

/// A run may last for months.
#[test]
fn held_replies_go_after_seven_days_with_the_next_commit() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 2);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    world.fire_timers();
    world.now_ms += HELD_AGE_SECONDS * 1_000 - 60_000;
    world.hello(vec![direct("m2", "v", "two")]);
    assert_eq!(world.state.held().len(), 1, "not yet");
    world.now_ms += 61_000;
    world.hello(vec![direct("m3", "w", "three")]);
    assert!(world.state.held().is_empty());
}

/// The wall clock may be set back by any amount: a pause lasts as long as it was asked for.
#[test]
fn a_pause_does_not_follow_the_wall_clock() {
    for back_ms in [3_600_000, 86_400_000] {
        let mut world = World::new();
        let senders = ["u", "v"];
        world.hello(senders.map(|sender| direct(sender, sender, "hello")).to_vec());
        for _ in senders {
            world.end_turn(0, true, 2);
            world.store(true);
        }
        world.pause(5_000);
        world.now_ms -= back_ms;
        assert_eq!(world.pause(1_000), 1_000);
        let pauses: Vec<Timer> = world.timers.drain().collect();
        assert_eq!(pauses.len(), 2);
        for pause in pauses {
            assert!(world.sends.is_empty(), "the longer of two pauses counts");
            world.feed(Input::Timer(pause));
        }
        assert_eq!(world.sends.len(), 2);
    }
}

#[test]
fn what_is_not_accepted_of_a_long_reply_is_held() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 140);
    world.store(true);
    world.end_send(0, 7);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    assert_eq!(world.state.held()[0].reply, "ä".repeat(40));
}

#[test]
fn in_a_group_parts_beyond_the_handle_are_held_unsent() {
    let mut world = World::new();
    world.hello(vec![in_group("m1", "g", "u", "one")]);
    world.end_turn(0, true, 140);
    world.store(true);
    world.end_send(0, 7);
    world.store(true);
    world.store(true);
    assert_eq!(world.state.held()[0].key, "g\0u");
    assert!(world.sends.is_empty());
}

#[test]
fn a_refused_notice_is_not_held() {
    let mut world = World::new();
    let long = "x".repeat(scv_protocol::limits::MAX_PROMPT_BYTES + 1);
    world.hello(vec![direct("m1", "u", &long)]);
    world.end_send(0, 0);
    world.store(true);
    assert!(world.state.held().is_empty() && world.state.is_seen("m1"));
}
