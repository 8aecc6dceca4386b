//! Plugins that misbehave, and files that are none: the daemon and the other channels live on.

use std::{ffi::OsString, path::Path};

use anyhow::{Context, Result};
use scv_e2e::scene::{SOON, Scene, account, answer_to, copy_with_mode};
use scv_protocol::{ComponentState, ControlCommand, PluginInfo, PluginState};
use scv_simulators::ilink::OWNER;
use serde_json::{Value, json};
use xtask::harness::{Built, Daemon, Home, Scv, until};

pub(crate) const FIXTURE: &str = "fixture:default";

/// A scene with the fixture's library beside the real plugin, and an account of its.
pub(crate) fn with_fixture(setting: Option<&str>, credentials: &Value) -> Result<Scene> {
    let scene = Scene::signed_in()?;
    scene.home.add_plugin(&Built::get().library("scv_channel_fixture"))?;
    if let Some(fault) = setting {
        let config = scv_e2e::scene::config(&scene.model);
        let settings = format!("\n[plugins.fixture.settings]\nfault = \"{fault}\"\n");
        scene.write("config.toml", &(config + &settings))?;
    }
    scene.write("channels/fixture/accounts/default.json", &credentials.to_string())?;
    Ok(scene)
}

pub(crate) fn credentials(fault: &str) -> Value {
    json!({
        "bot_id": "b",
        "owner_id": "o",
        "fault": fault,
        "messages": [{"id": "m1", "sender": "o", "text": "to the fixture"}],
    })
}

/// Whatever the fixture does: the real account answers, and the daemon ends in an orderly way.
async fn lives_on(scene: &Scene, daemon: &mut Daemon, text: &str) -> Result<()> {
    scene.ilink.push_message(OWNER, text);
    let shown = scene.ilink.wait_visible(OWNER, 1, SOON).await.with_context(|| daemon.log())?;
    assert_eq!(shown, [answer_to(text)]);
    assert!(daemon.terminate().await?.success(), "{}", daemon.log());
    Ok(())
}

#[tokio::test]
async fn a_panic_in_each_entry_ends_nothing_else() -> Result<()> {
    for place in ["inspect", "connect", "next_batch"] {
        let scene = with_fixture(None, &credentials(&format!("{place}:panic")))?;
        let mut daemon = scene.connected().await?;
        let failed = daemon.component(FIXTURE, SOON, |shown| shown.error.is_some()).await?;
        assert_ne!(failed.state, ComponentState::Connected, "{place}");
        lives_on(&scene, &mut daemon, place).await.context(place)?;
    }
    // A send that panics is tried again; the account stays connected. Nobody asks a session's
    // `call` yet: that panic is tested in host/plugins/tests/room/faults.rs.
    for place in ["send", "close", "drop_session"] {
        let scene = with_fixture(None, &credentials(&format!("{place}:panic")))?;
        let mut daemon = scene.connected().await?;
        daemon.component(FIXTURE, SOON, |c| c.state == ComponentState::Connected).await?;
        until("the fixture's turn", SOON, async || {
            Ok((scene.model.turns("to the fixture") == 1).then_some(()))
        })
        .await?;
        lives_on(&scene, &mut daemon, place).await.context(place)?;
    }
    for place in ["create", "drop"] {
        let scene = with_fixture(Some(&format!("{place}:panic")), &credentials(""))?;
        let mut daemon = scene.connected().await?;
        if place == "create" {
            let refused = plugin(&daemon, "fixture").await?;
            assert_eq!(
                (refused.state, refused.step.as_deref()),
                (PluginState::Refused, Some("create"))
            );
        }
        lives_on(&scene, &mut daemon, place).await.context(place)?;
    }
    Ok(())
}

pub(crate) fn login_arguments(scene: &Scene) -> Vec<OsString> {
    let mut arguments = vec!["channels".into(), "login".into(), "--plugin-dir".into()];
    arguments.push(scene.home.plugins().into());
    arguments.extend(["fixture", "--account", "new"].map(OsString::from));
    arguments
}

/// A sign-in runs in the process of the command: it fails there and says so.
#[tokio::test]
async fn a_panic_in_a_sign_in_is_an_error_text() -> Result<()> {
    let scene = with_fixture(Some("login:panic"), &credentials(""))?;
    let output = Scv::on(&scene.home).run(login_arguments(&scene)).await?;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    Ok(())
}

pub(crate) async fn plugin(daemon: &Daemon, name: &str) -> Result<PluginInfo> {
    let found = until("the plugin is listed", SOON, async || {
        let status = daemon.control(ControlCommand::Plugins).await?;
        Ok(status.plugins.unwrap_or_default().into_iter().find(|plugin| plugin.name == name))
    });
    found.await
}

/// Makes one bad file beside the real plugin; the text names what is wrong with it.
async fn bad_file(make: impl FnOnce(&Home, &Path) -> Result<()>, word: &str) -> Result<()> {
    let scene = Scene::signed_in()?;
    make(&scene.home, &scene.home.plugins().join("libscv_channel_bad.so"))?;
    let mut daemon = scene.connected().await?;
    let bad = plugin(&daemon, "bad").await?;
    assert_eq!(bad.state, PluginState::Refused, "{bad:?}");
    let reason = bad.reason.clone().unwrap_or_default();
    assert!(reason.contains(word) && bad.fix.is_some(), "{bad:?}");
    let listed = Scv::on(&scene.home).run(["plugins", "list"]).await?.success()?;
    assert!(listed.stdout.contains("refused"), "{}", listed.stdout);
    lives_on(&scene, &mut daemon, "still here").await
}

fn real(home: &Home) -> std::path::PathBuf {
    home.plugins().join("libscv_channel_wechat.so")
}

#[tokio::test]
async fn a_text_file() -> Result<()> {
    bad_file(|_, path| Ok(std::fs::write(path, "hello, I am a plugin")?), "ELF").await
}

#[tokio::test]
async fn a_truncated_library() -> Result<()> {
    let cut = |home: &Home, path: &Path| -> Result<()> {
        let bytes = std::fs::read(real(home))?;
        Ok(std::fs::write(path, &bytes[..bytes.len() / 2])?)
    };
    bad_file(cut, "truncated: ").await
}

#[tokio::test]
async fn a_library_for_another_cpu() -> Result<()> {
    let other = |home: &Home, path: &Path| -> Result<()> {
        let mut bytes = std::fs::read(real(home))?;
        // e_machine of the ELF header: 183 is aarch64, 62 is x86-64.
        bytes[18] = if bytes[18] == 183 { 62 } else { 183 };
        Ok(std::fs::write(path, bytes)?)
    };
    bad_file(other, "CPU").await
}

#[tokio::test]
async fn a_library_that_is_no_plugin() -> Result<()> {
    let plain = |_: &Home, path: &Path| -> Result<()> {
        let source = path.with_extension("c");
        std::fs::write(&source, "int nothing(void) { return 0; }\n")?;
        let done = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(path)
            .arg(&source)
            .status()?;
        anyhow::ensure!(done.success(), "cc: {done}");
        Ok(std::fs::remove_file(source)?)
    };
    bad_file(plain, "not an scv channel plugin").await
}

#[tokio::test]
async fn a_symlink() -> Result<()> {
    let link = |home: &Home, path: &Path| Ok(std::os::unix::fs::symlink(real(home), path)?);
    bad_file(link, "symbolic link").await
}

#[tokio::test]
async fn a_file_that_others_can_write() -> Result<()> {
    bad_file(|home, path| copy_with_mode(&real(home), path, 0o666), "writable").await
}

/// The fixture's own path, so that the tests above test something: read, turn, send.
#[tokio::test]
async fn the_fixture_works_when_nothing_is_wrong() -> Result<()> {
    let sink = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let mut with_sink = credentials("");
    with_sink["sink"] = json!(sink.local_addr()?.to_string());
    let scene = with_fixture(None, &with_sink)?;
    let mut daemon = scene.connected().await?;
    let (stream, _) = tokio::time::timeout(SOON, sink.accept()).await??;
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(stream));
    let sent = tokio::time::timeout(SOON, lines.next_line()).await??.context("a line")?;
    assert!(sent.contains(&answer_to("to the fixture")), "{sent}");
    account(&daemon, |shown| shown.state == ComponentState::Connected).await?;
    lives_on(&scene, &mut daemon, "and WeChat").await
}
