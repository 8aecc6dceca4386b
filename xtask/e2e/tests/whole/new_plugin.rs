//! A plugin of somebody else, from `cargo xtask new-plugin` to an answer through the daemon.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use scv_e2e::scene::{SOON, Scene, answer_to};
use scv_protocol::ComponentState;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf},
    time::timeout,
};
use xtask::{harness::Scv, new_plugin, workspace::Workspace};

/// Built with cargo alone, in a folder outside of the repository. Its artifacts are kept between
/// runs, beside those of the tree.
fn built(folder: &Path, name: &str) -> Result<PathBuf> {
    let workspace = Workspace::load()?;
    new_plugin::create(&workspace, name, folder)?;
    let target = workspace.target.join("new-plugin");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .status()?;
    ensure!(status.success(), "cargo build: {status}");
    Ok(target.join(format!("debug/libscv_channel_{name}.so")))
}

async fn line(lines: &mut Lines<BufReader<OwnedReadHalf>>) -> Result<Value> {
    let line = timeout(SOON, lines.next_line()).await??.context("the plugin hung up")?;
    Ok(serde_json::from_str(&line)?)
}

#[tokio::test]
async fn a_new_plugin_answers_through_the_daemon() -> Result<()> {
    let outside = tempfile::tempdir()?;
    let library = built(&outside.path().join("crate"), "letters")?;
    let scene = Scene::new()?;
    let scv = Scv::on(&scene.home);
    let tested = scv.run(["plugins".as_ref(), "test".as_ref(), library.as_os_str()]).await?;
    let tested = tested.success()?;
    for case in ["load", "garbage", "no-credentials", "shutdown", "leftovers", "stdout"] {
        ensure!(tested.stdout.contains(&format!("ok    {case}\n")), "{case}: {}", tested.stdout);
    }
    let text = outside.path().join("crate/Cargo.toml");
    let none = scv.run(["plugins".as_ref(), "test".as_ref(), text.as_os_str()]).await?;
    ensure!(none.code == Some(1) && none.stdout.contains("FAIL  load: "), "{}", none.stdout);
    scv.run(["plugins".as_ref(), "add".as_ref(), library.as_os_str()]).await?.success()?;

    let platform = TcpListener::bind("127.0.0.1:0").await?;
    let address = platform.local_addr()?.to_string();
    let login = ["channels", "login", "letters", "--address", &address];
    let signed_in = scv.run_with_input(login, "ann\ntoken-1\n").await?.success()?;
    ensure!(signed_in.stdout.contains(&address), "{}", signed_in.stdout);

    let mut daemon = scene.daemon().await?;
    let (stream, _): (TcpStream, _) = timeout(SOON, platform.accept()).await??;
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    assert_eq!(line(&mut lines).await?["token"], "token-1");
    let message = json!({ "id": "1", "from": "ann", "text": "hello" });
    write.write_all(format!("{{\"welcome\":true}}\n{message}\n").as_bytes()).await?;
    daemon.component("letters:default", SOON, |c| c.state == ComponentState::Connected).await?;
    assert_eq!(line(&mut lines).await?, json!({ "ack": "1" }));
    let reply = line(&mut lines).await?;
    assert_eq!((&reply["reply_to"], &reply["text"]), (&json!("1"), &json!(answer_to("hello"))));
    ensure!(daemon.terminate().await?.success(), "{}", daemon.log());
    Ok(())
}
