//! What the person at the machine sees of an account and does with it.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use scv_e2e::scene::{SOON, Scene, account, answer_to};
use scv_simulators::ilink::OWNER;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use xtask::harness::{Daemon, Scv};

async fn scv(scene: &Scene, words: &[&str]) -> Result<String> {
    Ok(Scv::on(&scene.home).run(words).await?.success()?.stdout)
}

/// A daemon whose account has one refused reply.
async fn with_a_refused_reply(scene: &Scene) -> Result<Daemon> {
    scene.ilink.push_send(200, r#"{"ret":-2,"errmsg":"prepare failed"}"#);
    let daemon = scene.connected().await?;
    scene.ilink.push_message(OWNER, "first");
    account(&daemon, |component| component.held == Some(1)).await?;
    Ok(daemon)
}

#[tokio::test]
async fn status_tells_what_waits_and_why() -> Result<()> {
    let scene = Scene::signed_in()?;
    let _daemon = with_a_refused_reply(&scene).await?;
    let text = scv(&scene, &["channels", "status", "wechat"]).await?;
    for part in [
        "wechat:default  connected for ",
        "contact   ",
        "last in ",
        "0 running, 0 waiting",
        "0 pending, 1 held, 0 without a receipt",
        "code -2: prepare failed: ",
        "restarts  0",
    ] {
        ensure!(text.contains(part), "no {part:?} in\n{text}");
    }
    ensure!(!text.contains(&answer_to("first")), "{text}");
    Ok(())
}

/// Each change is a line; the first comes at once.
#[tokio::test]
async fn status_can_be_watched() -> Result<()> {
    let scene = Scene::signed_in()?;
    let _daemon = scene.connected().await?;
    let words = ["channels", "status", "wechat", "--watch", "--json"];
    let mut watch = Scv::on(&scene.home).command(words).spawn()?;
    let mut lines = BufReader::new(watch.stdout.take().context("stdout")?).lines();
    let mut until_state = async |state: &str| -> Result<()> {
        let seen = async {
            while let Some(line) = lines.next_line().await? {
                let shown: Value = serde_json::from_str(&line)?;
                ensure!(shown.as_object().is_some_and(|shown| shown.len() == 2), "{line}");
                if shown["components"][0]["state"] == state {
                    return Ok(());
                }
            }
            anyhow::bail!("the watch ended before {state}")
        };
        tokio::time::timeout(SOON, seen).await.with_context(|| format!("never {state}"))?
    };
    until_state("connected").await?;
    scv(&scene, &["channels", "stop", "wechat"]).await?;
    until_state("disabled").await?;
    watch.kill().await?;
    Ok(())
}

#[tokio::test]
async fn held_replies_are_listed_shown_and_dropped() -> Result<()> {
    let scene = Scene::signed_in()?;
    let mut daemon = with_a_refused_reply(&scene).await?;
    let listed = scv(&scene, &["channels", "held", "wechat"]).await?;
    ensure!(listed.contains(OWNER) && !listed.contains(&answer_to("first")), "{listed}");
    let shown = scv(&scene, &["channels", "held", "wechat", "--show", "--json"]).await?;
    let shown: Value = serde_json::from_str(&shown)?;
    assert_eq!(shown[0]["text"], answer_to("first"));
    assert_eq!(shown[0]["bytes"], answer_to("first").len());

    let unknown = Scv::on(&scene.home).run(["channels", "held", "wechat", "--drop", "x"]).await?;
    assert_eq!(unknown.code, Some(1), "{}", unknown.stdout);
    let dropped = scv(&scene, &["channels", "held", "wechat", "--drop", "all"]).await?;
    ensure!(dropped.contains("dropped 1") && dropped.contains("no reply is held"), "{dropped}");
    scene.ilink.push_message(OWNER, "second");
    assert_eq!(scene.ilink.wait_visible(OWNER, 1, SOON).await?, [answer_to("second")]);
    let state = scene.stop(&mut daemon).await?;
    ensure!(state["held"].is_null(), "{state}");
    Ok(())
}

/// A message to the owner is durable before the command ends, and goes out once.
#[tokio::test]
async fn send_outlives_the_daemon() -> Result<()> {
    let scene = Scene::signed_in()?;
    let mut daemon = scene.connected().await?;
    scv(&scene, &["channels", "send", "wechat", "the build is green"]).await?;
    assert_eq!(scene.ilink.wait_visible(OWNER, 1, SOON).await?, ["the build is green"]);
    assert_eq!(scene.ilink.sent()[0].context_token, None, "it answers nothing");

    scene.ilink.outage(true);
    let mut send = Scv::on(&scene.home).command(["channels", "send", "wechat", "-"]);
    let mut child = send.stdin(Stdio::piped()).spawn()?;
    child.stdin.take().context("stdin")?.write_all("and so\nis 测试".as_bytes()).await?;
    let output = tokio::time::timeout(SOON, child.wait_with_output()).await??;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    daemon.kill().await?;
    scene.ilink.outage(false);
    let mut daemon = scene.daemon().await?;
    let shown = scene.ilink.wait_visible(OWNER, 2, SOON).await?;
    assert_eq!(shown[1], "and so\nis 测试");
    let state = scene.stop(&mut daemon).await?;
    ensure!(state["pending"].is_null() && state["held"].is_null(), "{state}");
    assert_eq!(scene.ilink.visible(OWNER).len(), 2);
    assert_eq!(scene.ilink.violations(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn send_needs_an_owner_and_words() -> Result<()> {
    let scene = Scene::new()?;
    let credentials = scene.ilink.credentials();
    let ownerless = format!(
        r#"{{"token":"{}","base_url":"{}","bot_id":"{}"}}"#,
        credentials.token, credentials.base_url, credentials.bot_id
    );
    scene.write("channels/wechat/accounts/default.json", &ownerless)?;
    let mut daemon = scene.connected().await?;
    let scv = Scv::on(&scene.home);
    let nobody = scv.run(["channels", "send", "wechat", "hello?"]).await?;
    assert_eq!(nobody.code, Some(1), "{}", nobody.stdout);
    ensure!(nobody.stderr.contains("no known owner"), "{}", nobody.stderr);
    let nothing = scv.run(["channels", "send", "wechat", " "]).await?;
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
    scene.stop(&mut daemon).await?;
    assert_eq!(scene.ilink.sent(), []);
    Ok(())
}
