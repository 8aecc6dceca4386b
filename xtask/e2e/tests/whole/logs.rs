//! `scv logs`: following one daemon after the other, and slips.

use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use scv_e2e::scene::{SOON, Scene};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader, Lines},
    time::timeout,
};
use xtask::harness::Scv;

/// Reads up to the line with these words.
async fn line_with<R: AsyncRead + Unpin>(
    lines: &mut Lines<BufReader<R>>,
    words: &str,
) -> Result<String> {
    let reading = async {
        while let Some(line) = lines.next_line().await? {
            if line.contains(words) {
                return Ok(Some(line));
            }
        }
        Ok::<_, std::io::Error>(None)
    };
    let line = timeout(SOON, reading).await.with_context(|| format!("no line with {words}"))??;
    line.with_context(|| format!("it ended without a line with {words}"))
}

#[tokio::test]
async fn following_goes_on_with_the_next_daemon_until_it_is_told_to_end() -> Result<()> {
    let scene = Scene::new()?;
    let mut daemon = scene.daemon().await?;
    let mut follow = Scv::on(&scene.home).command(["logs", "--follow"]).spawn()?;
    let mut stdout = BufReader::new(follow.stdout.take().context("a pipe")?).lines();
    let mut stderr = BufReader::new(follow.stderr.take().context("a pipe")?).lines();
    line_with(&mut stdout, &format!("pid={}", daemon.pid().as_raw_nonzero())).await?;

    daemon.terminate().await?;
    line_with(&mut stderr, "the daemon has ended").await?;
    let mut next = scene.daemon().await?;
    // Its first line, though it is not the first that this command shows.
    line_with(&mut stdout, &format!("pid={}", next.pid().as_raw_nonzero())).await?;

    let pid = follow.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    kill_process(pid.context("it runs")?, Signal::INT)?;
    let ended = timeout(Duration::from_secs(90), follow.wait()).await??;
    assert_eq!(ended.code(), Some(0));
    next.terminate().await.map(drop)
}

#[tokio::test]
async fn a_plugin_that_is_not_there_is_told_with_those_that_are() -> Result<()> {
    let scene = Scene::new()?;
    let mut daemon = scene.daemon().await?;
    let slip = Scv::on(&scene.home).run(["logs", "--plugin", "wechta"]).await?;
    assert_eq!(slip.code, Some(1), "{}", slip.stderr);
    assert!(slip.stderr.contains("no plugin 'wechta'"), "{}", slip.stderr);
    assert!(slip.stderr.contains("wechat"), "{}", slip.stderr);
    Scv::on(&scene.home).run(["logs", "--plugin", "wechat"]).await?.success()?;
    daemon.terminate().await.map(drop)
}
