//! Accounts that wait sleep.

use std::{collections::HashMap, fs, time::Duration};

use anyhow::{Context, Result};
use scv_protocol::ComponentState;
use scv_simulators::Ilink;

use super::SOON;
use crate::{
    bench::{row, start::echo},
    harness::{Built, Daemon, Home, Scv},
};

/// How long they are watched.
const WATCHED: Duration = Duration::from_secs(20);

/// Voluntary context switches of all threads, with two accounts whose polls are held.
pub(in crate::bench) async fn switches(built: &Built) -> Result<()> {
    let home = Home::new(built)?;
    let platforms = [("default", Ilink::start()?), ("second", Ilink::start()?)];
    for (account, ilink) in &platforms {
        Scv::on(&home).login_wechat(ilink, account).await?;
        ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
    }
    let mut daemon = Daemon::spawn(&home, &echo()).await?;
    for (account, ilink) in &platforms {
        let id = format!("wechat:{account}");
        daemon.component(&id, SOON, |a| a.state == ComponentState::Connected).await?;
        ilink.wait_held(true, SOON).await?;
    }
    // What the start has left to do is done; polls are held for 35 s.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let pid = daemon.pid().as_raw_nonzero().get();
    let before = switches_of(pid)?;
    tokio::time::sleep(WATCHED).await;
    let after = switches_of(pid)?;
    daemon.terminate().await?;
    // A thread that has ended since has nothing to tell; a new one began at none.
    let of_thread = |(thread, count): (&String, &u64)| count - before.get(thread).unwrap_or(&0);
    let switches: u64 = after.iter().map(of_thread).sum();
    row(
        &format!("two idle accounts, {} s", WATCHED.as_secs()),
        &format!("{switches} switches"),
        "voluntary, over all threads; at most 60 are wanted",
    );
    Ok(())
}

/// The voluntary switches of each thread, by its id.
fn switches_of(pid: i32) -> Result<HashMap<String, u64>> {
    let mut threads = HashMap::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let thread = thread?;
        // It may end between the look at the folder and this one.
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
        let count = line.and_then(|line| line.split_whitespace().nth(1));
        let count = count.context("the kernel counts switches")?.parse()?;
        threads.insert(thread.file_name().to_string_lossy().into_owned(), count);
    }
    Ok(threads)
}
