//! The daemon's log: what it tells, and that the work goes on when nobody can take it.

use std::{
    io::{ErrorKind, PipeWriter, Write},
    process::Stdio,
};

use anyhow::{Context, Result};
use rustix::{
    fs::{OFlags, fcntl_setfl},
    process::{Pid, Signal, kill_process},
};
use scv_e2e::scene::{SOON, Scene, answer_to};
use scv_simulators::ilink::OWNER;
use xtask::harness::until;

#[tokio::test]
async fn it_tells_what_is_served_and_each_connect_once() -> Result<()> {
    const CONNECTED: &str = r#"connected channel="wechat" account="default""#;
    let scene = Scene::signed_in()?;
    let mut daemon = scene.connected().await?;
    let told = until("the connect is told", SOON, async || {
        Ok(Some(daemon.log()).filter(|log| log.contains(CONNECTED)))
    });
    let log = told.await?;
    for part in [r#"provider="simulator" model="simulated""#, r#"accounts="wechat:default""#] {
        assert!(log.contains(part), "{log}");
    }
    scene.stop(&mut daemon).await?;
    assert_eq!(daemon.log().matches(CONNECTED).count(), 1, "{}", daemon.log());
    Ok(())
}

/// Loses contact and finds it again, answers a message, and ends when it is asked to; each is
/// worth a line in the log.
async fn works(stderr: impl Into<Stdio>) -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.ilink.push_poll_answer(500, "out of order");
    let mut child = scene
        .home
        .command(scene.home.program())
        .args(["run", "--plugin-dir"])
        .arg(scene.home.plugins())
        .env("SCV_LOG", "trace")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()?;
    scene.ilink.push_message(OWNER, "still there?");
    let shown = scene.ilink.wait_visible(OWNER, 1, SOON).await?;
    assert_eq!(shown, [answer_to("still there?")]);
    let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    kill_process(pid.context("it runs")?, Signal::TERM)?;
    let status = tokio::time::timeout(SOON, child.wait()).await.context("it does not end")??;
    assert!(status.success(), "{status}");
    Ok(())
}

#[tokio::test]
async fn a_reader_that_has_gone() -> Result<()> {
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    works(writer).await
}

/// As after Ctrl+S in a terminal: whoever writes would wait.
#[tokio::test]
async fn a_reader_that_does_not_read() -> Result<()> {
    let (reader, writer) = std::io::pipe()?;
    works(full(writer)?).await?;
    drop(reader);
    Ok(())
}

/// Fills a pipe to its last byte, so that the next write waits.
fn full(mut pipe: PipeWriter) -> Result<PipeWriter> {
    fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
    for size in [4096, 1] {
        loop {
            match pipe.write(&vec![b'.'; size]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
    }
    fcntl_setfl(&pipe, OFlags::empty())?;
    Ok(pipe)
}
