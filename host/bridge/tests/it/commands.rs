//! Commands in a chat, and requests from outside it, in whole runs.

use scv_bridge::{
    AccountsError, DeskError, RestError,
    machine::{Ask, AskError},
};
use scv_plugin_api::wire::{Scope, SendOutcome};
use tokio::time::Instant;

use crate::support::{
    agent::Agent,
    home::{OWNER, TestHome},
    platform::{Platform, direct},
    run::{Running, start, state_of},
    until,
};

fn world() -> (TestHome, Platform, Agent, Running) {
    let (home, platform, agent) = (TestHome::signed_in(), Platform::new(), Agent::default());
    let running = start(&home, &platform, &agent);
    (home, platform, agent, running)
}

fn refused() -> SendOutcome {
    SendOutcome::Refused {
        code: "no".into(),
        message: None,
        signed_out: false,
        pause_ms: None,
        scope: Scope::Message,
    }
}

#[tokio::test(start_paused = true)]
async fn stop_ends_the_turn_and_keeps_session_and_what_waits() {
    let (home, platform, agent, running) = world();
    platform.push([direct("m1", "u", "hang"), direct("m2", "u", "say next")]);
    agent.prompts(1).await;
    platform.push([direct("s", "u", "/Stop")]);
    let texts = platform.accepted(3).await;
    assert_eq!(
        texts,
        ["I stop what I was working on. One message waits.", "This was cancelled.", "next"]
    );
    assert_eq!(agent.state(|state| (state.sessions.len(), state.cancelled)), (1, 1));
    running.stop().await.unwrap();
    assert!(state_of(&home).is_seen("s"));
}

/// Otherwise a conversation could wait for hours.
#[tokio::test(start_paused = true)]
async fn a_turn_that_ignores_stop_is_given_up() {
    let (_home, platform, agent, running) = world();
    let began = Instant::now();
    platform.push([direct("m1", "u", "deaf"), direct("m2", "u", "say next")]);
    agent.prompts(1).await;
    platform.push([direct("s", "u", "/stop")]);
    assert_eq!(platform.accepted(3).await[1..], ["This was cancelled.", "next"]);
    assert_eq!(began.elapsed().as_secs(), 10);
    assert_eq!(agent.state(|state| state.sessions.len()), 2);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn new_ends_the_turn_and_the_session() {
    let (_home, platform, agent, running) = world();
    platform.push([direct("m1", "u", "say hi"), direct("m2", "u", "hang")]);
    agent.prompts(2).await;
    platform.push([direct("n", "u", "/new")]);
    let texts = platform.accepted(3).await;
    assert!(texts[1].ends_with("begins a new conversation."), "{texts:?}");
    assert_eq!(texts[2], "This was cancelled.");
    platform.push([direct("m3", "u", "say fresh")]);
    assert_eq!(platform.accepted(4).await[3], "fresh");
    assert_eq!(agent.state(|state| state.sessions.len()), 2);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_forgotten_too_and_others_are_not() {
    let (_home, platform, agent, running) = world();
    platform.push([direct("m1", "u", "say hi"), direct("m2", "v", "say hi")]);
    platform.accepted(2).await;
    platform.push([direct("n", "u", "/new")]);
    platform.accepted(3).await;
    platform.push([direct("m3", "u", "say hi"), direct("m4", "v", "say hi")]);
    platform.accepted(5).await;
    assert_eq!(agent.state(|state| state.sessions.len()), 3);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_message_to_the_owner_goes_the_way_of_a_reply() {
    let (home, platform, agent, running) = world();
    platform.wait("contact", |state| (!state.acks.is_empty()).then_some(())).await;
    until("a desk", || running.health.snapshot().last_success_unix_seconds).await;
    running.desk.ask(Ask::Send("the backup is done".into())).await.unwrap();
    assert_eq!(platform.accepted(1).await, ["the backup is done"]);
    let message = platform.state(|state| state.sent[0].0.clone());
    assert_eq!((message.reply, message.recipient.user.as_str()), (None, OWNER));

    platform.state(|state| state.outcomes.push_back(refused()));
    running.desk.ask(Ask::Send("one more".into())).await.unwrap();
    until("it is held", || (running.health.snapshot().held == 1).then_some(())).await;
    platform.push([direct("m1", OWNER, "say hello")]);
    let carrying = platform.accepted(2).await.remove(1);
    assert!(carrying.contains("one more") && carrying.ends_with("hello"), "{carrying}");
    let _ = agent;
    let desk = running.desk.clone();
    running.stop().await.unwrap();
    assert_eq!(desk.ask(Ask::Send("too late".into())).await, Err(DeskError::NotRunning));
    assert!(state_of(&home).pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn held_replies_are_listed_and_given_up_running_or_not() {
    let (home, platform, _agent, running) = world();
    for id in ["m1", "m2"] {
        platform.state(|state| state.outcomes.push_back(refused()));
        platform.push([direct(id, id, "say kept")]);
    }
    until("two are held", || (running.health.snapshot().held == 2).then_some(())).await;
    let held = running.desk.held().await.unwrap();
    assert_eq!(held.len(), 2);
    running.desk.ask(Ask::GiveUp(vec![held[0].id()])).await.unwrap();
    let left = running.desk.held().await.unwrap();
    assert_eq!(left, held[1..]);
    assert_eq!(home.accounts.held(&home.channel, &home.account).unwrap(), left, "from the disk");
    let give_up =
        |id: &str| home.accounts.give_up_held(&home.channel, &home.account, &[id.to_owned()]);
    assert_eq!(give_up(&left[0].id()), Err(RestError::Accounts(AccountsError::Running)));

    running.stop().await.unwrap();
    assert_eq!(give_up("0"), Err(RestError::Refused(AskError::NoSuchHeld)));
    give_up(&left[0].id()).unwrap();
    assert!(state_of(&home).held().is_empty());
    assert!(!home.journal_path().exists());
}
