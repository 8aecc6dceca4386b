//! Plugins over time: added, killed, replaced and withdrawn while the daemon runs.

use std::{collections::BTreeSet, fs, path::Path, process::Stdio, time::Duration};

use anyhow::{Context, Result, ensure};
use scv_e2e::scene::{Scene, answer_to};
use scv_protocol::{ComponentState, ControlCommand, PluginInfo, PluginState};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    sync::mpsc,
    time::timeout,
};
use xtask::harness::{Built, Scv, until};

use crate::plugins::{FIXTURE, credentials, plugin, with_fixture};

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(90);

fn library() -> std::path::PathBuf {
    Built::get().library("scv_channel_fixture")
}

/// Everything that the fixture sends, a text a line.
async fn sink() -> Result<(String, mpsc::Receiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let (sent, texts) = mpsc::channel(1_000);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let sent = sent.clone();
            tokio::spawn(async move {
                let mut lines = BufReader::new(stream).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let value: Value = serde_json::from_str(&line).unwrap_or_default();
                    let text = value["text"].as_str().unwrap_or_default().to_owned();
                    let _ = sent.send(text).await;
                }
            });
        }
    });
    Ok((address, texts))
}

fn configure(scene: &Scene, more: &str) -> Result<()> {
    let config = scv_e2e::scene::config(&scene.model);
    scene.write("config.toml", &format!("{config}\n{more}")).map(drop)
}

/// The fixture in a process of its own crashes: its account says so, the real one answers.
#[tokio::test]
async fn a_crash_in_a_process_of_its_own_is_told_and_ends_nothing_else() -> Result<()> {
    let scene = with_fixture(None, &credentials("next_batch:abort"))?;
    configure(&scene, "[plugins.fixture]\nisolation = \"process\"\n")?;
    let mut daemon = scene.connected().await?;
    let crashed = |error: &Option<String>| {
        error.as_ref().is_some_and(|error| error.contains("signal 6 (SIGABRT)"))
    };
    let failed = daemon.component(FIXTURE, SOON, |shown| crashed(&shown.error)).await?;
    assert_eq!(failed.isolation.as_deref(), Some("process"));
    assert_eq!(plugin(&daemon, "fixture").await?.isolation, "process");
    scene.ilink.push_message(scv_simulators::ilink::OWNER, "still here");
    let shown = scene.ilink.wait_visible(scv_simulators::ilink::OWNER, 1, SOON).await;
    assert_eq!(shown.with_context(|| daemon.log())?, [answer_to("still here")]);
    assert!(daemon.terminate().await?.success(), "{}", daemon.log());
    Ok(())
}

/// A daemon that is killed while it loads a plugin does not make the plugin's account deaf.
#[tokio::test]
async fn a_daemon_killed_while_it_loads_comes_back_with_every_account() -> Result<()> {
    let scene = with_fixture(Some("create:hang"), &credentials(""))?;
    for _ in 0..2 {
        let mut daemon = scene.daemon().await?;
        let marks = scene.home.scv_home().join("cache/plugins");
        until("the fixture is being loaded", SOON, async || {
            Ok(marks_in(&marks).is_some_and(|count| count > 0).then_some(()))
        })
        .await?;
        daemon.kill().await?;
        configure(&scene, "")?;
    }
    let mut daemon = scene.daemon().await?;
    daemon.component(FIXTURE, SOON, |c| c.state == ComponentState::Connected).await?;
    assert_eq!(plugin(&daemon, "fixture").await?.state, PluginState::Loaded);
    assert!(daemon.terminate().await?.success(), "{}", daemon.log());
    Ok(())
}

fn marks_in(folder: &Path) -> Option<usize> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let is_mark = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".loading");
    Some(entries.filter(|entry| is_mark(&entry.file_name())).count())
}

/// Messages flow while the file is overwritten, truncated and replaced, and other bytes take
/// over: each is answered, once.
#[tokio::test]
async fn a_new_file_takes_over_while_messages_flow_and_loses_none() -> Result<()> {
    const MESSAGES: usize = 40;
    let (address, mut texts) = sink().await?;
    let message = |n: usize| json!({"id": format!("m{n}"), "sender": format!("p{n}"), "text": format!("message {n}")});
    let script = json!({
        "bot_id": "b", "owner_id": "o", "sink": address,
        "messages": (0..MESSAGES).map(message).collect::<Vec<_>>(),
    });
    let scene = with_fixture(None, &script)?;
    let mut daemon = scene.daemon().await?;
    let file = scene.home.plugins().join(library().file_name().context("it has a name")?);
    let bytes = fs::read(&file)?;
    let before = plugin(&daemon, "fixture").await?.sha256;
    let mut got = BTreeSet::new();
    for round in 0..4 {
        let text = timeout(SOON, texts.recv()).await?.context("the sink is open")?;
        ensure!(got.insert(text.clone()), "{text:?} came twice");
        match round {
            0 => fs::write(&file, &bytes[..bytes.len() / 2])?,
            1 => fs::write(&file, b"no library at all")?,
            _ => fs::write(&file, [&bytes[..], format!("version {round}").as_bytes()].concat())?,
        }
        daemon.control(ControlCommand::Reload).await?;
        let now = plugin(&daemon, "fixture").await?;
        let (state, is_new) = (now.state, now.sha256 != before);
        match round {
            0 | 1 => assert_eq!((state, is_new), (PluginState::Stale, false), "{now:?}"),
            _ => assert_eq!((state, is_new), (PluginState::Loaded, true), "{now:?}"),
        }
    }
    while got.len() < MESSAGES {
        let text = timeout(SOON, texts.recv()).await;
        let text = text.with_context(|| format!("{} came\n{}", got.len(), daemon.log()))?;
        let text = text.context("the sink is open")?;
        ensure!(got.insert(text.clone()), "{text:?} came twice");
    }
    assert!(daemon.terminate().await?.success(), "{}", daemon.log());
    assert!(texts.try_recv().is_err(), "nothing came twice");
    Ok(())
}

/// A process, and when it began: the number alone may be another one's later.
struct Running {
    id: String,
    began: String,
}

/// The processes that this one started and that have not ended.
fn children_of(parent: &str) -> Result<Vec<Running>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")?.filter_map(Result::ok) {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // Behind the name in brackets: state, parent, …, and the start as the 20th.
        let fields: Vec<_> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        if let [state, of, ..] = fields[..]
            && of == parent
            && state != "Z"
        {
            let id = entry.file_name().to_string_lossy().into_owned();
            let began = fields.get(19).copied().unwrap_or_default().to_owned();
            children.push(Running { id, began });
        }
    }
    Ok(children)
}

impl Running {
    fn has_ended(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id)).unwrap_or_default();
        let fields: Vec<_> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        fields.first() == Some(&"Z") || fields.get(19).copied() != Some(self.began.as_str())
    }
}

/// The system ends a plugin's process when the daemon could not.
#[tokio::test]
async fn a_daemon_that_is_killed_leaves_no_process_of_a_plugin() -> Result<()> {
    let scene = with_fixture(None, &credentials(""))?;
    configure(&scene, "[plugins.fixture]\nisolation = \"process\"\n")?;
    let mut daemon = scene.daemon().await?;
    daemon.component(FIXTURE, SOON, |c| c.state == ComponentState::Connected).await?;
    let children = children_of(&daemon.pid().as_raw_nonzero().to_string())?;
    ensure!(!children.is_empty(), "the plugin has a process");
    daemon.kill().await?;
    until("all of them have ended", SOON, async || {
        Ok(children.iter().all(Running::has_ended).then_some(()))
    })
    .await
}

fn json_of(output: &str) -> Result<Value> {
    serde_json::from_str(output).with_context(|| output.to_owned())
}

/// What a person does with a plugin that somebody gave them.
#[tokio::test]
async fn a_plugin_is_added_serves_from_its_own_process_and_goes() -> Result<()> {
    let scene = Scene::new()?;
    let (address, mut texts) = sink().await?;
    let mut with_sink = credentials("");
    with_sink["sink"] = json!(address);
    scene.write("channels/fixture/accounts/default.json", &with_sink.to_string())?;
    let mut daemon = scene.daemon().await?;
    let scv = async |arguments: &[&str]| Scv::on(&scene.home).run(arguments).await;

    let library = library().display().to_string();
    let mistyped = library.replace("channel_fixture", "chanel_fixture");
    let advice = scv(&["plugins", "add", &mistyped]).await?;
    assert_eq!(advice.code, Some(1), "{}", advice.stderr);
    assert!(advice.stderr.contains("there is no file"), "{}", advice.stderr);
    assert!(advice.stderr.contains("did you mean "), "{}", advice.stderr);

    let added = scv(&["plugins", "add", &library, "--json"]).await?.success()?;
    let added: PluginInfo = serde_json::from_str(&added.stdout)?;
    assert_eq!((added.state, added.isolation.as_str()), (PluginState::Loaded, "process"));
    let text = timeout(SOON, texts.recv()).await?.context("the sink is open")?;
    assert_eq!(text, answer_to("to the fixture"));

    let log = scv(&["logs", "--plugin", "fixture"]).await?.success()?;
    assert!(
        log.stdout.contains("plugin fixture: scv_channel_fixture: connected"),
        "{}",
        log.stdout
    );

    let checked = scv(&["plugins", "check", "fixture", "--json"]).await?.success()?;
    let steps = json_of(&checked.stdout)?["steps"].clone();
    let names: Vec<_> = steps.as_array().context("steps")?.iter().map(|s| &s["step"]).collect();
    let all =
        ["find", "trust", "read", "inspect", "pin", "conflict", "copy", "probe", "load", "create"];
    assert_eq!(names, all);
    let mut checked = Scv::on(&scene.home).command(["plugins", "check", "fixture"]);
    checked.env("LD_LIBRARY_PATH", "/nowhere");
    let warned = Scv::finish(checked, "").await?.success()?.stdout;
    assert!(warned.contains("warn  LD_LIBRARY_PATH is set"), "{warned}");

    let off = scv(&["plugins", "disable", "fixture"]).await?.success()?;
    assert!(off.stdout.contains("switched off: disabled"), "{}", off.stdout);
    let orphan = daemon.component(FIXTURE, SOON, |shown| shown.plugin.is_none()).await?;
    assert_eq!(orphan.state, ComponentState::Stopped);
    scv(&["plugins", "enable", "fixture"]).await?.success()?;
    daemon.component(FIXTURE, SOON, |c| c.state == ComponentState::Connected).await?;
    scv(&["plugins", "remove", "fixture"]).await?.success()?;
    daemon.component(FIXTURE, SOON, |shown| shown.plugin.is_none()).await?;
    let listed = scv(&["plugins", "list", "--json"]).await?.success()?;
    assert!(!listed.stdout.contains("libscv_channel_fixture"), "{}", listed.stdout);
    assert!(daemon.terminate().await?.success(), "{}", daemon.log());
    Ok(())
}

/// A sign-in of a plugin that was added runs in a child, too.
#[tokio::test]
async fn a_sign_in_with_an_added_plugin_asks_and_saves() -> Result<()> {
    let scene = Scene::new()?;
    let library = library().display().to_string();
    Scv::on(&scene.home).run(["plugins", "add", &library]).await?.success()?;
    let credentials = json!({"bot_id": "b", "owner_id": "o"}).to_string();
    let arguments = ["channels", "login", "fixture", "--credentials", &credentials];
    let mut login = Scv::on(&scene.home).command(arguments).stdin(Stdio::piped()).spawn()?;
    login.stdin.take().context("it was asked for")?.write_all(b"ann\n").await?;
    let output = timeout(SOON, login.wait_with_output()).await??;
    let saved = scene.home.scv_home().join("channels/fixture/accounts/default.json");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(json_of(&fs::read_to_string(saved)?)?["bot_id"], "b");
    Ok(())
}
