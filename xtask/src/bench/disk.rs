//! What one answered message costs on disk, counted at the file system trait.

use std::{collections::HashMap, path::Path, time::Duration};

use anyhow::{Context, Result};
use scv_protocol::{Component, ComponentState};
use scv_simulators::{Ilink, ilink::OWNER};

use super::{row, start::echo};
use crate::harness::{Built, Daemon, Home, Options, Scv};

const MESSAGES: usize = 20;
const SOON: Duration = Duration::from_secs(20);

/// Synchronizations and bytes for one answered message of one part, with `kept` ids remembered.
pub(super) async fn per_message(built: &Built, kept: usize) -> Result<()> {
    let home = Home::new(built)?;
    let ilink = Ilink::start()?;
    Scv::on(&home).login_wechat(&ilink, "default").await?;
    remember(&home, kept)?;
    ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
    let trace = home.user().join("trace");
    // The faulty program without a fault: the same daemon, and it writes down what it does.
    let options = Options {
        program: Some(built.program("scv-faulty")),
        environment: vec![("SCV_FAULT_TRACE".into(), trace.clone().into())],
        ..echo()
    };
    let mut daemon = Daemon::spawn(&home, &options).await?;
    let connected = |account: &Component| account.state == ComponentState::Connected;
    daemon.component("wechat:default", SOON, connected).await?;
    ilink.wait_held(true, SOON).await?;
    let before = Cost::read(&trace)?;
    for number in 1..=MESSAGES {
        ilink.push_message(OWNER, "hello");
        ilink.wait_visible(OWNER, number, SOON).await?;
        daemon.component("wechat:default", SOON, |account| account.pending == Some(0)).await?;
    }
    let after = Cost::read(&trace)?;
    daemon.terminate().await?;
    let each = |total: u64| total as f64 / MESSAGES as f64;
    row(
        &format!("disk per answered message, {kept} kept ids"),
        &format!("{:.1} fsyncs", each(after.syncs - before.syncs)),
        &format!("{:.0} bytes written", each(after.bytes - before.bytes)),
    );
    Ok(())
}

/// A base state that remembers ids, as a long-lived account has it.
pub(super) fn remember(home: &Home, kept: usize) -> Result<()> {
    let seen: Vec<_> =
        (0..kept).map(|id| format!("{}", 7_000_000_000_000_000_000_u64 + id as u64)).collect();
    let state = serde_json::json!({
        "credential_fingerprint": null, "cursor": "", "seen": seen, "pending": null, "in_flight": null,
    });
    let folder = home.scv_home().join("channels/wechat/state");
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::write(folder.join("default.json"), state.to_string())?)
}

#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    syncs: u64,
    bytes: u64,
}

impl Cost {
    fn read(trace: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(trace).unwrap_or_default();
        let mut totals: HashMap<&str, (u64, u64)> = HashMap::new();
        for line in text.lines() {
            let (kind, bytes) = line.split_once(' ').context("a line of the trace")?;
            let total = totals.entry(kind).or_default();
            *total = (total.0 + 1, total.1 + bytes.parse::<u64>()?);
        }
        let count = |kind: &str| totals.get(kind).map_or(0, |total| total.0);
        Ok(Self {
            syncs: count("fdatasync") + count("fsync"),
            bytes: totals.get("write").map_or(0, |total| total.1),
        })
    }
}
