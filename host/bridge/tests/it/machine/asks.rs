//! Requests from outside the chat.

use scv_bridge::machine::{Ask, AskError, AskId, Input};

use super::world::World;

/// Asks, and answers what became of it with the first try to store it.
fn ask(world: &mut World, ask: Ask, ok: bool) -> Result<(), AskError> {
    let id = AskId(world.answers.len() as u64);
    world.feed(Input::Ask(id, ask));
    world.store(ok);
    let (answered, result) = world.answers.pop().expect("no answer");
    assert_eq!(answered, id);
    result
}

#[test]
fn a_message_to_the_owner_is_stored_before_it_is_sent_and_held_when_refused() {
    let mut world = World::new();
    let send = |text: &str| Ask::Send(text.into());
    assert_eq!(ask(&mut world, send("x"), false), Err(AskError::NotStored));
    assert!(world.state.pending().is_empty() && world.sends.is_empty());
    assert_eq!(ask(&mut world, send(&"x".repeat(300)), true), Ok(()));
    assert_eq!(world.state.pending()[0].to_user_id, "u0");
    world.end_send(0, 7);
    world.store(true);
    world.end_send(0, 0);
    world.store(true);
    assert_eq!(world.state.held()[0].reply, "x".repeat(100));
    assert_eq!(ask(&mut world, send(" "), true), Err(AskError::Empty));
    assert_eq!(ask(&mut world, send(&"x".repeat(65_537)), true), Err(AskError::TooLong));
}

#[test]
fn held_replies_are_given_up_by_their_ids_or_not_at_all() {
    let mut world = World::new();
    for text in ["one", "two"] {
        ask(&mut world, Ask::Send(text.into()), true).unwrap();
        world.end_send(0, 0);
        world.store(true);
        world.fire_timers();
    }
    let ids: Vec<String> = world.state.held().iter().map(|held| held.id()).collect();
    assert_ne!(ids[0], ids[1]);
    let unknown = Ask::GiveUp(vec![ids[0].clone(), "0".into()]);
    assert_eq!(ask(&mut world, unknown, true), Err(AskError::NoSuchHeld));
    assert_eq!(ask(&mut world, Ask::GiveUp(vec![ids[0].clone()]), true), Ok(()));
    let [left] = world.state.held() else { panic!("one is left") };
    assert_eq!(left.reply, "two");
}
