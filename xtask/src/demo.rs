//! `cargo xtask demo`: the real program and plugins against platforms on loopback, from the
//! sign-in to a crash, in under a minute.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use scv_protocol::ComponentState;
use scv_simulators::{
    Feishu, Ilink, feishu,
    ilink::{OWNER, STRANGER},
};

use crate::{
    cargo::Profile,
    harness::{Built, Daemon, Home, Options, Scv},
    workspace::Workspace,
};

/// Longer than any step takes.
const SOON: Duration = Duration::from_secs(20);
const COMPONENT: &str = "wechat:default";
const SECOND: &str = "feishu:default";
/// Keys in the environment are never used: the provider is named.
const PROVIDER: [&str; 2] = ["--provider", "echo"];

/// Builds, then shows the whole path; ends by itself.
///
/// # Errors
/// When a step does not do what it says, with the daemon's log.
pub fn run(workspace: &Workspace) -> Result<()> {
    let built = Built::build(workspace, &Profile::dev())?;
    let begin = Instant::now();
    tokio::runtime::Runtime::new()?.block_on(async {
        let mut stage = Stage::set(&built).await?;
        stage.play().await.with_context(|| format!("the daemon's log:\n{}", stage.daemon.log()))
    })?;
    println!("\nAll of this was the real scv, in {:.0} s.", begin.elapsed().as_secs_f32());
    print!("{NEXT}");
    Ok(())
}

const NEXT: &str = "
To connect your own account:
  cargo xtask install          installs scv and its plugins into ~/.local
  scv run                      starts the daemon; leave it running
  scv channels login wechat    shows a code; scan it with WeChat
  scv channels login feishu    the same for Feishu; with Lark, scv channels login lark
Answers come from the built-in echo until a model is configured; README.md says how.
";

struct Stage {
    home: Home,
    ilink: Ilink,
    feishu: Feishu,
    daemon: Daemon,
}

impl Stage {
    async fn set(built: &Built) -> Result<Self> {
        step("starting the daemon on a temporary home");
        let home = Home::new(built)?;
        let (ilink, feishu) = (Ilink::start()?, Feishu::start()?);
        let daemon = Daemon::spawn(&home, &options(&feishu)).await?;
        Ok(Self { home, ilink, feishu, daemon })
    }

    async fn play(&mut self) -> Result<()> {
        self.sign_in().await?;
        self.question_and_answer().await?;
        self.tools().await?;
        self.second_channel().await?;
        self.crash().await?;
        self.terminal().await?;
        self.daemon.terminate().await.map(drop)
    }

    async fn sign_in(&self) -> Result<()> {
        step("signing in: scv channels login wechat (the simulated owner scans the code)");
        // The first poll is answered at once: a real platform holds it for up to 35 s.
        self.ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
        let output = Scv::on(&self.home).login_wechat(&self.ilink, "default").await?;
        show("scv", output.stdout.trim_end());
        self.connected().await
    }

    async fn question_and_answer(&self) -> Result<()> {
        step("the owner writes a message");
        self.say(OWNER, "Is anybody there?").await.map(drop)
    }

    async fn tools(&self) -> Result<()> {
        step("the owner is granted tools: scv channels run wechat --remote-tools owner");
        let grant = ["channels", "run", "wechat", "--remote-tools", "owner"];
        let output = Scv::on(&self.home).run(grant).await?.success()?;
        show("scv", output.stdout.trim_end());
        let call = r#"call bash {"command":"echo made by a tool"}"#;
        let allowed = self.say(OWNER, call).await?;
        ensure!(allowed.contains("made by a tool"), "the owner's tool did not run");
        step("a stranger asks for the same");
        let refused = self.say(STRANGER, call).await?;
        ensure!(!refused.lines().any(|line| line == "made by a tool"), "a stranger's tool ran");
        Ok(())
    }

    async fn second_channel(&self) -> Result<()> {
        step("a second channel: scv channels login feishu (the simulated owner approves)");
        let output = Scv::on(&self.home).login_feishu(&self.feishu, "default").await?;
        show("scv", output.stdout.trim_end());
        let is_connected =
            |account: &scv_protocol::Component| account.state == ComponentState::Connected;
        self.daemon.component(SECOND, SOON, is_connected).await?;
        self.feishu.wait_open(SOON).await?;
        for (chat, id) in [
            ("owner's chat", self.feishu.push_message(feishu::OWNER, "And here?")),
            ("group", self.feishu.push_mention(feishu::STRANGER, "And in a group?")),
        ] {
            ensure!(!id.is_empty(), "the platform took no message");
            note(&format!("a message in the {chat}"));
        }
        for chat in [feishu::P2P, feishu::GROUP] {
            let shown = self.feishu.wait_visible(chat, 1, SOON).await?;
            show(if chat == feishu::P2P { "owner's chat" } else { "group" }, &shown[0]);
        }
        Ok(())
    }

    async fn crash(&mut self) -> Result<()> {
        step("a message is being answered when the daemon is killed (SIGKILL)");
        let before = self.ilink.visible(STRANGER).len();
        phone(STRANGER, "->", "wait 60");
        self.ilink.push_message(STRANGER, "wait 60");
        self.daemon.component(COMPONENT, SOON, |account| account.running == Some(1)).await?;
        self.daemon.kill().await?;
        step("it is started again");
        self.daemon = Daemon::spawn(&self.home, &options(&self.feishu)).await?;
        let shown = self.ilink.wait_visible(STRANGER, before + 1, SOON).await?;
        phone(STRANGER, "<-", &shown[before]);
        let settled = |account: &scv_protocol::Component| {
            account.running == Some(0) && account.waiting == Some(0) && account.pending == Some(0)
        };
        self.daemon.component(COMPONENT, SOON, settled).await?;
        let lines = self.ilink.visible(STRANGER).len() - before;
        ensure!(lines == 1, "the sender got {lines} lines instead of one");
        note("one line for the sender, and no second turn: it might have done something already");
        Ok(())
    }

    async fn terminal(&self) -> Result<()> {
        step("the same daemon from a terminal: scv exec --daemon \"Hello from a terminal\"");
        let output = Scv::on(&self.home).run(["exec", "--daemon", "Hello from a terminal"]).await?;
        show("scv", output.success()?.stdout.trim_end());
        Ok(())
    }

    async fn connected(&self) -> Result<()> {
        let is_connected =
            |account: &scv_protocol::Component| account.state == ComponentState::Connected;
        self.daemon.component(COMPONENT, SOON, is_connected).await.map(drop)
    }

    /// Somebody writes; the answer as the phone shows it.
    async fn say(&self, person: &str, text: &str) -> Result<String> {
        phone(person, "->", text);
        let before = self.ilink.visible(person).len();
        self.ilink.push_message(person, text);
        let shown = self.ilink.wait_visible(person, before + 1, SOON).await?;
        phone(person, "<-", &shown[before]);
        Ok(shown[before].clone())
    }
}

fn options(feishu: &Feishu) -> Options {
    Options {
        arguments: PROVIDER.iter().map(Into::into).collect(),
        environment: feishu.environment(),
        ..Options::default()
    }
}

fn step(text: &str) {
    println!("\n== {text}");
}

fn note(text: &str) {
    println!("   {text}");
}

fn show(who: &str, text: &str) {
    for line in text.lines() {
        println!("   {who} | {line}");
    }
}

fn phone(person: &str, arrow: &str, text: &str) {
    let who = if person == OWNER { "owner's phone" } else { "stranger's phone" };
    for line in text.lines() {
        println!("   {who} {arrow} {line}");
    }
}
