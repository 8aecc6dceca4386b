//! Plays the steps of a case through the real program.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use scv_e2e::{
    feishu_scene::{FeishuScene, settled},
    scene::answer_to,
};
use scv_simulators::{
    Model,
    model::{Answer, Piece},
};
use serde_json::Value;
use xtask::harness::{Daemon, Scv};

use super::{
    case::{Case, Step},
    checks::{Login, Seen},
};

/// More than anything takes that a case waits for.
const LIMIT: Duration = Duration::from_secs(60);

/// How the model is, for a while.
#[derive(Default)]
struct Mood {
    think: Duration,
    answer: Option<String>,
}

pub(super) struct Player {
    scene: FeishuScene,
    daemon: Option<Daemon>,
    mood: Arc<Mutex<Mood>>,
}

/// Plays a case to its end and gives all that was seen.
pub(super) async fn play(case: &Case) -> Result<Seen> {
    let mut player = Player::new(case)?;
    let played = player.play(case).await;
    played.with_context(|| format!("the daemon's log:\n{}", player.log()))
}

impl Player {
    fn new(case: &Case) -> Result<Self> {
        let scene = match case.kind.as_str() {
            "login" => FeishuScene::new()?,
            _ => FeishuScene::signed_in()?,
        };
        if case.asks("owner") {
            scene.grant_tools()?;
        }
        let mood = Arc::new(Mutex::new(Mood::default()));
        follow(&scene.model, mood.clone());
        Ok(Self { scene, daemon: None, mood })
    }

    async fn play(&mut self, case: &Case) -> Result<Seen> {
        let is_login = case.kind == "login";
        let first = case.step(0, self.scene.feishu.now_ms())?;
        if !is_login && !matches!(first, Step::Down) {
            self.start().await?;
            self.scene.feishu.wait_open(LIMIT).await?;
        }
        for at in 0..case.count() {
            let step = case.step(at, self.scene.feishu.now_ms())?;
            self.step(step).await.with_context(|| format!("step {}", at + 1))?;
        }
        let login = if is_login { Some(self.login().await?) } else { None };
        let pings = self.scene.feishu.pings();
        let unacknowledged = self.settle(case).await?;
        Ok(Seen { unacknowledged, ..self.seen(pings, login) })
    }

    async fn step(&mut self, step: Step) -> Result<()> {
        let feishu = &self.scene.feishu;
        match step {
            Step::Event(event) => {
                self.connection().await?;
                self.scene.feishu.push_event(&event);
            }
            Step::Sent(count) => feishu.wait_shown(count, LIMIT).await?,
            Step::Calls(count) => feishu.wait_calls(count, LIMIT).await?,
            Step::Conns(count) => feishu.wait_conns(count, LIMIT).await?,
            Step::Wait(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds)).await,
            Step::Think(seconds) => {
                self.change_mood(|mood| mood.think = Duration::from_secs_f64(seconds));
            }
            Step::Answer(text) => self.change_mood(|mood| mood.answer = Some(text)),
            Step::Script(script) => feishu.script(script)?,
            Step::Down => self.down().await?,
            Step::Start => self.start().await?,
            Step::Kill => self.kill().await?,
            Step::Cut => {
                self.connection().await?;
                self.scene.feishu.cut();
            }
            Step::Close(code) => {
                self.connection().await?;
                self.scene.feishu.close(code);
            }
            Step::Reconnect => {
                self.connection().await?;
                let opened = self.scene.feishu.opened();
                self.scene.feishu.cut();
                self.scene.feishu.wait_opened(opened + 1, LIMIT).await?;
            }
            Step::Config(keys) => feishu.config(&keys),
            Step::Text(text) => {
                self.connection().await?;
                self.scene.feishu.push_text_frame(text);
            }
            Step::Recall(id) => feishu.recall(&id),
            Step::List(mut chats) => {
                let endless = chats.remove("has_more").is_some_and(|more| more == true);
                let lists = chats.into_iter().map(|(chat, items)| {
                    let items = items.as_array().context("a list of items")?.clone();
                    Ok((chat, items))
                });
                feishu.add_history(lists.collect::<Result<_>>()?, endless);
            }
            Step::Reg(knobs) => feishu.registration(knobs),
            Step::Approve(approval) => match approval.brand {
                Some(brand) => feishu.approve_as(brand),
                None => feishu.approve(),
            },
        }
        Ok(())
    }

    /// Whoever is up has a connection, or gets one.
    async fn connection(&self) -> Result<()> {
        match self.daemon {
            Some(_) => self.scene.feishu.wait_open(LIMIT).await,
            None => Ok(()),
        }
    }

    async fn start(&mut self) -> Result<()> {
        ensure!(self.daemon.is_none(), "it runs already");
        self.daemon = Some(self.scene.daemon().await?);
        Ok(())
    }

    async fn down(&mut self) -> Result<()> {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        let status = daemon.terminate().await?;
        ensure!(status.success(), "the daemon ended with {status}");
        Ok(())
    }

    async fn kill(&mut self) -> Result<()> {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        daemon.kill().await?;
        // What is pushed from now on must not go to the dead.
        self.scene.feishu.wait_closed(LIMIT).await
    }

    fn change_mood(&self, change: impl FnOnce(&mut Mood)) {
        change(&mut self.mood.lock().unwrap_or_else(PoisonError::into_inner));
    }

    async fn login(&self) -> Result<Login> {
        let plugins = self.scene.home.plugins();
        let mut command = Scv::on(&self.scene.home).command(["channels", "login", "--plugin-dir"]);
        command.arg(plugins).arg("feishu").envs(self.scene.feishu.environment());
        let begun = Instant::now();
        let output = Scv::finish(command, "").await?;
        Ok(Login {
            succeeded: output.code == Some(0),
            text: output.stdout + &output.stderr,
            took: begun.elapsed(),
        })
    }

    /// Waits for what is to come, then until nothing more can, and stops; gives how many
    /// acknowledgements were missing then.
    async fn settle(&mut self, case: &Case) -> Result<usize> {
        let expect = case.expect()?;
        // What does not come is told by the checks, with all the rest.
        let _ = super::checks::until_it_may_be_right(&expect, &self.scene, LIMIT).await;
        if let Some(daemon) = &self.daemon {
            let _ = self.scene.feishu.wait_acknowledged(LIMIT).await;
            let _ = settled(daemon).await;
        }
        let unacknowledged = self.scene.feishu.unacknowledged();
        self.down().await?;
        Ok(unacknowledged)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.scene.home.log()).unwrap_or_default()
    }

    fn seen(&self, pings: usize, login: Option<Login>) -> Seen {
        let feishu = &self.scene.feishu;
        let requests = self.scene.model.requests();
        let with_tools = requests.iter().filter(|request| {
            request.json()["tools"].as_array().is_some_and(|tools| !tools.is_empty())
        });
        Seen {
            prompts: self.scene.model.prompts(),
            with_tools: with_tools.count(),
            sent: feishu.sent(),
            acks: feishu.acks(),
            unacknowledged: feishu.unacknowledged(),
            conns: feishu.conns(),
            lists: feishu.list_calls(),
            tokens: feishu.requests("/tenant_access_token/internal").len(),
            pings,
            polls: feishu.polls(),
            violations: feishu.violations(),
            log: self.log(),
            login,
        }
    }
}

/// The model is in this mood from now on.
fn follow(model: &Model, mood: Arc<Mutex<Mood>>) {
    model.otherwise(move |request| {
        let mood = mood.lock().unwrap_or_else(PoisonError::into_inner);
        let text = mood.answer.clone().unwrap_or_else(|| answer_to(last_prompt(request)));
        match Answer::text(text) {
            Answer::Stream(mut pieces) => {
                pieces.insert(0, Piece::Pause(mood.think));
                Answer::Stream(pieces)
            }
            other => other,
        }
    });
}

fn last_prompt(request: &Value) -> &str {
    let messages = request["messages"].as_array();
    let last = messages.and_then(|messages| messages.last());
    last.and_then(|message| message["content"].as_str()).unwrap_or_default()
}
