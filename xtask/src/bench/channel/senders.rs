//! Four people who write at the same time share commits: on a slow disk that is most of the time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use scv_protocol::ComponentState;
use scv_simulators::Ilink;
use tokio::task::JoinSet;

use super::SOON;
use crate::{
    bench::{row, start::echo},
    harness::{Built, Daemon, Home, Options, Scv},
};

/// Messages of each sender, one after the other's answer.
const MESSAGES: usize = 25;
const SENDERS: usize = 4;
/// What each synchronization takes there.
const SYNC: Duration = Duration::from_millis(5);

/// Answered messages a second of four senders and of one.
pub(in crate::bench) async fn on_a_slow_disk(built: &Built) -> Result<()> {
    let one = rate(built, 1).await?;
    let four = rate(built, SENDERS).await?;
    row(
        &format!("four senders, fsync of {} ms", SYNC.as_millis()),
        &format!("{four:.0} messages/s"),
        &format!("{:.1} × one sender", four / one),
    );
    Ok(())
}

async fn rate(built: &Built, senders: usize) -> Result<f64> {
    let home = Home::new(built)?;
    let ilink = Ilink::start()?;
    Scv::on(&home).login_wechat(&ilink, "default").await?;
    ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
    let options = Options {
        program: Some(built.program("scv-faulty")),
        environment: vec![("SCV_FAULT_SYNC_MS".into(), SYNC.as_millis().to_string().into())],
        ..echo()
    };
    let mut daemon = Daemon::spawn(&home, &options).await?;
    daemon.component("wechat:default", SOON, |a| a.state == ComponentState::Connected).await?;
    let begin = Instant::now();
    let ilink = Arc::new(ilink);
    let mut writing: JoinSet<_> = (0..senders).map(|number| write(ilink.clone(), number)).collect();
    while let Some(wrote) = writing.join_next().await {
        wrote??;
    }
    let took = begin.elapsed();
    daemon.terminate().await?;
    Ok((senders * MESSAGES) as f64 / took.max(Duration::from_micros(1)).as_secs_f64())
}

async fn write(ilink: Arc<Ilink>, number: usize) -> Result<()> {
    let user = format!("sender-{number}@im.wechat");
    for count in 1..=MESSAGES {
        ilink.push_message(&user, "hello");
        ilink.wait_visible(&user, count, SOON).await?;
    }
    Ok(())
}
