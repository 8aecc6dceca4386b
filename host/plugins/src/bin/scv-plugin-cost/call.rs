//! One whole typed call, in both forms, against its documents in the hands of a bare task.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use scv_plugin_api::{
    host::ChannelSession,
    wire::{ConnectRequest, Fault, Outgoing, Recipient, SendOutcome, encode},
};
use scv_plugin_host::{Isolation, PluginHost};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::{Result, host, plugin_runtime, runtime};

/// The plugin that is called: it does nothing but answer.
pub(crate) const FIXTURE: &str = "fixture";
/// The three ways are measured in turn, this often.
const ROUNDS: usize = 20;
const CALLS_A_ROUND: usize = 500;
/// Calls at the start of a round that do not count.
const WARM_UP: usize = 50;
const TEXT_LENGTH: usize = 1024;

pub(super) fn measure(folder: &Path, home: &Path) -> Result<Value> {
    let (ours, other) = (runtime()?, plugin_runtime()?);
    let here = host(folder, home, Isolation::InProcess);
    let apart = host(folder, home, Isolation::Process);
    // A task of the runtime, as whoever calls in the daemon is one.
    let rounds = ours.spawn(rounds(here, apart, other.handle().clone()));
    let [task, in_process, child] = ours.block_on(rounds)??;
    Ok(json!({
        "task_us": middle(task),
        "in_process_us": middle(in_process),
        "child_us": middle(child),
    }))
}

async fn rounds(
    here: Arc<PluginHost>,
    apart: Arc<PluginHost>,
    other: Handle,
) -> Result<[Vec<Duration>; 3]> {
    here.load_all().await;
    apart.load_all().await;
    let (here, apart) = (connect(&here).await?, connect(&apart).await?);
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        hand_over(&other, &mut times[0]).await?;
        send(here.as_ref(), &mut times[1]).await?;
        send(apart.as_ref(), &mut times[2]).await?;
    }
    Ok(times)
}

async fn connect(host: &PluginHost) -> Result<Box<dyn ChannelSession>> {
    let channel = host.find_channel(FIXTURE);
    let channel = channel.ok_or_else(|| format!("it did not load: {:?}", host.reports()))?;
    let request = ConnectRequest {
        session_id: "session".into(),
        channel: FIXTURE.into(),
        account: "default".into(),
        credentials: json!({}).into(),
        checkpoint: None,
    };
    let connected = channel.transport.connect(request).await;
    connected.map_err(|fault| format!("it did not connect: {}", fault.message).into())
}

/// The bytes go to a task of the other runtime, and the answer's bytes come back.
async fn hand_over(other: &Handle, times: &mut Vec<Duration>) -> Result<()> {
    let (request, answer) = (encode(&message()), encode(&accepted()));
    let told = |fault: Fault| fault.message;
    let (request, answer) = (request.map_err(told)?, answer.map_err(told)?);
    for number in 0..WARM_UP + CALLS_A_ROUND {
        let (request, answer) = (request.clone(), answer.clone());
        let begin = Instant::now();
        let task = async move {
            drop(request);
            answer
        };
        other.spawn(task).await?;
        if number >= WARM_UP {
            times.push(begin.elapsed());
        }
    }
    Ok(())
}

async fn send(session: &dyn ChannelSession, times: &mut Vec<Duration>) -> Result<()> {
    for number in 0..WARM_UP + CALLS_A_ROUND {
        let message = message();
        let begin = Instant::now();
        let outcome = session.send(message).await;
        let time = begin.elapsed();
        if outcome != accepted() {
            return Err(format!("it answered {outcome:?}").into());
        }
        if number >= WARM_UP {
            times.push(time);
        }
    }
    Ok(())
}

fn message() -> Outgoing {
    Outgoing {
        client_id: "1".into(),
        text: "x".repeat(TEXT_LENGTH),
        reply: None,
        recipient: Recipient { user: "ann".into(), group: None },
    }
}

/// What the fixture answers to it.
fn accepted() -> SendOutcome {
    SendOutcome::Accepted { receipt: Some("receipt-1".into()) }
}

fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
