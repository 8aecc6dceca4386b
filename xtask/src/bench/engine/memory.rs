//! Memory: of clients that wait, of long lives, and of large answers.

use std::time::Duration;

use anyhow::{Context, Result};

use super::{
    Stage,
    line::{LineClient, Talker},
    process,
    provider::{self, Provider},
    turns::one_turn,
};
use crate::{
    bench::{median, row},
    harness::Built,
};

/// Connections or sessions that are open at once.
const IDLE: usize = 200;
/// Clients that stop reading.
const STOPPED: usize = 8;
/// Until nothing moves any more.
const STILL: Duration = Duration::from_millis(500);

/// Connections that only wait, and sessions that do.
pub(in crate::bench) async fn idle(built: &Built) -> Result<()> {
    let mut stage = Stage::new(built, "127.0.0.1:9").await?;
    let socket = stage.home.socket();
    // What the first ones leave behind is not theirs alone.
    let first: Vec<_> = (0..20).map(|_| stage.talker()).collect::<Result<_>>()?;
    drop(first);
    let pid = stage.pid();
    let empty = settled(pid).await?;
    let mut clients = Vec::new();
    for _ in 0..IDLE {
        clients.push(LineClient::initialize(&socket)?);
    }
    let connected = settled(pid).await?;
    let workspace = stage.home.workspace();
    let talkers: Vec<_> = clients
        .into_iter()
        .map(|client| Talker::start(client, &workspace))
        .collect::<Result<_>>()?;
    let started = settled(pid).await?;
    drop(talkers);
    stage.daemon.terminate().await?;
    let each = |more: u64, less: u64| more.saturating_sub(less) as f64 / IDLE as f64;
    row("idle connection", &format!("{:.1} KiB", each(connected, empty)), "limit 15 KiB");
    row(
        "idle session, its connection not counted",
        &format!("{:.1} KiB", each(started, connected)),
        "limit 30 KiB",
    );
    Ok(())
}

/// A long life: what is left after 100,000 turns.
pub(in crate::bench) async fn flat(built: &Built) -> Result<()> {
    const WARM: usize = 1_000;
    const TURNS: usize = 100_000;
    let mut stage = serving(built, 1, 2).await?;
    let mut talker = stage.talker()?;
    let line = talker.turn();
    let mut live = |turns: usize| -> Result<()> {
        for turn in 1..=turns {
            one_turn(&mut talker, &line)?;
            if turn % 100 == 0 {
                talker.clear()?;
            }
        }
        Ok(())
    };
    live(WARM)?;
    let before = settled(stage.pid()).await?;
    live(TURNS)?;
    let after = settled(stage.pid()).await?;
    stage.daemon.terminate().await?;
    let grown = after as f64 - before as f64;
    row("growth over 100,000 turns", &format!("{grown:.0} KiB"), "limit 1,024 KiB");
    Ok(())
}

/// The peak of an answer of 1 MiB to a client that reads.
pub(in crate::bench) async fn large_answer(built: &Built) -> Result<()> {
    let mut peaks = Vec::new();
    for _ in 0..3 {
        let mut stage = serving(built, 256, 4096).await?;
        let mut talker = stage.talker()?;
        let line = talker.turn();
        let before = process::forget_peak(stage.pid())?;
        one_turn(&mut talker, &line)?;
        peaks.push(process::peak_kib(stage.pid())?.saturating_sub(before));
        stage.daemon.terminate().await?;
    }
    let peak = median(peaks).context("there were runs")?;
    row("peak of a 1 MiB answer", &format!("{peak} KiB"), "limit 6,144 KiB");
    Ok(())
}

/// Clients that start a turn with a large answer and read nothing of it.
pub(in crate::bench) async fn stopped_readers(built: &Built) -> Result<()> {
    let mut stage = serving(built, 256, 4096).await?;
    let mut talkers: Vec<_> = (0..STOPPED).map(|_| stage.talker()).collect::<Result<_>>()?;
    // What a first turn loads is not theirs alone.
    let mut first = stage.talker()?;
    let line = first.turn();
    one_turn(&mut first, &line)?;
    drop(first);
    settled(stage.pid()).await?;
    let before = process::forget_peak(stage.pid())?;
    for talker in &mut talkers {
        let line = talker.turn();
        talker.client.send_line(&line)?;
    }
    settled(stage.pid()).await?;
    let peak = process::peak_kib(stage.pid())?.saturating_sub(before);
    drop(talkers);
    stage.daemon.terminate().await?;
    row(
        "a client that stops reading, of eight",
        &format!("{} KiB", peak / STOPPED as u64),
        "limit 3,072 KiB",
    );
    Ok(())
}

async fn serving(built: &Built, deltas: usize, bytes: usize) -> Result<Stage> {
    let server = Provider::new()?;
    let address = server.address()?;
    server.repeat(provider::answer(deltas, bytes));
    Stage::new(built, &address).await
}

/// Anonymous memory once it has stopped moving, in KiB.
async fn settled(pid: u32) -> Result<u64> {
    let mut last = process::anonymous_kib(pid)?;
    loop {
        tokio::time::sleep(STILL).await;
        let now = process::anonymous_kib(pid)?;
        if now == last {
            return Ok(now);
        }
        last = now;
    }
}
