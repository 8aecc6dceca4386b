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
    bench::{row, start},
    harness::{Built, Daemon, Home},
};

/// Blocks of the thing and of its baseline by turns, so that both meet the same noise.
const BLOCKS: usize = 40;
const PER_BLOCK: usize = 50;

/// A whole turn: one delta, no delay, from the model simulator.
pub(in crate::bench) async fn turn(built: &Built) -> Result<()> {
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

/// From the provider's write to the client's frame.
pub(in crate::bench) async fn first_byte(built: &Built) -> Result<()> {
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

/// CPU time of a turn without a network, with a short history and with a long one.
pub(in crate::bench) async fn history(built: &Built) -> Result<()> {
    const MESSAGES: usize = 9_900;
    let home = Home::new(built)?;
    let mut options = start::echo();
    options.arguments.push("--no-plugins".into());
    let mut daemon = Daemon::spawn(&home, &options).await?;
    let pid = daemon.pid().as_raw_nonzero().get().unsigned_abs();
    let mut talker = Talker::new(&home.socket(), &home.workspace())?;
    let line = talker.turn();
    let mut spend = |turns: usize| -> Result<Duration> {
        let before = process::cpu(pid)?;
        for _ in 0..turns {
            one_turn(&mut talker, &line)?;
        }
        Ok(process::cpu(pid)?.saturating_sub(before) / u32::try_from(turns)?)
    };
    spend(25)?;
    let short = spend(25)?;
    spend(MESSAGES / 2 - 50)?;
    let long = spend(25)?;
    daemon.terminate().await?;
    row(
        "CPU of a turn after 9,900 messages",
        &format!("{} µs", long.as_micros()),
        &format!("{} µs after 50", short.as_micros()),
    );
    Ok(())
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
