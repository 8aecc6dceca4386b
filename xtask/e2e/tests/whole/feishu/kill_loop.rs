//! Dying at durable operations, with a platform that tries again what nobody acknowledged: no
//! claim lost, no turn twice, every sender answered.

use std::{ffi::OsString, time::Duration};

use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use scv_e2e::{
    faulty::{KILL, Kill, Moment, TRACE},
    feishu_scene::{FeishuScene, settled},
    scene::{SOON, answer_to},
};
use scv_simulators::feishu::{OWNER, Offline, P2P, STRANGER, Script, p2p_of};
use xtask::harness::{Built, Daemon, Options};

/// What is written in the scenario, by whom.
const MESSAGES: [(&str, &str); 3] =
    [(OWNER, "the first"), (STRANGER, "the second"), (OWNER, "the third")];
/// Scenarios under way at once: more than cores, since each mostly waits.
const AT_ONCE: usize = 4;
/// Without `SCV_LONG_TESTS=1` one kill of so many is tried.
const SAMPLE: usize = 6;
/// More than the gap between a failed delivery and the next try.
const NEXT_TRY: Duration = Duration::from_secs(16);

/// An account whose first send fails once, and three messages. A daemon that lives through all
/// of it is asked to stop, so that its last operations are part of it.
async fn live_or_die(scene: &FeishuScene, name: &str, value: &str) -> Result<()> {
    scene.feishu.offline(Offline::FailedTry);
    scene.feishu.script(Script {
        path: "/reply$".to_owned(),
        http: Some(503),
        body: Some("<html>".into()),
        ..Script::default()
    })?;
    let fault = [(OsString::from(name), OsString::from(value))];
    let program = Some(Built::get().program("scv-faulty"));
    let options = Options { program, ..scene.options(fault) };
    let mut daemon = Daemon::start(&scene.home, &options)?;
    let died = tokio::select! {
        opened = scene.feishu.wait_open(SOON) => opened.map(|()| false),
        ended = daemon.ended(SOON) => ended.map(|_| true),
    };
    let died = died.with_context(|| daemon.log())?;
    for (sender, text) in MESSAGES {
        scene.feishu.push_message(sender, text);
    }
    if died {
        return Ok(());
    }
    tokio::select! {
        answered = all_answered(scene) => answered.with_context(|| daemon.log())?,
        ended = daemon.ended(SOON) => return ended.map(drop),
    }
    daemon.terminate().await.map(drop)
}

async fn all_answered(scene: &FeishuScene) -> Result<()> {
    scene.feishu.wait_visible(P2P, 2, SOON).await?;
    scene.feishu.wait_visible(&p2p_of(STRANGER), 1, SOON).await.map(drop)
}

/// After the crash the real daemon starts on what is left, and the platform tries again.
async fn recover_and_judge(scene: &FeishuScene) -> Result<()> {
    scene.feishu.wait_closed(SOON).await?;
    let mut daemon = scene.connected().await?;
    scene.feishu.advance(NEXT_TRY);
    all_answered(scene).await.with_context(|| daemon.log())?;
    scene.feishu.wait_acknowledged(SOON).await?;
    settled(&daemon).await?;
    let state = scene.stop(&mut daemon).await?;
    ensure!(state["in_flight"].is_null() && state["pending"].is_null(), "{state}");
    for (sender, text) in MESSAGES {
        let turns = scene.model.turns(text);
        let shown = scene.feishu.visible(&p2p_of(sender));
        let answers = shown.iter().filter(|line| **line == answer_to(text)).count();
        ensure!(turns <= 1, "{turns} turns for {text:?}");
        ensure!(answers <= 1, "{text:?} was answered {answers} times");
    }
    // As many lines as messages, none of them an answer twice: each sender got one for each.
    for (sender, lines) in [(OWNER, 2), (STRANGER, 1)] {
        let shown = scene.feishu.visible(&p2p_of(sender));
        ensure!(shown.len() == lines, "{sender} sees {shown:?}");
    }
    ensure!(scene.feishu.violations().is_empty(), "{:?}", scene.feishu.violations());
    Ok(())
}

/// The operations of a run that nothing interrupts: their kinds, in order.
async fn operations() -> Result<Vec<String>> {
    let scene = FeishuScene::signed_in()?;
    let trace = scene.home.scv_home().join("trace");
    live_or_die(&scene, TRACE, trace.to_str().context("a temporary path is text")?).await?;
    recover_and_judge(&scene).await?;
    Ok(std::fs::read_to_string(trace)?.lines().map(str::to_owned).collect())
}

async fn one(kill: Kill) -> Result<()> {
    let scene = FeishuScene::signed_in()?;
    live_or_die(&scene, KILL, &kill.to_string()).await?;
    recover_and_judge(&scene).await
}

#[tokio::test]
async fn killed_at_durable_operations() -> Result<()> {
    let operations = operations().await?;
    assert!(operations.len() > 15, "the scenario writes: {operations:?}");
    let kills = operations.iter().zip(1..).flat_map(|(kind, number)| kills_at(kind, number));
    let every = if std::env::var_os("SCV_LONG_TESTS").is_some() { 1 } else { SAMPLE };
    let runs = kills
        .step_by(every)
        .map(async |kill| one(kill).await.with_context(|| format!("killed {kill}")));
    stream::iter(runs).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
    Ok(())
}

/// Only a write can be torn.
fn kills_at(operation: &str, number: u64) -> impl Iterator<Item = Kill> {
    let moments: &[Moment] = match operation.starts_with("write ") {
        true => &[Moment::Before, Moment::After, Moment::Torn],
        false => &[Moment::Before, Moment::After],
    };
    moments.iter().map(move |moment| Kill { moment: *moment, operation: number })
}
