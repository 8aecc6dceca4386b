//! Coming back after a crash with as many unanswered messages as an account may have.

use std::time::Instant;

use anyhow::{Context, Result};
use scv_simulators::Ilink;
use serde_json::json;

use super::SOON;
use crate::{
    bench::{median, row, start::echo},
    harness::{Built, Daemon, Home, Scv},
};

const CLAIMS: usize = 64;
const RUNS: usize = 11;

/// From the start of the process to its first poll.
pub(in crate::bench) async fn to_polling(built: &Built) -> Result<()> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let home = Home::new(built)?;
        let ilink = Ilink::start()?;
        Scv::on(&home).login_wechat(&ilink, "default").await?;
        claimed(&home)?;
        let begin = Instant::now();
        let mut daemon = Daemon::start(&home, &echo())?;
        ilink.wait_polls(1, SOON).await?;
        times.push(begin.elapsed());
        // Each of them gets its line; this is not part of the time.
        ilink.wait_sends(CLAIMS, SOON).await?;
        daemon.terminate().await?;
    }
    let time = median(times).context("there were runs")?;
    row(
        &format!("restart to polling, {CLAIMS} claims"),
        &format!("{:.0} ms", time.as_secs_f64() * 1e3),
        "at most 150 ms are wanted",
    );
    Ok(())
}

/// The state that a crash leaves, with its turns still to be answered for.
fn claimed(home: &Home) -> Result<()> {
    let claim = |number: usize| {
        let user = format!("sender-{}@im.wechat", number % 16);
        json!({
            "message_id": format!("{number}"), "to_user_id": user,
            "context_token": format!("ctx-{number}"), "key": user,
        })
    };
    let state = json!({
        "credential_fingerprint": null, "cursor": "buf-0", "seen": [], "pending": null,
        "in_flight": (0..CLAIMS).map(claim).collect::<Vec<_>>(),
    });
    let folder = home.scv_home().join("channels/wechat/state");
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::write(folder.join("default.json"), state.to_string())?)
}
