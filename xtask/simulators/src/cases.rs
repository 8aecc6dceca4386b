//! The reported cases of `xtask/e2e/cases`, with the raw text of their JSON kept.

use anyhow::Context;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ilink::Ilink;

const WECHAT: &str = include_str!("../../e2e/cases/wechat.jsonl");

/// One case: what happens, in order, and what is right.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// Where it was reported.
    pub from: String,
    /// `inbound`, `send`, `login`, `typing` or `lifecycle`.
    pub kind: String,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// The right outcome in words.
    pub expect: String,
    /// It is about something that is not asked for yet.
    #[serde(default)]
    pub later: bool,
}

/// One step; exactly one field is set.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The answer to the next poll.
    pub poll: Option<Box<RawValue>>,
    /// The answer to the next send.
    pub send: Option<SendAnswer>,
    /// The answer to the next status poll of a sign-in.
    pub qr: Option<Box<RawValue>>,
    /// The answer to the next request for the configuration.
    pub config: Option<Box<RawValue>>,
    /// The answer to the next typing signal.
    pub typing: Option<Box<RawValue>>,
    /// What happens meanwhile, in words.
    #[serde(rename = "do")]
    pub happens: Option<String>,
}

/// A status and a body; a JSON text stands for its own characters.
#[derive(Debug, Deserialize)]
pub struct SendAnswer(u16, Box<RawValue>);

impl SendAnswer {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.0
    }

    /// The body as it goes on the wire.
    pub fn body(&self) -> String {
        serde_json::from_str(self.1.get()).unwrap_or_else(|_| self.1.get().to_owned())
    }
}

impl Case {
    /// The raw answers to polls, in order.
    pub fn polls(&self) -> Vec<String> {
        self.steps.iter().filter_map(|step| Some(step.poll.as_ref()?.get().to_owned())).collect()
    }

    /// Scripts all its answers, in order. What only words describe is the caller's part.
    pub fn script(&self, platform: &Ilink) {
        for step in &self.steps {
            if let Some(poll) = &step.poll {
                platform.push_poll(poll.get());
            }
            if let Some(send) = &step.send {
                platform.push_send(send.status(), send.body());
            }
            if let Some(qr) = &step.qr {
                platform.push_qr(qr.get());
            }
        }
    }
}

/// All WeChat cases.
///
/// # Errors
/// When the file does not parse; the text names the line.
pub fn wechat() -> anyhow::Result<Vec<Case>> {
    let lines = WECHAT.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).with_context(|| format!("wechat.jsonl, line {}", at + 1))
        })
        .collect()
}

/// One WeChat case by its name.
///
/// # Errors
/// When the file does not parse, or no case has that name.
pub fn wechat_case(id: &str) -> anyhow::Result<Case> {
    let found = wechat()?.into_iter().find(|case| case.id == id);
    found.with_context(|| format!("no case {id} in wechat.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_case_with_steps() {
        let cases = wechat().expect("the file");
        assert!(cases.len() > 35);
        for case in cases {
            assert!(!case.steps.is_empty(), "{}", case.id);
        }
    }

    #[test]
    fn large_ids_stay_exact() {
        let case = wechat_case("ids-above-2^53").expect("the case");
        let polls = case.polls();
        for id in ["9007199254740993", "9007199254740992", "18446744073709551615"] {
            assert!(polls[0].contains(&format!("\"message_id\": {id},")), "{id}");
        }
    }

    #[test]
    fn bodies_of_sends_are_texts_or_json() {
        let case = wechat_case("send-ok-shapes").expect("the case");
        let bodies: Vec<_> =
            case.steps.iter().filter_map(|step| Some(step.send.as_ref()?.body())).collect();
        assert_eq!(bodies[1..4], ["{}", "", "ok"]);
        assert!(bodies[0].starts_with("{\"message_id\""));
    }
}
