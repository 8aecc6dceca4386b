//! The machine by itself, topic by topic, and here in random histories with crashes between any
//! two steps.
//!
//! Their oracle: no message starts two turns, nothing is sent that is not pending at that moment,
//! first tries keep the order of a conversation, and when everything has calmed down every
//! sender was answered.

mod asks;
mod commands;
mod commits;
mod delivery;
mod inbox;
mod world;

use proptest::prelude::*;
use scv_bridge::machine::Input;

use world::World;

/// One thing that the world does; the numbers pick among what is possible.
#[derive(Debug, Clone)]
enum Act {
    /// The platform has new messages, some of them again.
    Deliver(Vec<(u8, u8)>),
    Store {
        ok: bool,
    },
    EndTurn {
        pick: u8,
        ok: bool,
        length: u16,
    },
    EndSend {
        pick: u8,
        outcome: u8,
    },
    Timers,
    Reconnect,
    /// Everything in memory is gone; the commit under way is durable or not.
    Crash {
        stored: bool,
    },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => prop::collection::vec((0_u8..12, 0_u8..4), 1..6).prop_map(Act::Deliver),
        8 => prop::bool::weighted(0.85).prop_map(|ok| Act::Store { ok }),
        4 => (any::<u8>(), prop::bool::weighted(0.8), 0_u16..300)
            .prop_map(|(pick, ok, length)| Act::EndTurn { pick, ok, length }),
        6 => (any::<u8>(), 0_u8..8).prop_map(|(pick, outcome)| Act::EndSend { pick, outcome }),
        3 => Just(Act::Timers),
        1 => Just(Act::Reconnect),
        1 => any::<bool>().prop_map(|stored| Act::Crash { stored }),
    ]
}

impl World {
    fn act(&mut self, act: Act) {
        match act {
            Act::Deliver(picks) => self.deliver(&picks),
            Act::Store { ok } => self.store(ok),
            Act::EndTurn { pick, ok, length } => self.end_turn(pick, ok, length),
            Act::EndSend { pick, outcome } => self.end_send(pick, outcome),
            Act::Timers => self.fire_timers(),
            Act::Reconnect => {
                self.is_polling = false;
                self.feed(Input::Disconnected);
                self.feed(Input::Connected);
            }
            Act::Crash { stored } => self.crash(stored),
        }
    }
}

fn check(acts: Vec<Act>) {
    let mut world = World::new();
    acts.into_iter().for_each(|act| world.act(act));
    world.calm_down();
    assert!(world.state.claims().is_empty(), "a claim is left");
    for message in &world.asked {
        let answers = world.answered.get(&message.id).copied().unwrap_or(0);
        assert!(answers > 0, "{} was never answered", message.id);
        assert!(world.state.is_seen(&message.id));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_claim_is_lost_and_no_turn_runs_twice(acts in prop::collection::vec(act(), 1..120)) {
        check(acts);
    }
}
