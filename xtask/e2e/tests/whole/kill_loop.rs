//! Dying at every moment: no claim lost, no turn twice, every sender answered.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use scv_e2e::{
    faulty::{KILL, Kill, Moment, TRACE},
    scene::{SOON, Scene, answer_to},
};
use scv_simulators::{
    ilink::{Endpoint, OWNER, Replay, STRANGER},
    model::{Answer, Piece},
};
use serde_json::Value;
use xtask::harness::{Built, Daemon, Options};

/// What is written in the scenario, by whom.
const MESSAGES: [(&str, &str); 3] =
    [(OWNER, "the first"), (STRANGER, "the second"), (OWNER, "the third")];
/// Scenarios under way at once: more than cores, since each mostly waits.
const AT_ONCE: usize = 6;
/// From SIGTERM, or from its last operation, to the end of the process.
const GONE: Duration = Duration::from_secs(90);

/// The scenario: an account whose first send fails once, and three messages. A daemon that
/// lives through all of it is asked to stop, so that its last operations are part of it.
async fn live_or_die(scene: &Scene, environment: Vec<(&str, String)>) -> Result<()> {
    scene.ilink.replay(Replay::OldCursor);
    scene.ilink.push_send(503, "<html>");
    for (sender, text) in MESSAGES {
        scene.ilink.push_message(sender, text);
    }
    let options = Options {
        program: Some(Built::get().program("scv-faulty")),
        environment: environment.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
        ..Options::default()
    };
    let mut daemon = Daemon::start(&scene.home, &options)?;
    tokio::select! {
        answered = all_answered(scene) => answered?,
        ended = daemon.ended(SOON) => return ended.map(drop),
    }
    daemon.terminate().await.map(drop)
}

async fn all_answered(scene: &Scene) -> Result<()> {
    scene.ilink.wait_visible(OWNER, 2, SOON).await?;
    scene.ilink.wait_visible(STRANGER, 1, SOON).await.map(drop)
}

/// After the crash the real daemon starts on what is left.
async fn recover_and_judge(scene: &Scene) -> Result<()> {
    let polls = scene.ilink.requests(Endpoint::GetUpdates).len();
    let mut daemon = scene.daemon().await?;
    scene.ilink.wait_polls(polls + 1, SOON).await.with_context(|| daemon.log())?;
    all_answered(scene).await.with_context(|| daemon.log())?;
    let state = scene.stop(&mut daemon).await?;
    ensure!(state["in_flight"].is_null() && state["pending"].is_null(), "{state}");
    for (sender, text) in MESSAGES {
        let turns = scene.model.turns(text);
        let shown = scene.ilink.visible(sender);
        let answers = shown.iter().filter(|line| **line == answer_to(text)).count();
        ensure!(turns <= 1, "{turns} turns for {text:?}");
        ensure!(answers <= 1, "{text:?} was answered {answers} times");
    }
    // As many lines as messages, none of them an answer twice: each sender got one for each.
    ensure!(scene.ilink.visible(OWNER).len() == 2, "{:?}", scene.ilink.visible(OWNER));
    ensure!(scene.ilink.visible(STRANGER).len() == 1, "{:?}", scene.ilink.visible(STRANGER));
    ensure!(scene.ilink.violations().is_empty(), "{:?}", scene.ilink.violations());
    Ok(())
}

/// The operations of a run that nothing interrupts: their kinds, in order.
async fn operations() -> Result<Vec<String>> {
    let scene = Scene::signed_in()?;
    let trace = scene.home.scv_home().join("trace");
    live_or_die(&scene, vec![(TRACE, text(&trace)?)]).await?;
    recover_and_judge(&scene).await?;
    let lines = std::fs::read_to_string(trace)?;
    Ok(lines.lines().map(str::to_owned).collect())
}

fn text(path: &Path) -> Result<String> {
    Ok(path.to_str().context("a temporary path is text")?.to_owned())
}

async fn one(kill: Kill) -> Result<()> {
    let scene = Scene::signed_in()?;
    live_or_die(&scene, vec![(KILL, kill.to_string())]).await?;
    recover_and_judge(&scene).await
}

/// Whether there is time for more of the same: `SCV_LONG_TESTS=1`.
fn is_long() -> bool {
    std::env::var_os("SCV_LONG_TESTS").is_some_and(|value| value == "1")
}

#[tokio::test]
async fn killed_at_every_durable_operation() -> Result<()> {
    let operations = operations().await?;
    assert!(operations.len() > 15, "the scenario writes: {operations:?}");
    let times = if is_long() { 3 } else { 1 };
    let kills = operations.iter().zip(1..).flat_map(|(o, n)| kills_at(o, n));
    let kills: Vec<_> = kills.flat_map(|kill| std::iter::repeat_n(kill, times)).collect();
    eprintln!("{} operations, {} kills", operations.len(), kills.len());
    let runs = kills
        .into_iter()
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

/// A small generator, so that a failure can be repeated: the seed is printed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // Constants of a 64-bit linear congruential generator (Knuth, MMIX).
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A model that thinks for a while, so that kills fall into turns as well.
fn slow_answer(request: &Value) -> Answer {
    let prompt = request["messages"].as_array().and_then(|messages| messages.last());
    let prompt = prompt.and_then(|message| message["content"].as_str()).unwrap_or_default();
    match Answer::text(answer_to(prompt)) {
        Answer::Stream(mut pieces) => {
            pieces.insert(0, Piece::Pause(Duration::from_millis(200)));
            Answer::Stream(pieces)
        }
        other => other,
    }
}

/// The real program, killed again and again at moments that nobody chose.
#[tokio::test]
async fn killed_at_random() -> Result<()> {
    let rounds = if is_long() { 200 } else { 30 };
    let seed = std::time::UNIX_EPOCH.elapsed()?.subsec_nanos().into();
    eprintln!("seed {seed}");
    let mut random = Random(seed);
    let scene = Scene::signed_in()?;
    scene.ilink.replay(Replay::OldCursor);
    scene.model.otherwise(slow_answer);
    let senders: Vec<_> = (0..rounds).map(|round| format!("sender-{round}@im.wechat")).collect();
    for sender in &senders {
        scene.ilink.push_message(sender, sender);
        let mut daemon = Daemon::start(&scene.home, &Options::default())?;
        // Up to about twice what start, turn and reply take here: kills fall on all of them.
        let moment = Duration::from_millis(random.below(600));
        if let Ok(ended) = tokio::time::timeout(moment, daemon.ended(GONE)).await {
            anyhow::bail!("the daemon ended by itself: {ended:?}\n{}", daemon.log());
        }
        daemon.kill().await?;
    }
    let polls = scene.ilink.requests(Endpoint::GetUpdates).len();
    let mut daemon = scene.daemon().await?;
    scene.ilink.wait_polls(polls + 1, SOON).await?;
    for sender in &senders {
        scene.ilink.wait_visible(sender, 1, SOON).await.with_context(|| daemon.log())?;
    }
    let state = scene.stop(&mut daemon).await?;
    assert!(state["in_flight"].is_null() && state["pending"].is_null(), "{state}");
    let mut answered = 0;
    for sender in &senders {
        let shown = scene.ilink.visible(sender);
        assert_eq!(shown.len(), 1, "{sender} sees {shown:?}");
        assert!(scene.model.turns(sender) <= 1, "{sender} had several turns");
        answered += usize::from(shown[0] == answer_to(sender));
    }
    eprintln!("{answered} answers, {} failure lines", senders.len() - answered);
    assert!(answered > 0, "not one turn came to its end");
    Ok(())
}
