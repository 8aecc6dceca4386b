//! The reported cases of `cases/feishu.jsonl`: what their steps are.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use regex::Regex;
use scv_simulators::feishu::{APP, BOT, Brand, GROUP, OWNER, P2P, RegistrationKnobs, Script};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

const CASES: &str = include_str!("../../../cases/feishu.jsonl");

/// One case: what happens, in order, and what is right.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) kind: String,
    /// Kept as text: `$NOW` is the moment at which a step is played.
    steps: Vec<Box<RawValue>>,
    expect: Map<String, Value>,
    pub(super) right: String,
    /// Wanted; its failure is reported, not failed.
    #[serde(default)]
    pub(super) soft: bool,
    /// About something that is not asked for yet.
    #[serde(default)]
    pub(super) later: bool,
}

/// One thing that happens.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// A raw event is pushed.
    Event(Value),
    /// Waits until this many messages were accepted.
    Sent(usize),
    /// Waits until this many send calls arrived.
    Calls(usize),
    /// Waits until this many connections were opened, or refused at the discovery.
    Conns(usize),
    /// Seconds.
    Wait(f64),
    /// Seconds that the model takes from now on.
    Think(f64),
    /// What the model says from now on.
    Answer(String),
    /// Answers of a REST call.
    Script(Script),
    /// The program is stopped in the orderly way.
    Down,
    /// It is started again.
    Start,
    /// SIGKILL.
    Kill,
    /// The connection ends without a close frame.
    Cut,
    /// The connection is closed with this code.
    Close(u16),
    /// The connection ends, and a new one is waited for.
    Reconnect,
    /// Keys of `ClientConfig`.
    Config(Map<String, Value>),
    /// A text frame.
    Text(String),
    /// A message is withdrawn.
    Recall(String),
    /// The history of chats; `has_more` makes it endless.
    List(BTreeMap<String, Value>),
    /// Knobs of the registration.
    Reg(RegistrationKnobs),
    /// The person confirms the sign-in.
    Approve(Approval),
}

/// How a person confirms.
#[derive(Debug, Deserialize)]
pub(super) struct Approval {
    /// The edition of the person's tenant, when it is not the one of the knobs.
    #[serde(alias = "tenant_brand")]
    pub(super) brand: Option<Brand>,
}

impl Case {
    pub(super) fn count(&self) -> usize {
        self.steps.len()
    }

    /// A step as it is at this moment of the platform's clock.
    pub(super) fn step(&self, at: usize, now_ms: u64) -> Result<Step> {
        let text = fill(self.steps[at].get(), now_ms)?;
        let mut step: Map<String, Value> = serde_json::from_str(&text)?;
        // `{"down": true}` says no more than its name.
        step.values_mut().filter(|value| **value == true).for_each(|value| *value = Value::Null);
        let step = serde_json::from_value(step.into());
        step.with_context(|| format!("step {} of {}", at + 1, self.id))
    }

    /// The checks by their names.
    pub(super) fn expect(&self) -> Result<Map<String, Value>> {
        let text = serde_json::to_string(&self.expect)?;
        Ok(serde_json::from_str(&fill(&text, 0)?)?)
    }

    /// Whether a check of this name is asked for.
    pub(super) fn asks(&self, name: &str) -> bool {
        self.expect.contains_key(name)
    }
}

/// Puts values in the place of placeholders.
fn fill(text: &str, now_ms: u64) -> Result<String> {
    let moment = Regex::new(r"\$NOW(?:-(\d+))?")?;
    let text = moment.replace_all(text, |found: &regex::Captures<'_>| {
        let back = found.get(1).and_then(|back| back.as_str().parse().ok()).unwrap_or(0);
        now_ms.saturating_sub(back).to_string()
    });
    let names = [("$OWNER", OWNER), ("$BOT", BOT), ("$APP", APP), ("$P2P", P2P), ("$GROUP", GROUP)];
    Ok(names.iter().fold(text.into_owned(), |text, (name, value)| text.replace(name, value)))
}

/// All cases, in the order of the file.
pub(super) fn all() -> Result<Vec<Case>> {
    let lines = CASES.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).with_context(|| format!("feishu.jsonl, line {}", at + 1))
        })
        .collect()
}

#[test]
fn every_step_of_every_case_is_known() -> Result<()> {
    let cases = all()?;
    assert!(cases.len() > 50, "{} cases", cases.len());
    for case in cases {
        for at in 0..case.count() {
            case.step(at, 1_790_000_000_000)?;
        }
    }
    Ok(())
}

#[test]
fn now_is_a_moment_and_may_lie_back() -> Result<()> {
    assert_eq!(fill(r#"["$NOW","$NOW-400"]"#, 1000)?, r#"["1000","600"]"#);
    Ok(())
}
