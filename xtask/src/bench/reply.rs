//! From a message on the platform to its answer there.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use scv_protocol::ComponentState;
use scv_simulators::{Ilink, ilink::OWNER};

use super::{baseline, disk::remember, engine::line::Talker, median, row, start::echo};
use crate::harness::{Built, Daemon, Home, Scv};

/// Messages that are measured, one after the other.
const MESSAGES: usize = 101;
const SOON: Duration = Duration::from_secs(20);
/// A disk that answers faster does not really write: no ratio would say anything.
const REAL_SYNC: Duration = Duration::from_micros(20);

/// With the instant built-in provider: poll, claim, turn, reply and the send itself; the account
/// remembers `kept` ids. Against three commits and the turn alone, over the socket.
pub(super) async fn message_to_reply(built: &Built, kept: usize) -> Result<()> {
    let home = Home::new(built)?;
    let ilink = Ilink::start()?;
    Scv::on(&home).login_wechat(&ilink, "default").await?;
    remember(&home, kept)?;
    // The first poll is answered at once: it would be held for 35 s.
    ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
    let mut daemon = Daemon::spawn(&home, &echo()).await?;
    daemon.component("wechat:default", SOON, |a| a.state == ComponentState::Connected).await?;
    let mut times = Vec::with_capacity(MESSAGES);
    for number in 1..=MESSAGES {
        ilink.wait_held(true, SOON).await?;
        let begin = Instant::now();
        ilink.push_message(OWNER, "hello");
        ilink.wait_visible(OWNER, number, SOON).await?;
        times.push(begin.elapsed());
    }
    let time = median(times).context("there were messages")?;
    let (socket, cwd) = (home.socket(), home.workspace());
    let turn = tokio::task::spawn_blocking(move || turn_alone(&socket, &cwd)).await??;
    daemon.terminate().await?;
    let sync = baseline::append_and_sync(&home.user())?;
    let against = if sync < REAL_SYNC {
        format!("no ratio: fdatasync takes {} µs here", sync.as_micros())
    } else {
        let bare = 3.0 * sync.as_secs_f64() + turn.as_secs_f64();
        let ratio = time.as_secs_f64() / bare;
        let (sync, turn) = (sync.as_micros(), turn.as_micros());
        format!("{ratio:.1} × three commits of {sync} µs and a turn of {turn} µs")
    };
    let what = format!("message to reply, p50, {kept} kept ids");
    row(&what, &format!("{:.2} ms", time.as_secs_f64() * 1e3), &against);
    Ok(())
}

/// An echo turn of a session that is open already, over the socket.
fn turn_alone(socket: &Path, cwd: &Path) -> Result<Duration> {
    let mut talker = Talker::new(socket, cwd)?;
    let turn = talker.turn();
    let mut times = Vec::with_capacity(MESSAGES);
    for _ in 0..MESSAGES {
        let begin = Instant::now();
        talker.client.send_line(&turn)?;
        talker.client.until("turn.completed")?;
        times.push(begin.elapsed());
    }
    median(times).context("there were turns")
}
