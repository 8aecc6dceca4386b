//! CPU time of text that streams through.

use std::time::Duration;

use anyhow::{Context, Result};

use super::{
    Stage, baseline, process,
    provider::{self, Provider},
};
use crate::{
    bench::{median, row},
    harness::Built,
};

/// Each is measured this many times, in turns with the baseline.
const RUNS: usize = 9;

/// Answers of `per_answer` deltas, `answers` in each run.
pub(in crate::bench) async fn deltas(
    built: &Built,
    bytes: usize,
    per_answer: usize,
    answers: usize,
) -> Result<()> {
    let server = Provider::new()?;
    let address = server.address()?;
    server.repeat(provider::answer(per_answer, bytes));
    let mut stage = Stage::new(built, &address).await?;
    let mut talker = stage.talker()?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // The first run of both only warms up.
    for run in 0..=RUNS {
        let before = process::cpu(stage.pid())?;
        for _ in 0..answers {
            let turn = talker.turn();
            talker.client.send_line(&turn)?;
            talker.client.until("turn.completed")?;
            talker.clear()?;
        }
        let used = process::cpu(stage.pid())?.saturating_sub(before);
        let relay = baseline::relay(&address, answers)?;
        if run > 0 {
            ours.push(used);
            bare.push(relay);
        }
    }
    stage.daemon.terminate().await?;
    let per_thousand = |times: Vec<Duration>| -> Result<f64> {
        let time = median(times).context("there were runs")?;
        Ok(time.as_secs_f64() * 1e6 * 1e3 / (per_answer * answers) as f64)
    };
    let (ours, bare) = (per_thousand(ours)?, per_thousand(bare)?);
    row(
        &format!("CPU of 1,000 deltas of {bytes} bytes"),
        &format!("{ours:.0} µs"),
        &format!("{:.2} × a bare relay ({bare:.0} µs)", ours / bare),
    );
    Ok(())
}
