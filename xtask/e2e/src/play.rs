//! Plays a case's polls to a daemon and judges the outcome.

use anyhow::{Result, ensure};
use scv_simulators::{cases::wechat_case, ilink::OWNER};
use serde_json::Value;
use xtask::harness::Daemon;

use crate::scene::{SOON, Scene, answer_to};

/// The ids that the cases give to their messages.
pub const ID_1: &str = "7492913259736648001";
/// The second.
pub const ID_2: &str = "7492913259736648002";
/// The third.
pub const ID_3: &str = "7492913259736648003";
/// The fourth.
pub const ID_4: &str = "7492913259736648004";

/// What is right for a case: the turns, and what is on disk after a clean stop.
pub struct Right<'a> {
    /// What the model was asked, in any order.
    pub prompts: &'a [&'a str],
    /// The ids that are remembered, in any order.
    pub seen: &'a [&'a str],
    /// Where reading goes on.
    pub cursor: &'a str,
}

/// Plays a case of the file; each prompt has its answer, and nothing else is sent.
///
/// # Errors
/// When the outcome is not the right one; the text says what it was.
pub async fn play(id: &str, right: Right<'_>) -> Result<()> {
    play_polls(&wechat_case(id)?.polls(), right).await
}

/// The same with these answers to polls.
///
/// # Errors
/// As [`play`].
pub async fn play_polls(polls: &[String], right: Right<'_>) -> Result<()> {
    let scene = Scene::signed_in()?;
    for poll in polls {
        scene.ilink.push_poll(poll);
    }
    let mut daemon = scene.daemon().await?;
    judge(&scene, &mut daemon, polls.len(), right).await
}

/// Waits until `polls` batches are durable and every answer was sent, then judges.
///
/// # Errors
/// As [`play`].
pub async fn judge(
    scene: &Scene,
    daemon: &mut Daemon,
    polls: usize,
    right: Right<'_>,
) -> Result<()> {
    // The poll after a batch carries its cursor: it only comes once the batch is durable.
    scene.ilink.wait_polls(polls + 1, SOON).await?;
    scene.ilink.wait_sends(right.prompts.len(), SOON).await?;
    let state = scene.stop(daemon).await?;
    ensure!(sorted(scene.model.prompts()) == sorted(right.prompts), "{:?}", scene.model.prompts());
    let answers: Vec<_> = right.prompts.iter().map(|prompt| answer_to(prompt)).collect();
    let shown = scene.ilink.visible(OWNER);
    ensure!(shown == answers, "the phone shows {shown:?}");
    ensure!(scene.ilink.sent().len() == answers.len(), "{:?}", scene.ilink.sent());
    ensure!(scene.ilink.violations().is_empty(), "{:?}", scene.ilink.violations());
    ensure!(state["cursor"] == right.cursor, "{state}");
    ensure!(state["in_flight"].is_null() && state["pending"].is_null(), "{state}");
    ensure!(sorted(texts(&state["seen"])) == sorted(right.seen), "{state}");
    Ok(())
}

/// Texts in an order of their own.
pub fn sorted<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Vec<String> {
    let mut texts: Vec<_> = texts.into_iter().map(|text| text.as_ref().to_owned()).collect();
    texts.sort();
    texts
}

/// The texts of a JSON array.
pub fn texts(array: &Value) -> Vec<String> {
    let entries = array.as_array().into_iter().flatten();
    entries.map(|entry| entry.as_str().unwrap_or("not a text").to_owned()).collect()
}
