//! Plays the platform to an official client: `feishu_clients [--direct] NAME PROGRAM
//! [ARGUMENT...]`. Used by `xtask/feishu-clients/run.sh`.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use scv_simulators::Feishu;
use scv_simulators::feishu::{APP, OWNER, SECRET};

/// Interpreters start slowly, and clients wait before they connect again.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_direct = arguments.next_if(|argument| argument == "--direct").is_some();
    let name = arguments.next().context("which client?")?;
    let program = arguments.next().context("which program?")?;
    let feishu = Feishu::start()?;
    if is_direct {
        feishu.direct_socket();
    }
    let mut client = tokio::process::Command::new(program)
        .args(arguments)
        .envs(feishu.environment())
        // The names that the HTTP libraries of the clients know.
        .env("REQUESTS_CA_BUNDLE", feishu.authority())
        .env("NODE_EXTRA_CA_CERTS", feishu.authority())
        .env("APP_ID", APP)
        .env("APP_SECRET", SECRET)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let played = play(&feishu).await;
    client.kill().await?;
    played.with_context(|| format!("{name} and the platform do not understand each other"))?;
    eprintln!("{name}: connected, received, acknowledged, connected again: as it should be");
    Ok(())
}

/// A message in one frame, a cut, a message in four frames.
async fn play(feishu: &Feishu) -> Result<()> {
    feishu.wait_pings(1, LIMIT).await.context("no connection")?;
    let first = feishu.push_message(OWNER, "hello, official client");
    feishu.wait_acks(1, LIMIT).await.context("no acknowledgement")?;
    feishu.cut();
    // The Python client says nothing on it until its next ping is due.
    feishu.wait_opened(2, LIMIT).await.context("no second connection")?;
    feishu.split(4);
    let second = feishu.push_message(OWNER, "hello again, in pieces");
    let acks = feishu.wait_acks(2, LIMIT).await.context("no second acknowledgement")?;
    for (ack, id) in acks.iter().zip([first, second]) {
        ensure!(ack.id == id && ack.code == Some(200), "{ack:?} is not that of {id}");
    }
    // The Node client rounds 64-bit numbers, and the Python one writes a short biz_rt: told, and
    // no failure, since the platform matches by the message_id header.
    for violation in feishu.violations() {
        eprintln!("(a strict platform would say: {violation})");
    }
    Ok(())
}
