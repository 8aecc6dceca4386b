//! Whole runs: a message in, an answer out, and what the platform and the disk make of it.

use std::{collections::HashSet, sync::Arc, time::Duration};

use scv_bridge::{RunErrorKind, SettingsChange};
use scv_plugin_api::wire::{Fault, Scope, SendOutcome};
use scv_protocol::{ComponentState, RemoteTools, Senders};
use tokio::time::Instant;

use crate::support::{
    agent::Agent,
    faulty::{Fault as Broken, FaultyFileSystem},
    home::{BOT, OWNER, TestHome},
    platform::{Platform, direct, in_group},
    run::{start, start_over, start_with, state_of},
    until,
};

fn world() -> (TestHome, Platform, Agent) {
    (TestHome::signed_in(), Platform::new(), Agent::default())
}

fn refused(code: &str, scope: Scope) -> SendOutcome {
    SendOutcome::Refused {
        code: code.into(),
        message: Some("not now".into()),
        signed_out: false,
        pause_ms: None,
        scope,
    }
}

fn retry(after_ms: Option<u64>, scope: Scope) -> SendOutcome {
    SendOutcome::Retry { reason: "busy".into(), after_ms, scope }
}

#[tokio::test(start_paused = true)]
async fn a_message_becomes_an_answer() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "say hello back")]);
    assert_eq!(platform.accepted(1).await, ["hello back"]);
    assert_eq!(agent.prompts(1).await, ["say hello back"]);
    let message = platform.state(|state| state.sent[0].0.clone());
    let reply = message.reply.unwrap();
    assert_eq!(reply.message_id, "m1");
    assert_eq!(reply.reply_token.unwrap().expose(), "handle-m1");
    assert_eq!((message.recipient.user.as_str(), message.recipient.group), ("u", None));
    assert_eq!(message.client_id.len(), 36);

    let report = running.health.snapshot();
    assert_eq!(report.state, ComponentState::Connected);
    assert_eq!(report.bot_id.as_deref(), Some(BOT));
    assert_eq!(report.last_in_unix_seconds, Some(1_790_000_000));
    assert_eq!(report.last_success_unix_seconds, Some(1_790_000_000));
    running.stop().await.unwrap();
    assert!(!home.journal_path().exists());
    let state = state_of(&home);
    assert!(state.is_seen("m1") && state.claims().is_empty() && state.pending().is_empty());
    assert_eq!(state.cursor(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn only_the_first_part_carries_the_handle() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    let long = "word ".repeat(60);
    platform.push([direct("m1", "u", &format!("say {long}"))]);
    let parts = platform.accepted(3).await;
    assert_eq!(parts.concat(), long);
    let sent = platform.state(|state| state.sent.clone());
    let with_handle: Vec<bool> = sent.iter().map(|(m, _)| m.reply.is_some()).collect();
    assert_eq!(with_handle, [true, false, false]);
    let ids: HashSet<&str> = sent.iter().map(|(m, _)| m.client_id.as_str()).collect();
    assert_eq!(ids.len(), 3);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_id_one_turn() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "gate a"), direct("m1", "u", "gate a")]);
    agent.prompts(1).await;
    platform.push([direct("m1", "u", "gate a")]);
    agent.open_gate("a");
    platform.accepted(1).await;
    platform.push([direct("m1", "u", "gate a"), direct("m2", "u", "say next")]);
    assert_eq!(platform.accepted(2).await, ["a", "next"]);
    assert_eq!(agent.prompt_count(), 2);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn four_conversations_run_and_each_keeps_its_order() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push((0..6).map(|n| direct(&format!("a{n}"), &format!("u{n}"), "gate g")));
    platform.push([direct("b0", "u0", "say later")]);
    agent.prompts(4).await;
    let wait = || (running.health.snapshot().running == 4).then_some(());
    until("four running", wait).await;
    assert_eq!(running.health.snapshot().waiting, 3);
    agent.open_gate("g");
    let texts = platform.accepted(7).await;
    assert_eq!(agent.state(|state| state.most_running), 4);
    let sent = platform.state(|state| state.sent.clone());
    let to_u0: Vec<&str> = sent
        .iter()
        .filter(|(m, _)| m.recipient.user == "u0")
        .map(|(m, _)| m.text.as_str())
        .collect();
    assert_eq!(to_u0, ["g", "later"]);
    assert_eq!(texts.len(), 7);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_the_owner_in_a_direct_chat_has_tools() {
    let (home, platform, agent) = world();
    home.set(SettingsChange {
        remote_tools: Some(RemoteTools::Owner),
        ..SettingsChange::default()
    });
    let running = start(&home, &platform, &agent);
    for (id, message, answer, no_tools) in [
        ("m1", direct("m1", OWNER, "tool"), "approved", false),
        ("m2", direct("m2", "stranger", "tool"), "denied", true),
        ("m3", in_group("m3", "g", OWNER, "tool"), "denied", true),
    ] {
        let count = platform.state(|state| state.sent.len()) + 1;
        platform.push([message]);
        assert_eq!(platform.accepted(count).await[count - 1], answer, "{id}");
        assert_eq!(agent.state(|state| *state.sessions.last().unwrap()), no_tools, "{id}");
    }
    assert_eq!(running.health.snapshot().remote_tools, RemoteTools::Owner);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_the_grant_the_owner_has_no_tools() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", OWNER, "tool")]);
    assert_eq!(platform.accepted(1).await, ["denied"]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn senders_may_be_the_owner_only() {
    let (home, platform, agent) = world();
    home.set(SettingsChange { senders: Some(Senders::Owner), ..SettingsChange::default() });
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "stranger", "say no"), direct("m2", OWNER, "say yes")]);
    assert_eq!(platform.accepted(1).await, ["yes"]);
    running.stop().await.unwrap();
    assert_eq!(agent.prompt_count(), 1);
    assert!(state_of(&home).is_seen("m1"));
}

#[tokio::test(start_paused = true)]
async fn a_send_is_tried_again_with_the_same_id() {
    let (home, platform, agent) = world();
    platform.state(|state| {
        state.outcomes.extend([
            retry(None, Scope::Message),
            retry(Some(90_000), Scope::Conversation),
            retry(None, Scope::Message),
        ]);
    });
    let began = tokio::time::Instant::now();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "say once")]);
    platform.accepted(1).await;
    let waited = began.elapsed().as_secs();
    assert!((93..96).contains(&waited), "1 + 90 + 2 seconds, not {waited}");
    let sent = platform.state(|state| state.sent.clone());
    let ids: HashSet<&str> = sent.iter().map(|(m, _)| m.client_id.as_str()).collect();
    assert_eq!((sent.len(), ids.len()), (4, 1));
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_waits_stops_no_other() {
    let (home, platform, agent) = world();
    platform.state(|state| state.outcomes.push_back(retry(Some(60_000), Scope::Conversation)));
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "say slow")]);
    platform.wait("a send", |state| (state.sent.len() == 1).then_some(())).await;
    platform.push([direct("m2", "u", "say behind"), direct("m3", "v", "say free")]);
    assert_eq!(platform.accepted(3).await, ["free", "slow", "behind"]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_platform_may_pause_the_account() {
    let (home, platform, agent) = world();
    platform.state(|state| state.outcomes.push_back(retry(Some(60_000), Scope::Account)));
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "say first")]);
    platform.wait("a send", |state| (state.sent.len() == 1).then_some(())).await;
    platform.push([direct("m2", "v", "say second")]);
    assert_eq!(platform.accepted(2).await, ["first", "second"]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refused_reply_rides_with_the_next() {
    let (home, platform, agent) = (
        TestHome::signed_in(),
        Platform::with(|channel| channel.limits.max_message_bytes = 400),
        Agent::default(),
    );
    platform.state(|state| state.outcomes.push_back(refused("-2", Scope::Message)));
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "say lost")]);
    platform.wait("a refusal", |state| (state.sent.len() == 1).then_some(())).await;
    let held = || (running.health.snapshot().held == 1).then_some(());
    until("a held reply", held).await;
    let refusal = running.health.snapshot().last_refusal.unwrap();
    assert_eq!((refusal.code.as_str(), refusal.text.as_str()), ("-2", "not now"));
    platform.push([direct("m2", "u", "say new")]);
    assert_eq!(
        platform.accepted(1).await,
        ["[Earlier reply that could not be delivered at the time]\nlost\n\n\
          [Reply to your latest message]\nnew"]
    );
    running.stop().await.unwrap();
    assert!(state_of(&home).held().is_empty());
}

#[tokio::test(start_paused = true)]
async fn accepted_without_a_receipt_is_counted_and_told() {
    let (home, platform, agent) = world();
    platform.state(|state| {
        state.outcomes.extend((0..3).map(|_| SendOutcome::Accepted { receipt: None }));
    });
    let running = start(&home, &platform, &agent);
    platform.push((0..3).map(|n| direct(&format!("m{n}"), "u", "say hi")));
    platform.accepted(3).await;
    let told = || running.health.snapshot().error;
    let told = until("an error", told).await;
    assert!(told.contains("without confirming them; look into the chat"), "{told}");
    assert_eq!(running.health.snapshot().unconfirmed, 3);
    assert_eq!(platform.state(|state| state.sent.len()), 3, "never sent again on a guess");
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn lost_contact_connects_again_from_the_checkpoint_and_turns_run_on() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "gate a")]);
    agent.prompts(1).await;
    platform.state(|state| state.faults.push_back(Fault::retry("the network is gone")));
    platform.wait("a new session", |state| (state.connects.len() == 2).then_some(())).await;
    agent.open_gate("a");
    assert_eq!(platform.accepted(1).await, ["a"]);
    assert_eq!(platform.state(|state| state.connects.clone()), [None, Some("1".into())]);
    assert_eq!(agent.prompt_count(), 1);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reload_ends_the_wait_to_connect_again() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    let minute = Fault { after_ms: Some(60_000), ..Fault::retry("the network is gone") };
    platform.state(|state| state.faults.push_back(minute));
    let is_lost =
        || (running.health.snapshot().state == ComponentState::Disconnected).then_some(());
    until("lost contact", is_lost).await;
    let begin = Instant::now();
    running.desk.hurry();
    platform.wait("a new session", |state| (state.connects.len() == 2).then_some(())).await;
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_quiet_batch_is_no_contact() {
    let (home, platform, agent) = world();
    platform.state(|state| state.silences = 2);
    let running = start(&home, &platform, &agent);
    platform.wait("a third poll", |state| (state.acks.len() == 3).then_some(())).await;
    let report = running.health.snapshot();
    assert_eq!(report.last_success_unix_seconds, None);
    assert_eq!(report.state, ComponentState::Starting);
    platform.push([direct("m1", "u", "say heard")]);
    assert_eq!(platform.accepted(1).await, ["heard"]);
    let report = running.health.snapshot();
    assert!(report.last_success_unix_seconds.is_some());
    assert_eq!(report.state, ComponentState::Connected);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn signed_out_it_ends_when_no_turn_runs_and_keeps_the_answer() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "gate a")]);
    agent.prompts(1).await;
    let auth = || Fault::auth("session timeout");
    platform.state(|state| state.faults.extend([auth(), auth(), auth(), auth()]));
    let told = || running.health.snapshot().signed_out.then_some(());
    until("signed out", told).await;
    let report = running.health.snapshot();
    assert_eq!(report.state, ComponentState::Failed);
    assert_eq!(report.error.unwrap(), "signed out; run `scv channels login pigeon`");
    agent.open_gate("a");
    let error = running.ended().await.unwrap_err();
    assert_eq!(error.kind, RunErrorKind::SignedOut);
    assert_eq!(state_of(&home).pending()[0].reply, "a");

    platform.state(|state| state.faults.clear());
    let running = start(&home, &platform, &agent);
    assert_eq!(platform.accepted(1).await, ["a"]);
    assert_eq!(agent.prompt_count(), 1);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_send_may_find_the_account_signed_out() {
    let (home, platform, agent) = world();
    platform.state(|state| {
        state.outcomes.push_back(SendOutcome::Refused {
            code: "-14".into(),
            message: None,
            signed_out: true,
            pause_ms: None,
            scope: Scope::Account,
        });
    });
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "say kept")]);
    let error = running.ended().await.unwrap_err();
    assert_eq!(error.kind, RunErrorKind::SignedOut);
    assert_eq!(state_of(&home).held()[0].reply, "kept");
}

#[tokio::test(start_paused = true)]
async fn a_config_fault_needs_a_person() {
    let (home, platform, agent) = world();
    let fault = Fault::config("the checkpoint is unreadable").with_code("40351");
    platform.state(|state| state.faults.push_back(fault));
    let running = start(&home, &platform, &agent);
    let health = running.health.clone();
    let error = running.ended().await.unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Failed);
    assert_eq!(error.text, "the checkpoint is unreadable");
    let refusal = health.snapshot().last_refusal.unwrap();
    assert_eq!((refusal.code.as_str(), refusal.text), ("40351", error.text));
}

#[tokio::test(start_paused = true)]
async fn another_bots_state_fails_before_the_platform_is_asked() {
    let (home, platform, agent) = world();
    drop(home.open_as(&home.accounts, "another fingerprint").unwrap());
    let before = std::fs::read(home.state_path()).unwrap();
    let error = start(&home, &platform, &agent).ended().await.unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Failed);
    assert!(platform.state(|state| state.connects.is_empty()));
    assert_eq!(std::fs::read(home.state_path()).unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn damage_fails_the_account_with_its_name() {
    let (home, platform, agent) = world();
    std::fs::write(home.state_path(), "").unwrap();
    let error = start(&home, &platform, &agent).ended().await.unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Failed);
    assert!(error.text.contains("state file is damaged"), "{error}");
    assert!(!error.text.contains('/'), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_file_fails_the_account_until_it_is_moved_away() {
    for file in ["state/default.json", "locks/default.json", "transactions/default.json"] {
        let (home, platform, agent) = world();
        drop(home.open().unwrap());
        let snapshot = home.accounts.snapshot(&home.channel, &home.account).unwrap().unwrap();
        let (path, aside) = (home.path(file), home.root().join("aside"));
        std::fs::rename(&path, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        let running = start_with(&home, &home.accounts, &home.account, snapshot, &platform, &agent);
        let error = running.ended().await.unwrap_err();
        assert_eq!(error.kind, RunErrorKind::Failed, "{file}");
        assert!(error.text.contains("is not a regular file of yours; move it away"), "{error}");
        std::fs::rename(&aside, &path).unwrap();
        start(&home, &platform, &agent).stop().await.unwrap();
    }
}

/// Connected with work that makes no progress: status says why, and what to do.
#[tokio::test(start_paused = true)]
async fn while_nothing_can_be_stored_status_says_so() {
    let claimed = {
        let (home, platform, agent) = world();
        let fs = FaultyFileSystem::counting();
        let running = start_over(&home, &home.over(Arc::new(fs.clone())), &platform, &agent);
        platform.push([direct("m1", "u", "gate a")]);
        agent.prompts(1).await;
        running.kill().await;
        fs.operations()
    };
    let (home, platform, agent) = world();
    let fs = FaultyFileSystem::new(claimed, Broken::Always(std::io::ErrorKind::StorageFull));
    let running = start_over(&home, &home.over(Arc::new(fs)), &platform, &agent);
    platform.push([direct("m1", "u", "gate a")]);
    agent.prompts(1).await;
    agent.open_gate("a");
    let told = until("an error", || running.health.snapshot().error).await;
    assert!(told.contains("(no storage space); check the disk"), "{told}");
    // A new connection does not hide it.
    platform.state(|state| state.faults.push_back(Fault::retry("the network is gone")));
    platform.wait("contact", |s| (s.connects.len() == 2).then_some(s.acks.len())).await;
    let is_back = || (running.health.snapshot().state == ComponentState::Connected).then_some(());
    until("contact", is_back).await;
    let report = running.health.snapshot();
    assert_eq!(report.error, Some(told));
    assert_eq!((report.running, report.pending), (1, 0));
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn failures_tell_nothing_private() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "fail")]);
    let text = platform.accepted(1).await.concat();
    assert!(!text.contains("sk-secret") && !text.contains("http"), "{text}");
    platform.push([direct("m2", "u", "say still here")]);
    platform
        .wait("an answer", |s| s.accepted().concat().contains("still here").then_some(()))
        .await;
    assert_eq!(agent.state(|state| state.sessions.len()), 1, "a failed turn keeps its session");
    running.stop().await.unwrap();
}

/// At every operation of a run, one failure: the batch is kept, tried again, and answered.
#[tokio::test(start_paused = true)]
async fn a_failed_commit_is_tried_again() {
    for at in 0..40 {
        let (home, platform, agent) = world();
        let kind = std::io::ErrorKind::StorageFull;
        let fs = FaultyFileSystem::new(at, Broken::Once(kind));
        let accounts = home.over(Arc::new(fs));
        let mut running = start_over(&home, &accounts, &platform, &agent);
        platform.push([direct("m1", "u", "say one"), direct("m2", "v", "say two")]);
        let answered = tokio::select! {
            texts = platform.accepted(2) => Some(texts),
            ended = running.finished() => {
                assert_eq!(ended.unwrap_err().kind, RunErrorKind::Retry, "{at}");
                None
            }
        };
        if answered.is_none() {
            running = start_over(&home, &accounts, &platform, &agent);
            platform.accepted(2).await;
        }
        running.quiet().await;
        assert_eq!(running.health.snapshot().error, None, "{at}");
        running.stop().await.unwrap();
        assert_eq!(agent.prompt_count(), 2, "{at}");
        assert!(state_of(&home).pending().is_empty(), "{at}");
    }
}
