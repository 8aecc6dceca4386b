//! Power cuts: after any operation, any part of what was not made durable may be gone. What was
//! acknowledged is still there, and nothing else but at most the commit under way.

use std::sync::Arc;

use scv_bridge::store::State;

use crate::{
    faults::{scenario, take},
    support::{
        home::{BOT, TestHome},
        power::PowerFileSystem,
    },
};

/// Runs the scenario; answers the state after the opening and after each step.
fn record(home: &TestHome, fs: &PowerFileSystem) -> Vec<State> {
    let accounts = home.over(Arc::new(fs.clone()));
    home.sign_in_over(&accounts, BOT, None).unwrap();
    let mut opened = home.open_over(&accounts).unwrap();
    let mut states = vec![opened.state.clone()];
    fs.acknowledge(1);
    for step in scenario() {
        take(&mut opened, &step).unwrap();
        states.push(opened.state.clone());
        fs.acknowledge(states.len());
    }
    states
}

/// What is on disk, over an ordinary file system.
fn reopened(place: &TestHome) -> State {
    let saved = place.accounts.read_saved(&place.channel, &place.account).unwrap();
    if saved.is_none() {
        place.sign_in(BOT, None).unwrap();
    }
    place.open().unwrap_or_else(|error| panic!("{error}")).state
}

#[test]
fn after_a_power_cut_there_is_what_was_acknowledged() {
    let (home, fs) = (TestHome::new(), PowerFileSystem::default());
    let states = record(&home, &fs);
    let place = TestHome::new();
    let mut count = 0;
    for (n, cut) in fs.cuts().iter().enumerate() {
        let at_least = cut.acknowledged.saturating_sub(1);
        let at_most = cut.acknowledged.min(states.len() - 1);
        cut.each(&home.root(), &place.root(), |name| {
            count += 1;
            let state = reopened(&place);
            let fits = state == states[at_least] || state == states[at_most];
            assert!(fits, "cut after operation {n},{name}: {state:?}");
        });
    }
    assert!(count > 200, "only {count} ways to look at");
}

/// A logout leaves nothing for the next sign-in, wherever it was cut: as soon as the
/// credentials are gone, so is everything else, or it is recognised as left over.
#[test]
fn a_logout_that_was_cut_off_hands_nothing_on() {
    let (home, fs) = (TestHome::new(), PowerFileSystem::default());
    record(&home, &fs);
    let accounts = home.over(Arc::new(fs.clone()));
    let before = fs.cuts().len();
    accounts.logout(&home.channel, &home.account).unwrap();
    let place = TestHome::new();
    for cut in &fs.cuts()[before..] {
        cut.each(&home.root(), &place.root(), |_| {
            let logged_out = place.accounts.logout(&place.channel, &place.account);
            let nothing = place.accounts.discover(&place.channel).unwrap();
            assert_eq!(nothing, [], "{logged_out:?}");
            let state = reopened(&place);
            assert_eq!((state.cursor(), state.seen().count()), (None, 0));
        });
    }
}
