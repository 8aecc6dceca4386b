//! Sessions of conversations: kept, limited, and replaced one by one.

use std::time::Duration;

use scv_bridge::SettingsChange;
use scv_protocol::RemoteTools;
use tokio::time::{Instant, sleep};

use crate::support::{
    agent::Agent,
    home::{OWNER, TestHome},
    platform::{Platform, direct, in_group},
    run::{OWNER_LIMIT, start},
};

fn world() -> (TestHome, Platform, Agent) {
    (TestHome::signed_in(), Platform::new(), Agent::default())
}

async fn open_sessions(agent: &Agent, count: usize) {
    agent.wait("open sessions", |state| (state.open == count).then_some(())).await;
}

#[tokio::test(start_paused = true)]
async fn a_conversation_keeps_its_session_for_half_an_hour() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "say one")]);
    platform.accepted(1).await;
    sleep(Duration::from_secs(29 * 60)).await;
    platform.push([direct("m2", "u", "say two")]);
    platform.accepted(2).await;
    assert_eq!(agent.state(|state| state.sessions.len()), 1);
    let idle_since = Instant::now();
    open_sessions(&agent, 0).await;
    assert_eq!(idle_since.elapsed().as_secs(), 30 * 60);
    platform.push([direct("m3", "u", "say three")]);
    platform.accepted(3).await;
    assert_eq!(agent.state(|state| state.sessions.len()), 2);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_group_member_has_another_session_than_in_a_direct_chat() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([
        direct("m1", "u", "say a"),
        in_group("m2", "g", "u", "say b"),
        in_group("m3", "g", "v", "say c"),
    ]);
    platform.accepted(3).await;
    assert_eq!(agent.state(|state| state.sessions.len()), 3);
    let sent = platform.state(|state| state.sent.clone());
    let in_groups = sent.iter().filter(|(m, _)| m.recipient.group.as_deref() == Some("g"));
    assert_eq!(in_groups.count(), 2);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_least_recently_used_of_32_goes_first() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    for n in 0..32 {
        platform.push([direct(&format!("m{n}"), &format!("u{n}"), "say hi")]);
        platform.accepted(n + 1).await;
    }
    open_sessions(&agent, 32).await;
    platform.push([direct("again", "u0", "say hi")]);
    platform.accepted(33).await;
    platform.push([direct("new", "newcomer", "say hi")]);
    platform.accepted(34).await;
    open_sessions(&agent, 32).await;
    platform.push([direct("u0", "u0", "say hi")]);
    platform.accepted(35).await;
    assert_eq!(agent.state(|state| state.sessions.len()), 33, "u0 is still there");
    platform.push([direct("u1", "u1", "say hi")]);
    platform.accepted(36).await;
    assert_eq!(agent.state(|state| state.sessions.len()), 34, "u1 had to go");
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_broken_session_resets_only_its_own_conversation() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "say a"), direct("m2", "v", "say b")]);
    platform.accepted(2).await;
    platform.push([direct("m3", "u", "drop")]);
    let texts = platform.accepted(3).await;
    assert!(texts[2].starts_with("I could not work on this"), "{texts:?}");
    platform.push([direct("m4", "u", "say c")]);
    platform.accepted(4).await;
    platform.push([direct("m5", "v", "say d")]);
    platform.accepted(5).await;
    assert_eq!(agent.state(|state| state.sessions.len()), 3);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_turn_has_five_minutes_from_when_it_gets_its_slot() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    let began = Instant::now();
    platform.push((0..4).map(|n| direct(&format!("m{n}"), &format!("u{n}"), "hang")));
    platform.push([direct("m4", "u4", "hang")]);
    let texts = platform.accepted(5).await;
    assert!(texts.iter().all(|text| text.starts_with("This took too long")), "{texts:?}");
    let waited = began.elapsed().as_secs();
    assert!((600..605).contains(&waited), "twice five minutes, not {waited}");
    open_sessions(&agent, 0).await;
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_owner_has_longer() {
    let (home, platform, agent) = world();
    home.set(SettingsChange {
        remote_tools: Some(RemoteTools::Owner),
        ..SettingsChange::default()
    });
    let running = start(&home, &platform, &agent);
    let began = Instant::now();
    platform.push([direct("m1", OWNER, "hang")]);
    platform.accepted(1).await;
    assert_eq!(began.elapsed().as_secs(), OWNER_LIMIT.as_secs());
    running.stop().await.unwrap();
}
