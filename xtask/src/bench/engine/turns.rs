//! How long a turn takes, and a delta on its way.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use scv_simulators::{Model, model::Answer};

use super::{
    Stage,
    baseline::Echo,
    line::Talker,
    process,
    provider::{self, Provider},
};
use crate::{
    bench::{median, one_core::OneCore, row},
    harness::Built,
};

/// The thing and its baseline are measured by turns, so that both meet the same noise.
const BLOCKS: usize = 200;
/// Few, so that a turn's cost is not that of a long history, which has a row of its own.
const PER_BLOCK: usize = 10;

/// A whole turn on one core: one delta, no delay, from the model simulator.
pub(in crate::bench) async fn turn(built: &Built) -> Result<()> {
    let _one_core = OneCore::enter()?;
    let model = Model::start()?;
    let address = model.base_url();
    let address = address.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stage = Stage::new(built, address).await?;
    let mut talker = stage.talker()?;
    let mut echo = Echo::start(&stage.home.user())?;
    let (mut turns, mut echoes) = (Vec::new(), Vec::new());
    for block in 0..=BLOCKS {
        let line = talker.turn();
        for _ in 0..PER_BLOCK {
            model.queue(Answer::text("ok"));
            let time = one_turn(&mut talker, &line)?;
            let round_trip = echo.round_trip(&line)?;
            if block > 0 {
                turns.push(time);
                echoes.push(round_trip);
            }
        }
        talker.clear()?;
    }
    stage.daemon.terminate().await?;
    for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        compare(&format!("turn, {name}"), quantile(&turns, part)?, quantile(&echoes, part)?);
    }
    Ok(())
}

/// From the provider's write to the client's frame, on one core.
pub(in crate::bench) async fn first_byte(built: &Built) -> Result<()> {
    let _one_core = OneCore::enter()?;
    let server = Provider::new()?;
    let mut stage = Stage::new(built, &server.address()?).await?;
    let mut talker = stage.talker()?;
    let mut echo = Echo::start(&stage.home.user())?;
    let line = talker.turn();
    talker.client.send_line(&line)?;
    let mut exchange = server.accept()?;
    talker.client.until("turn.started")?;
    exchange.begin()?;
    let event = provider::event("hello");
    let (mut deltas, mut echoes) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS * PER_BLOCK {
        let begin = Instant::now();
        exchange.chunk(&event)?;
        talker.client.line()?;
        deltas.push(begin.elapsed());
        echoes.push(echo.round_trip(&line)?);
    }
    exchange.chunk(provider::END)?;
    talker.client.until("turn.completed")?;
    stage.daemon.terminate().await?;
    compare("provider byte to client frame, p50", quantile(&deltas, 0.5)?, quantile(&echoes, 0.5)?);
    Ok(())
}

/// CPU time of a turn in a session that remembers much and in one that remembers little. Every
/// request holds the same number of messages, so all that can differ is what selecting them and
/// checking their limits costs.
pub(in crate::bench) async fn history(built: &Built) -> Result<()> {
    const RUNS: usize = 9;
    const TURNS: usize = 50;
    const OLD_MESSAGES: usize = 9_000;
    /// More turns than a request holds of the answers below.
    const WINDOW_TURNS: usize = 40;
    const CONTEXT: &str = "\n[context]\nmax_tokens = 32768\nbytes_per_token = 1\n\
                           reserve_output_tokens = 0\nsafety_margin_tokens = 0\n";
    let server = Provider::new()?;
    let address = server.address()?;
    server.repeat(provider::answer(1, 1024));
    let mut stage = Stage::with(built, &address, CONTEXT).await?;
    let (mut old, mut young) = (stage.talker()?, stage.talker()?);
    live(&mut old, OLD_MESSAGES / 2)?;
    let (mut long, mut short) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        young.clear()?;
        live(&mut young, WINDOW_TURNS)?;
        for (talker, times) in [(&mut old, &mut long), (&mut young, &mut short)] {
            let before = process::cpu(stage.pid())?;
            live(talker, TURNS)?;
            let used = process::cpu(stage.pid())?.saturating_sub(before);
            times.push(used.as_secs_f64() * 1e6 / TURNS as f64);
        }
    }
    stage.daemon.terminate().await?;
    let long = median(long).context("there were runs")?;
    let short = median(short).context("there were runs")?;
    row(
        &format!("CPU of a turn after {OLD_MESSAGES} messages"),
        &format!("{long:.0} µs"),
        &format!("{:.2} × after {} messages ({short:.0} µs)", long / short, 2 * WINDOW_TURNS),
    );
    Ok(())
}

fn live(talker: &mut Talker, turns: usize) -> Result<()> {
    let line = talker.turn();
    (0..turns).try_for_each(|_| one_turn(talker, &line).map(drop))
}

pub(super) fn one_turn(talker: &mut Talker, line: &str) -> Result<Duration> {
    let begin = Instant::now();
    talker.client.send_line(line)?;
    talker.client.until("turn.completed")?;
    Ok(begin.elapsed())
}

fn compare(what: &str, ours: Duration, echo: Duration) {
    let (ours, echo) = (ours.as_secs_f64() * 1e6, echo.as_secs_f64() * 1e6);
    row(
        what,
        &format!("{ours:.0} µs"),
        &format!("{:.1} × a JSONL echo ({echo:.0} µs)", ours / echo),
    );
}

/// The value below which this part of all is.
fn quantile(times: &[Duration], part: f64) -> Result<Duration> {
    let mut times = times.to_vec();
    times.sort();
    let place = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
    times.get(place).copied().context("something was measured")
}
