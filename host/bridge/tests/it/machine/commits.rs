//! What waits for the disk, and what a crash or a stop leaves.

use scv_bridge::machine::Input;
use scv_plugin_api::wire::Batch;

use super::world::World;
use crate::support::platform::direct;

/// Until its answer is pending, a message waits or runs: status must never say that all is done.
#[test]
fn a_message_is_counted_until_its_answer_is_pending() {
    let mut world = World::new();
    world.is_polling = false;
    let messages = vec![direct("m1", "u", "one")];
    world.feed(Input::Batch(Batch { token: "t".into(), messages, ..Batch::default() }));
    assert_eq!((world.machine.waiting(), world.machine.running()), (1, 0));
    world.store(false);
    assert_eq!((world.machine.waiting(), world.machine.running()), (1, 0));
    world.fire_timers();
    world.store(true);
    assert_eq!((world.machine.waiting(), world.machine.running()), (0, 1));
    world.end_turn(0, true, 2);
    assert_eq!((world.machine.running(), world.state.pending().len()), (1, 0));
    world.store(false);
    assert_eq!((world.machine.running(), world.state.pending().len()), (1, 0));
    world.fire_timers();
    world.store(true);
    assert_eq!((world.machine.running(), world.state.pending().len()), (0, 1));
}

#[test]
fn failed_commits_are_tried_again_after_1_to_30_seconds() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 2);
    let waits = [1, 2, 4, 8, 16, 30, 30].map(|seconds| seconds * 1_000);
    for wait in waits {
        world.store(false);
        assert_eq!(world.last_wait_ms, wait);
        world.fire_timers();
    }
}

/// A turn that has ended while the account stops is recorded like any other.
#[test]
fn a_stop_waits_for_answers_and_gives_failed_commits_a_last_try() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one"), direct("m2", "v", "two")]);
    world.end_turn(0, true, 2);
    world.store(false);
    assert!(world.commits.is_empty(), "it waits for its timer");
    world.is_polling = false;
    world.feed(Input::Disconnected);
    world.feed(Input::Stop);
    world.store(true);
    assert_eq!(world.state.pending().len(), 1);
    assert!(!world.machine.is_settled(), "a turn has not ended yet");
    world.end_turn(0, true, 3);
    assert!(!world.machine.is_settled(), "its answer is not durable yet");
    world.store(true);
    assert!(world.machine.is_settled());
    assert_eq!(world.state.pending().len(), 2);
    assert!(world.state.claims().is_empty());
}

#[test]
fn interrupted_claims_are_answered_once_and_never_run_again() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one"), direct("m2", "v", "two")]);
    world.crash(false);
    world.asked = vec![direct("m1", "u", "one"), direct("m2", "v", "two")];
    assert!(!world.is_polling, "nothing is read before the claims have replies");
    world.store(true);
    assert!(world.state.claims().is_empty());
    world.hello(vec![direct("m1", "u", "one")]);
    world.calm_down();
    assert_eq!(world.turns_started.len(), 2);
    assert_eq!(world.answered.len(), 2);
}

/// Each held reply goes with one answer, though several claims of its sender were interrupted.
#[test]
fn the_answer_to_an_interrupted_claim_carries_held_replies() {
    let mut world = World::new();
    world.hello(vec![direct("m1", "u", "one")]);
    world.end_turn(0, true, 2);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    world.hello(vec![direct("m2", "u", "two"), direct("m3", "u", "three")]);
    world.crash(false);
    world.store(true);
    assert!(world.state.held().is_empty());
    let [first, second] = world.state.pending() else { panic!("two answers expected") };
    assert!(first.reply.contains("ää\n\n[Reply to your latest message]"), "{}", first.reply);
    assert!(second.carried.is_empty() && !second.reply.contains("ää"), "{}", second.reply);
}
