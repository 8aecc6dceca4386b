//! Secrets stay where they belong: whatever goes wrong, no log, status, error, chat, command line
//! or tool tells one.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use scv_e2e::scene::{SOON, Scene, account, answer_to};
use scv_simulators::{
    ilink::{Endpoint, Fault, OWNER},
    model::Answer,
};
use serde_json::json;
use xtask::harness::{Daemon, Options, Scv};

const KEY: &str = "canary-key-4f1c09";
const SPARE_KEY: &str = "canary-spare-key-77aa";
const HEADER: &str = "canary-header-9b2e";
/// About as long as real ones.
const CONTEXT_TOKEN: &str =
    "canary-context-token-1d3f0a2b4c6d8e9f1d3f0a2b4c6d8e9f1d3f0a2b4c6d8e9f1d3f0a2b4c6d8e9f";
/// The simulator's first code.
const QR_HANDLE: &str = "sim-qr-handle-1";
/// What people write is theirs: the log does not repeat it.
const WORDS: &str = "canary-words-e5e5";

/// One provider whose key comes from the environment and one whose key is written down.
fn config(scene: &Scene) -> String {
    let base_url = scene.model.base_url();
    format!(
        "[provider]\nactive = \"simulator\"\n\n[providers.simulator]\nwire_api = \"chat\"\n\
         model = \"simulated\"\nbase_url = \"{base_url}\"\napi_key_env = \"CANARY_API_KEY\"\n\
         max_retries = 0\nheaders = {{ \"X-Canary\" = \"{HEADER}\" }}\n\n\
         [providers.spare]\nmodel = \"other\"\nbase_url = \"{base_url}\"\napi_key = \"{SPARE_KEY}\"\n"
    )
}

/// Signs in on the command line and gives all that it printed, the link aside.
async fn sign_in(scene: &Scene) -> Result<String> {
    scene.ilink.approve();
    let url = scene.ilink.base_url();
    let mut login = Scv::on(&scene.home).command(["channels", "login", "--plugin-dir"]);
    login.arg(scene.home.plugins()).args(["wechat", "--login-url", &url]);
    let output = login.env("SCV_LOG", "trace").output().await?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let is_link = |line: &&str| line.starts_with("https://") && line.contains(QR_HANDLE);
    anyhow::ensure!(printed.lines().any(|line| is_link(&line)), "no link\n{printed}");
    Ok(printed.lines().filter(|line| !is_link(line)).collect::<Vec<_>>().join("\n"))
}

fn message(number: u64, text: &str) -> String {
    json!({
        "message_id": 7_000_000_000_000_000_000_u64 + number, "from_user_id": OWNER,
        "create_time_ms": 1_790_000_000_000_u64 + number, "message_type": 1, "message_state": 2,
        "item_list": [{"type": 1, "text_item": {"text": text}}],
        "context_token": format!("{CONTEXT_TOKEN}-{number}"),
    })
    .to_string()
}

/// A tool that shows its environment and every command line that has to do with this home.
fn look_around() -> [Answer; 1] {
    let command = "env; for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done 2>/dev/null \
                   | grep -F \"${SCV_HOME%/scv}/\"";
    [Answer::tool_call("call_1", "bash", &json!({"command": command}))]
}

/// Everything that can go wrong with a body that repeats secrets.
async fn provoke(scene: &Scene, daemon: &Daemon, token: &str) -> Result<()> {
    let echo = format!("{token} {CONTEXT_TOKEN}-3 https://a.example/?qrcode={QR_HANDLE}");
    let refusal = json!({"ret": -2, "errmsg": format!("prepare failed {echo}")}).to_string();
    let wrong_key = json!({"error": {"message": format!("wrong key {KEY} or {HEADER}")}});
    scene.model.on("fail", [Answer::status(401, wrong_key.to_string())]);
    for (number, text) in [(2, "fail"), (3, "be refused"), (4, WORDS)] {
        if text == "be refused" {
            scene.ilink.push_send(200, &refusal);
        }
        scene.ilink.push_raw(message(number, text));
        account(daemon, |c| c.running == Some(0) && c.waiting == Some(0)).await?;
        scene.ilink.wait_sends(usize::try_from(number)?, SOON).await?;
    }
    for fault in [
        Fault::Answer(500, echo.clone()),
        Fault::Answer(200, refusal.clone()),
        Fault::Answer(200, format!("[\"{echo}\"]")),
        Fault::HangupBefore,
    ] {
        let polls = scene.ilink.requests(Endpoint::GetUpdates).len();
        scene.ilink.fault_next(Endpoint::GetUpdates, fault);
        // Ends the poll that is held.
        scene.ilink.push_raw(message(100 + polls as u64, "go on"));
        scene.ilink.wait_polls(polls + 2, SOON).await?;
    }
    scene.ilink.sign_out(true);
    account(daemon, |component| component.signed_out == Some(true)).await?;
    Ok(())
}

/// All that a person or a program may come to see, with what it is.
async fn shown(scene: &Scene, daemon: &Daemon) -> Result<Vec<(&'static str, String)>> {
    let scv = Scv::on(&scene.home);
    let mut commands = String::new();
    for words in [
        &["status"][..],
        &["status", "--json"],
        &["channels", "status"],
        &["channels", "status", "--json"],
        &["channels", "run", "wechat", "--workspace", "/absent"],
        &["plugins", "list", "--json"],
        &["reload"],
    ] {
        let output = scv.run(words).await?;
        write!(commands, "{}{}", output.stdout, output.stderr)?;
    }
    let chat = scene.ilink.sent().into_iter().map(|sent| sent.text + "\n").collect();
    Ok(vec![("the log", daemon.log()), ("a command", commands), ("a chat", chat)])
}

#[tokio::test]
async fn secrets_are_told_to_nobody() -> Result<()> {
    let scene = Scene::new()?;
    scene.write("config.toml", &config(&scene))?;
    scene.grant_tools()?;
    let login = sign_in(&scene).await?;
    let token = scene.ilink.credentials().token;
    let environment =
        [("CANARY_API_KEY", KEY), ("SCV_LOG", "trace")].map(|(k, v)| (k.into(), v.into()));
    let options = Options { environment: environment.to_vec(), ..Options::default() };
    scene.model.on("look around", look_around());
    scene.ilink.push_raw(message(1, "look around"));
    let mut daemon = Daemon::spawn(&scene.home, &options).await?;
    let seen = scene.ilink.wait_visible(OWNER, 1, SOON).await?;
    // The tool ran, and saw this daemon among the command lines.
    assert!(seen[0].contains("SCV_HOME=") && seen[0].contains("--plugin-dir"), "{seen:?}");
    provoke(&scene, &daemon, &token).await?;

    let mut places = shown(&scene, &daemon).await?;
    places.push(("the sign-in", login));
    let secrets = [&token, KEY, SPARE_KEY, HEADER, CONTEXT_TOKEN, QR_HANDLE];
    for (place, text) in &places {
        for secret in secrets {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{place} tells {secret}");
        }
    }
    let log = &places[0].1;
    assert!(!log.contains(WORDS), "the log repeats what people write");
    assert!(scene.ilink.visible(OWNER).contains(&answer_to(WORDS)) || places[2].1.contains(WORDS));
    // The provider did get its key: the test can fail.
    let request = scene.model.requests().into_iter().next().context("a request")?;
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.header("x-canary"), Some(HEADER));
    daemon.terminate().await?;
    Ok(())
}
