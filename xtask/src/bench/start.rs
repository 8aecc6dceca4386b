//! Coming up, and doing nothing.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use scv_protocol::{ClientInfo, ComponentState, client::Client};
use scv_simulators::Ilink;

use super::{baseline, median, plugins::Accounts, row};
use crate::harness::{Built, Daemon, Home, Options, Scv};

/// Cold starts of each kind that are measured.
const RUNS: usize = 31;
const SOON: Duration = Duration::from_secs(20);

/// From starting the process on a new home to the answer `initialized`; plugins load after it.
/// Then, on a home with an account at each plugin, until all of them are at work.
pub(super) async fn cold(built: &Built) -> Result<()> {
    let home = Home::installed(built)?;
    let (mut with, mut without) = (Vec::with_capacity(RUNS), Vec::with_capacity(RUNS));
    for _ in 0..RUNS {
        with.push(one_start(&home, &echo()).await?);
        without.push(one_start(&home, &without_plugins()).await?);
    }
    let with = median(with).context("there were runs")?;
    let without = median(without).context("there were runs")?;
    let bare = baseline::process(&built.scv())?;
    row(
        "cold start to initialized",
        &format!("{:.1} ms", with.as_secs_f64() * 1e3),
        &format!(
            "{:.2} × without plugins, {:.1} × scv --version",
            with.as_secs_f64() / without.as_secs_f64(),
            with.as_secs_f64() / bare.as_secs_f64()
        ),
    );
    accounts_starting(built).await
}

async fn one_start(home: &Home, options: &Options) -> Result<Duration> {
    let begin = Instant::now();
    let mut daemon = Daemon::start(home, options)?;
    while Client::connect(&home.socket(), client()).await.is_err() {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    let time = begin.elapsed();
    daemon.terminate().await?;
    std::fs::remove_dir_all(home.scv_home())?;
    Ok(time)
}

async fn accounts_starting(built: &Built) -> Result<()> {
    let accounts = Accounts::sign_in(built).await?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let begin = Instant::now();
        let mut daemon = Daemon::spawn(&accounts.home, &accounts.options()).await?;
        accounts.all_starting(&daemon).await?;
        times.push(begin.elapsed());
        daemon.terminate().await?;
    }
    let time = median(times).context("there were runs")?;
    row(
        "start to all accounts starting",
        &format!("{:.1} ms", time.as_secs_f64() * 1e3),
        "one account at each plugin",
    );
    Ok(())
}

/// Memory of a daemon with one connected account, and what of it is its own.
pub(super) async fn idle(built: &Built) -> Result<()> {
    let mut stage = Connected::start(built).await?;
    let pid = stage.daemon.pid().as_raw_nonzero();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = |field: &str| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with(field))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let rss = kib("VmRSS:").context("the kernel tells the RSS")?;
    let own = kib("RssAnon:").context("the kernel tells anonymous memory")?;
    row(
        "idle RSS, one account connected",
        &format!("{:.1} MiB", rss as f64 / 1024.0),
        &format!("{:.1} MiB of it no file's", own as f64 / 1024.0),
    );
    stage.daemon.terminate().await.map(drop)
}

/// A daemon with one account that the platform has answered.
pub(super) struct Connected {
    pub(super) daemon: Daemon,
    pub(super) ilink: Ilink,
    pub(super) home: Home,
}

impl Connected {
    pub(super) async fn start(built: &Built) -> Result<Self> {
        let home = Home::new(built)?;
        let ilink = Ilink::start()?;
        // The first poll is answered at once: it would be held for 35 s.
        ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
        let daemon = Daemon::spawn(&home, &echo()).await?;
        Scv::on(&home).login_wechat(&ilink, "default").await?;
        daemon.component("wechat:default", SOON, |a| a.state == ComponentState::Connected).await?;
        Ok(Self { daemon, ilink, home })
    }
}

/// The built-in provider: no network, no waiting.
pub(super) fn echo() -> Options {
    Options { arguments: vec!["--provider".into(), "echo".into()], ..Options::default() }
}

/// The same, and no plugin is loaded.
pub(super) fn without_plugins() -> Options {
    let mut options = echo();
    options.arguments.push("--no-plugins".into());
    options
}

fn client() -> ClientInfo {
    ClientInfo { name: "scv-bench".into(), version: env!("CARGO_PKG_VERSION").into() }
}
