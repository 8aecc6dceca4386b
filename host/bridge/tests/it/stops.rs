//! Ends of runs, clean and otherwise, and what the next one makes of them.

use std::{sync::Arc, time::Duration};

use scv_bridge::RunErrorKind;
use scv_plugin_api::wire::{Scope, SendOutcome};
use tokio::time::{Instant, sleep};

use crate::support::{
    agent::Agent,
    faulty::{Fault, FaultyFileSystem},
    home::TestHome,
    platform::{Platform, direct},
    run::{start, start_over, state_of},
    until,
};

fn world() -> (TestHome, Platform, Agent) {
    (TestHome::signed_in(), Platform::new(), Agent::default())
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_waiting_poll_at_once() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.wait("a second poll", |state| (state.acks.len() == 2).then_some(())).await;
    let began = Instant::now();
    running.stop().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_message_gets_one_line_and_no_second_turn() {
    let (home, platform, agent) = world();
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "gate never"), direct("m2", "u", "say waiting")]);
    agent.prompts(1).await;
    running.stop().await.unwrap();
    assert_eq!(state_of(&home).claims().len(), 2);

    let running = start(&home, &platform, &agent);
    let texts = platform.accepted(2).await;
    assert!(texts.iter().all(|text| text.starts_with("I was interrupted")), "{texts:?}");
    platform.push([direct("m1", "u", "gate never"), direct("m3", "u", "say fresh")]);
    assert_eq!(platform.accepted(3).await[2], "fresh");
    assert_eq!(agent.prompt_count(), 2);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_does_not_stop_is_told_of() {
    let (home, platform, agent) = world();
    platform.state(|state| state.tasks_left = 1);
    let running = start(&home, &platform, &agent);
    platform.wait("contact", |state| (!state.acks.is_empty()).then_some(())).await;
    let error = running.stop().await.unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Wedged);
    assert_eq!(error.text, "plugin 'pigeon' did not stop; restart the daemon");
}

/// What a lost session still returns is not acknowledged; it comes again, stopping or not.
#[tokio::test(start_paused = true)]
async fn a_late_batch_of_a_lost_session_is_left_out_while_stopping() {
    let (home, platform, agent) = world();
    platform.state(|state| {
        state.holds_close = true;
        state.outcomes.push_back(SendOutcome::Refused {
            code: "-14".into(),
            message: None,
            signed_out: true,
            pause_ms: None,
            scope: Scope::Account,
        });
    });
    let running = start(&home, &platform, &agent);
    platform.push([direct("m1", "u", "gate never"), direct("m2", "v", "say refused")]);
    until("signed out", || running.health.snapshot().signed_out.then_some(())).await;
    platform.push([direct("m3", "w", "say late")]);
    let let_close = async {
        sleep(Duration::from_secs(1)).await;
        platform.state(|state| state.holds_close = false);
    };
    let (stopped, ()) = tokio::join!(running.stop(), let_close);
    stopped.unwrap();
    let state = state_of(&home);
    assert!(state.is_known("m1") && !state.is_known("m3"));
}

#[tokio::test(start_paused = true)]
async fn a_second_run_of_one_account_waits_its_turn() {
    let (home, platform, agent) = world();
    let lock = home.accounts.lifetime(&home.channel, &home.account).unwrap();
    let error = start(&home, &platform, &agent).ended().await.unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Retry);
    drop(lock);
    start(&home, &platform, &agent).stop().await.unwrap();
}

/// The whole account is killed after each operation on its files in turn. Afterwards no message
/// was lost, none had two turns, and every sender has an answer.
#[tokio::test(start_paused = true)]
async fn killed_after_any_operation_nothing_is_lost_or_done_twice() {
    let mut at = 0;
    loop {
        let (home, platform, agent) = world();
        let fs = FaultyFileSystem::new(at, Fault::StopAfter);
        let running = start_over(&home, &home.over(Arc::new(fs.clone())), &platform, &agent);
        let messages = || {
            let long = "say an answer that is quite a bit longer than what fits into a single one \
                        of the messages of this platform, so that it takes a second part of its own";
            [direct("m1", "u", "say one"), direct("m2", "u", long), direct("m3", "v", "fail")]
        };
        platform.push(messages());
        // Either it comes to its end, or it hangs at the operation that was the last one.
        sleep(Duration::from_secs(5)).await;
        let was_cut = fs.operations() > at;
        running.kill().await;

        let running = start(&home, &platform, &agent);
        platform.push(messages());
        platform.push([direct("end", "w", "say end")]);
        platform.wait("the end", |s| s.accepted().contains(&"end".to_owned()).then_some(())).await;
        running.quiet().await;
        running.stop().await.unwrap();
        let mut prompts = agent.prompts(1).await;
        prompts.sort();
        let all = prompts.len();
        prompts.dedup();
        assert_eq!(prompts.len(), all, "a turn ran twice after operation {at}");
        let state = state_of(&home);
        for id in ["m1", "m2", "m3"] {
            assert!(state.is_seen(id), "{id} is not handled after operation {at}");
            let answers = platform.state(|state| {
                let of = |m: &scv_plugin_api::wire::Outgoing| {
                    m.reply.as_ref().is_some_and(|reply| reply.message_id == id)
                };
                state.sent.iter().filter(|(m, _)| of(m)).count()
            });
            assert!(answers >= 1, "{id} has no answer after operation {at}");
        }
        assert!(state.claims().is_empty() && state.pending().is_empty());
        if !was_cut {
            break;
        }
        at += 1;
    }
    assert!(at > 15, "only {at} operations");
}
