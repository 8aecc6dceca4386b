//! The long connection of Feishu: from a pushed event to its acknowledgement, and what frames and
//! messages cost the daemon.

use std::time::Duration;

use anyhow::{Context, Result};
use scv_protocol::ComponentState;
use scv_simulators::{
    Feishu,
    feishu::{OWNER, P2P, p2p_of},
};
use serde_json::json;

use super::{engine::process::cpu, row, start::echo};
use crate::harness::{Built, Daemon, Home, Options, Scv};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(120);
/// What a synchronization takes longer, on top of this machine's disk.
const SLOW_SYNC: (&str, &str) = ("SCV_FAULT_SYNC_MS", "20");
/// Turns that run meanwhile.
const TURNS: usize = 4;
/// Events with a pause between them, then events back to back; the first take 20 s.
const PACED: usize = 100;
const PACE: Duration = Duration::from_millis(200);
const DENSE: usize = 600;
const DENSE_PACE: Duration = Duration::from_millis(5);
/// Frames and messages whose CPU is counted.
const FRAMES: usize = 20_000;
const MESSAGES: usize = 200;

struct Stage {
    daemon: Daemon,
    feishu: Feishu,
    _home: Home,
}

impl Stage {
    async fn set(built: &Built, program: Option<&str>) -> Result<Self> {
        let home = Home::new(built)?;
        let feishu = Feishu::start()?;
        let mut environment = feishu.environment();
        if program.is_some() {
            environment.push((SLOW_SYNC.0.into(), SLOW_SYNC.1.into()));
        }
        let program = program.map(|name| built.program(name));
        let daemon = Daemon::spawn(&home, &Options { program, environment, ..echo() }).await?;
        Scv::on(&home).login_feishu(&feishu, "default").await?;
        let connected = |a: &scv_protocol::Component| a.state == ComponentState::Connected;
        daemon.component("feishu:default", SOON, connected).await?;
        feishu.wait_open(SOON).await?;
        Ok(Self { daemon, feishu, _home: home })
    }

    fn cpu(&self) -> Result<Duration> {
        cpu(self.daemon.pid().as_raw_nonzero().get().unsigned_abs())
    }

    /// An event that starts no turn and is put on record like a message.
    fn push(&self, number: usize) {
        let moment = self.feishu.now_ms().to_string();
        self.feishu.push_event(&json!({
            "schema": "2.0",
            "header": {"event_id": format!("ev_{number}"), "event_type": "im.message.receive_v1",
                       "create_time": moment},
            "event": {
                "sender": {"sender_id": {"open_id": OWNER}, "sender_type": "user"},
                "message": {"message_id": format!("om_bench_{number}"), "create_time": moment,
                            "chat_id": P2P, "chat_type": "p2p", "message_type": "image",
                            "content": "{\"image_key\":\"img\"}"},
            },
        }));
    }
}

/// Four turns run, and each synchronization takes 20 ms more.
pub(super) async fn acknowledgements(built: &Built) -> Result<()> {
    let mut stage = Stage::set(built, Some("scv-faulty")).await?;
    for number in 0..TURNS {
        stage.feishu.push_message(&format!("ou_bench_{number}"), "wait 600");
    }
    let running = |a: &scv_protocol::Component| a.running == Some(TURNS as u64);
    stage.daemon.component("feishu:default", SOON, running).await?;
    let mut pushed = 0;
    for (what, count, pace) in [
        ("event to acknowledgement, one each 200 ms", PACED, PACE),
        ("event to acknowledgement, 200 a second", DENSE, DENSE_PACE),
    ] {
        let before = stage.feishu.acks().len();
        for _ in 0..count {
            stage.push(pushed);
            pushed += 1;
            tokio::time::sleep(pace).await;
        }
        let acks = stage.feishu.wait_acks(before + count, SOON).await?;
        let mut times: Vec<_> = acks[before..].iter().map(|ack| ack.after).collect();
        times.sort();
        let latest = times.last().context("there were events")?;
        row(
            what,
            &format!("{:.1} ms p99", times[times.len() * 99 / 100].as_secs_f64() * 1e3),
            &format!("latest {:.1} ms, with 20 ms for each sync", latest.as_secs_f64() * 1e3),
        );
    }
    stage.daemon.kill().await
}

/// Event frames of a kind that the channel acknowledges at once.
pub(super) async fn frames(built: &Built) -> Result<()> {
    let mut stage = Stage::set(built, None).await?;
    let before = stage.cpu()?;
    for number in 0..FRAMES {
        stage.feishu.push_event(&json!({
            "schema": "2.0",
            "header": {"event_id": format!("ev_{number}"),
                       "event_type": "im.message.message_read_v1", "create_time": "1790000000000"},
            "event": {"reader": {"reader_id": {"open_id": OWNER}}, "message_id_list": ["om_1"]},
        }));
    }
    stage.feishu.wait_acks(FRAMES, SOON).await?;
    let used = stage.cpu()?.saturating_sub(before);
    stage.daemon.terminate().await?;
    row(
        "event frames per CPU second",
        &format!("{:.0}", FRAMES as f64 / used.as_secs_f64()),
        "of the whole daemon: TLS, decoding and the acknowledgement",
    );
    Ok(())
}

/// The daemon's CPU for a message that is answered, with the instant built-in provider.
pub(super) async fn cpu_per_message(built: &Built) -> Result<()> {
    let mut stage = Stage::set(built, None).await?;
    let (before, dialled) = (stage.cpu()?, stage.feishu.dialled().len());
    for number in 1..=MESSAGES {
        stage.feishu.push_message(OWNER, &format!("hello {number}"));
        stage.feishu.wait_visible(&p2p_of(OWNER), number, SOON).await?;
    }
    let used = stage.cpu()?.saturating_sub(before) / MESSAGES as u32;
    stage.daemon.terminate().await?;
    row(
        "CPU per answered message, Feishu",
        &format!("{} µs", used.as_micros()),
        &format!(
            "TLS of the long connection and of one REST call in it, {} new connections",
            stage.feishu.dialled().len() - dialled
        ),
    );
    Ok(())
}
