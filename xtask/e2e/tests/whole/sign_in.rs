//! Signing in on the command line: every state that the platform knows.

use std::{process::Stdio, sync::Arc};

use anyhow::{Context, Result};
use scv_e2e::scene::{SOON, Scene, answer_to};
use scv_simulators::{
    cases::wechat_case,
    ilink::{BOT, Endpoint, Fault, OWNER},
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    process::Command,
    sync::Mutex,
};
use xtask::harness::{Output, Scv};

fn login(scene: &Scene) -> Command {
    let plugins = scene.home.plugins();
    let url = scene.ilink.base_url();
    let mut command = Scv::on(&scene.home).command(["channels", "login", "--plugin-dir"]);
    command.arg(plugins).args(["wechat", "--login-url", &url]);
    command
}

async fn finish(mut command: Command) -> Result<Output> {
    let output = tokio::time::timeout(SOON * 2, command.output()).await.context("no end")??;
    Ok(Output {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn saved(scene: &Scene) -> Option<Value> {
    let path = scene.home.scv_home().join("channels/wechat/accounts/default.json");
    Some(serde_json::from_slice(&std::fs::read(path).ok()?).expect("credentials are JSON"))
}

/// The whole of it: sign in while the daemon runs, write, get the answer, sign out.
#[tokio::test]
async fn from_the_code_to_the_answer() -> Result<()> {
    let scene = Scene::new()?;
    let daemon = scene.daemon().await?;
    scene.ilink.approve();
    scene.ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
    let output = finish(login(&scene)).await?.success()?;
    let text = output.stdout + &output.stderr;
    assert!(text.contains("https://liteapp.weixin.qq.com/q/") || text.contains("http"), "{text}");
    let token = scene.ilink.credentials().token;
    assert!(!text.contains(&token), "the token was printed");
    scv_e2e::scene::account(&daemon, |c| c.state == scv_protocol::ComponentState::Connected)
        .await?;
    scene.ilink.push_message(OWNER, "hello");
    assert_eq!(scene.ilink.wait_visible(OWNER, 1, SOON).await?, [answer_to("hello")]);
    assert!(!daemon.log().contains(&token), "the token was logged");
    Scv::on(&scene.home).run(["channels", "logout", "wechat"]).await?.success()?;
    assert_eq!(saved(&scene), None);
    Ok(())
}

#[tokio::test]
async fn qr_refresh() -> Result<()> {
    let scene = Scene::new()?;
    wechat_case("qr-refresh")?.script(&scene.ilink);
    finish(login(&scene)).await?.success()?;
    assert_eq!(scene.ilink.requests(Endpoint::GetBotQrcode).len(), 2, "one fresh code");
    assert_eq!(saved(&scene).context("credentials")?["bot_id"], BOT);
    Ok(())
}

/// Three fresh codes after the first, no more.
#[tokio::test]
async fn qr_refresh_ends() -> Result<()> {
    let scene = Scene::new()?;
    for _ in 0..6 {
        scene.ilink.push_qr(r#"{"ret":0,"status":"expired"}"#);
    }
    let output = finish(login(&scene)).await?;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert_eq!(scene.ilink.requests(Endpoint::GetBotQrcode).len(), 4);
    assert_eq!(saved(&scene), None);
    Ok(())
}

#[tokio::test]
async fn qr_verify() -> Result<()> {
    let scene = Scene::new()?;
    wechat_case("qr-verify")?.script(&scene.ilink);
    scene.ilink.approve();
    let mut command = login(&scene);
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("stdin")?;
    stdin.write_all(b"1234\n5678\n").await?;
    let output = tokio::time::timeout(SOON, child.wait_with_output()).await??;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let codes: Vec<_> = scene
        .ilink
        .requests(Endpoint::GetQrcodeStatus)
        .iter()
        .filter_map(|request| request.query_value("verify_code").map(str::to_owned))
        .collect();
    assert!(codes.iter().any(|code| code == "1234"), "{codes:?}");
    assert!(codes.iter().any(|code| code == "5678"), "{codes:?}");
    assert_eq!(scene.ilink.requests(Endpoint::GetBotQrcode).len(), 2, "blocked: a new code");
    assert_eq!(saved(&scene).context("credentials")?["user_id"], OWNER);
    Ok(())
}

/// The person has a bot already: good when its credentials are here, else the phone can free it.
#[tokio::test]
async fn qr_bound() -> Result<()> {
    let case = wechat_case("qr-bound")?;
    let nobody = Scene::new()?;
    case.script(&nobody.ilink);
    let output = finish(login(&nobody)).await?;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("remove the ClawBot connection"), "{}", output.stderr);
    assert_eq!(saved(&nobody), None);

    let known = Scene::signed_in()?;
    case.script(&known.ilink);
    let before = saved(&known);
    finish(login(&known)).await?.success()?;
    assert_eq!(saved(&known), before);
    Ok(())
}

/// Gateways that fail, and a connection that breaks, are no news: the code stays good.
#[tokio::test]
async fn trouble_while_waiting_is_no_news() -> Result<()> {
    let scene = Scene::new()?;
    for fault in [
        Fault::Answer(502, "<html>".into()),
        Fault::HangupBefore,
        Fault::HangupAfter,
        Fault::Answer(524, String::new()),
    ] {
        scene.ilink.fault_next(Endpoint::GetQrcodeStatus, fault);
    }
    scene.ilink.approve();
    finish(login(&scene)).await?.success()?;
    assert_eq!(scene.ilink.requests(Endpoint::GetBotQrcode).len(), 1, "the first code was kept");
    assert_eq!(saved(&scene).context("credentials")?["bot_id"], BOT);
    Ok(())
}

#[tokio::test]
async fn qr_confirmed_short() -> Result<()> {
    let scene = Scene::new()?;
    wechat_case("qr-confirmed-short")?.script(&scene.ilink);
    let output = finish(login(&scene)).await?;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert_eq!(saved(&scene), None);
    Ok(())
}

#[tokio::test]
async fn qr_unknown_status() -> Result<()> {
    let scene = Scene::new()?;
    wechat_case("qr-unknown-status")?.script(&scene.ilink);
    finish(login(&scene)).await?.success()?;
    let saved = saved(&scene).context("credentials")?;
    assert_eq!((&saved["bot_id"], &saved["token"]), (&BOT.into(), &"t".into()));
    Ok(())
}

/// A proxy that takes nobody anywhere and remembers where they wanted to go.
async fn dead_end() -> Result<(String, Arc<Mutex<Vec<String>>>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let wanted = Arc::new(Mutex::new(Vec::new()));
    let seen = wanted.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut line = String::new();
            let _ = BufReader::new(&mut stream).read_line(&mut line).await;
            seen.lock().await.push(line.trim_end().to_owned());
            let _ =
                stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    Ok((url, wanted))
}

#[tokio::test]
async fn qr_redirect_to_the_platform() -> Result<()> {
    let case = wechat_case("qr-redirect")?;
    let scene = Scene::new()?;
    let (proxy, wanted) = dead_end().await?;
    scene.ilink.push_qr(case.steps[0].qr.as_ref().context("a qr step")?.get());
    let mut child = login(&scene).env("HTTPS_PROXY", proxy).spawn()?;
    xtask::harness::until("the named host is polled", SOON, async || {
        let wanted = wanted.lock().await;
        Ok(wanted
            .iter()
            .any(|line| line == "CONNECT idc2.weixin.qq.com:443 HTTP/1.1")
            .then_some(()))
    })
    .await?;
    child.kill().await?;
    assert_eq!(saved(&scene), None);
    Ok(())
}

#[tokio::test]
async fn qr_redirect_elsewhere() -> Result<()> {
    let case = wechat_case("qr-redirect")?;
    let scene = Scene::new()?;
    let (proxy, wanted) = dead_end().await?;
    scene.ilink.push_qr(case.steps[1].qr.as_ref().context("a qr step")?.get());
    let mut command = login(&scene);
    command.env("HTTPS_PROXY", proxy);
    let output = finish(command).await?;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert_eq!(*wanted.lock().await, [""; 0], "nobody else is ever asked");
    Ok(())
}

#[tokio::test]
async fn qr_redirect_nowhere() -> Result<()> {
    let case = wechat_case("qr-redirect")?;
    let scene = Scene::new()?;
    scene.ilink.push_qr(case.steps[2].qr.as_ref().context("a qr step")?.get());
    scene.ilink.approve();
    finish(login(&scene)).await?.success()?;
    assert!(saved(&scene).is_some());
    Ok(())
}

/// Another person's bot needs a logout first; nothing that is stored is touched.
#[tokio::test]
async fn another_identity_is_refused() -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.ilink.push_qr(
        r#"{"ret":0,"status":"confirmed","bot_token":"t2","ilink_bot_id":"999999999999@im.bot","ilink_user_id":"other@im.wechat"}"#,
    );
    let before = saved(&scene);
    let output = finish(login(&scene)).await?;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("logout"), "{}", output.stderr);
    assert_eq!(saved(&scene), before);
    Ok(())
}
