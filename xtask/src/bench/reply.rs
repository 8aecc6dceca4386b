//! From a message on the platform to its answer there.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use scv_simulators::ilink::OWNER;

use super::{baseline, median, row, start::Connected};
use crate::harness::Built;

/// Messages that are measured, one after the other.
const MESSAGES: usize = 101;
const SOON: Duration = Duration::from_secs(20);
/// A disk that answers faster does not really write: no ratio would say anything.
const REAL_SYNC: Duration = Duration::from_micros(20);

/// With the instant built-in provider: poll, claim, turn, reply and the send itself.
pub(super) async fn message_to_reply(built: &Built) -> Result<()> {
    let Connected { mut daemon, ilink, home } = Connected::start(built).await?;
    let mut times = Vec::with_capacity(MESSAGES);
    for number in 1..=MESSAGES {
        ilink.wait_held(true, SOON).await?;
        let begin = Instant::now();
        ilink.push_message(OWNER, "hello");
        ilink.wait_visible(OWNER, number, SOON).await?;
        times.push(begin.elapsed());
    }
    daemon.terminate().await?;
    let time = median(times).context("there were messages")?;
    let sync = baseline::append_and_sync(&home.user())?;
    let against = if sync < REAL_SYNC {
        format!("no ratio: fdatasync takes {} µs here", sync.as_micros())
    } else {
        let ratio = time.as_secs_f64() / (3.0 * sync.as_secs_f64());
        format!("{ratio:.1} × three append + fdatasync ({} µs each)", sync.as_micros())
    };
    row("message to reply, p50", &format!("{:.2} ms", time.as_secs_f64() * 1e3), &against);
    Ok(())
}
