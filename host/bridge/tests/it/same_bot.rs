//! Two accounts with one bot: the one started first runs, whoever knows its bot first.

use scv_bridge::{AccountName, fingerprint};
use scv_plugin_api::wire::{Fault, Relogin};
use scv_protocol::ComponentState;

use crate::support::{
    agent::Agent,
    home::{BOT, TestHome, credentials, identity},
    platform::{Platform, direct},
    run::{Running, start_as},
    until,
};

struct World {
    home: TestHome,
    platform: Platform,
    agent: Agent,
}

impl World {
    /// Two accounts of one bot.
    fn new() -> Self {
        let home = TestHome::new();
        let bot = credentials(BOT);
        let print = fingerprint(&identity(bot.expose()));
        for account in ["early", "late"] {
            let (account, relogin) = (AccountName::new(account).unwrap(), Relogin::SameIdentity);
            let accounts = &home.accounts;
            accounts
                .save_credentials(&home.channel, &account, &bot, &print, relogin, None)
                .unwrap();
        }
        Self { home, platform: Platform::new(), agent: Agent::default() }
    }

    fn start(&self, account: &str) -> Running {
        let account = AccountName::new(account).unwrap();
        start_as(&self.home, &self.home.accounts, &account, &self.platform, &self.agent)
    }
}

async fn connected(running: &Running) {
    let is_connected = || running.health.snapshot().state == ComponentState::Connected;
    until("contact", || is_connected().then_some(())).await;
}

async fn is_told_of(running: &Running, other: &str) {
    let error = until("an error", || running.health.snapshot().error).await;
    let told =
        format!("this is the same bot as account {other}; stop or log out one of the two accounts");
    assert_eq!(error, told);
    assert_eq!(running.health.snapshot().state, ComponentState::Failed);
}

#[tokio::test(start_paused = true)]
async fn the_one_started_first_runs_even_if_its_plugin_answers_last() {
    let world = World::new();
    world.platform.state(|state| state.unasked.insert("early".into()));
    let (early, late) = (world.start("early"), world.start("late"));
    let named = || late.health.snapshot().bot_id;
    until("the later one to know its bot", named).await;
    world.platform.state(|state| state.unasked.clear());
    connected(&early).await;
    is_told_of(&late, "early").await;
    assert_eq!(world.platform.state(|state| state.connects.len()), 1);
    early.stop().await.unwrap();
    late.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn when_the_first_ends_the_second_runs_by_itself() {
    let world = World::new();
    let (early, late) = (world.start("early"), world.start("late"));
    is_told_of(&late, "early").await;
    early.stop().await.unwrap();
    connected(&late).await;
    assert_eq!(late.health.snapshot().error, None);
    world.platform.push([direct("m1", "u", "say from the second")]);
    world.platform.accepted(1).await;
    late.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_that_is_started_again_at_once_keeps_its_bot() {
    let world = World::new();
    let (early, late) = (world.start("early"), world.start("late"));
    is_told_of(&late, "early").await;
    early.stop().await.unwrap();
    let early = world.start("early");
    connected(&early).await;
    is_told_of(&late, "early").await;
    early.stop().await.unwrap();
    late.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_whose_bot_cannot_be_told_stands_in_nobodys_way() {
    let world = World::new();
    let fault = Fault::retry("the plugin is busy; it is asked again");
    world.platform.state(|state| state.inspect_faults.insert("early".into(), fault));
    let (mut early, late) = (world.start("early"), world.start("late"));
    early.finished().await.unwrap_err();
    connected(&late).await;
    late.stop().await.unwrap();
}
