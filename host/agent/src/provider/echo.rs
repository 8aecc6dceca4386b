//! The provider that needs no network and no key: it answers with the prompt.
//!
//! Prompt lines `call NAME {json}` make that call and are answered with its output; lines
//! `wait SECONDS` wait. So a fresh install can be tried from end to end.

use std::{collections::VecDeque, time::Duration};

use serde_json::{Map, Value};

use super::{Failure, Response, handover::Deltas};
use crate::{
    limits::{MAX_ECHO_CALLS_COUNT, MAX_ECHO_WAIT_SECONDS},
    message::{AssistantMessage, Item, ToolCall},
};

/// Begins every answer, so that nobody takes it for a model's.
const PREFIX: &str = "echo (no model is configured): ";

/// What one response will do.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    beats: Vec<Beat>,
    calls: Vec<ToolCall>,
}

#[derive(Debug, PartialEq)]
enum Beat {
    Say(String),
    Wait(Duration),
}

/// A line of a prompt.
enum Line<'a> {
    Text,
    Wait(Duration),
    Call { name: &'a str, arguments: &'a str },
}

impl Plan {
    /// Reads the last prompt, and what its calls have given if they ran already.
    pub(super) fn new<'a>(items: impl Iterator<Item = &'a Item>) -> Self {
        let mut prompt = "";
        let mut outputs = VecDeque::new();
        let mut count = 0;
        for item in items {
            count += 1;
            match item {
                Item::User(text) => {
                    prompt = text;
                    outputs.clear();
                }
                Item::ToolOutput { output, .. } => outputs.push_back(output.as_str()),
                Item::Assistant(_) => {}
            }
        }
        let lines = read_lines(prompt);
        let last_call = lines.iter().rposition(|(_, line)| matches!(line, Line::Call { .. }));
        match last_call {
            Some(last) if outputs.is_empty() => Self::calling(&lines[..last + 1], count),
            last => Self::answering(&lines, last, outputs),
        }
    }

    fn calling(lines: &[(&str, Line<'_>)], salt: usize) -> Self {
        let mut plan = Self { beats: Vec::new(), calls: Vec::new() };
        for (_, line) in lines {
            match line {
                Line::Text => {}
                Line::Wait(time) => plan.beats.push(Beat::Wait(*time)),
                Line::Call { name, arguments } => plan.calls.push(ToolCall {
                    id: format!("echo{salt}x{}", plan.calls.len()),
                    name: (*name).to_owned(),
                    arguments: (*arguments).to_owned(),
                }),
            }
        }
        plan
    }

    fn answering(
        lines: &[(&str, Line<'_>)],
        last_call: Option<usize>,
        mut outputs: VecDeque<&str>,
    ) -> Self {
        let mut beats = vec![Beat::Say(PREFIX.to_owned())];
        for (index, (text, line)) in lines.iter().enumerate() {
            let end = if index + 1 < lines.len() { "\n" } else { "" };
            match line {
                Line::Call { .. } => {
                    let output = outputs.pop_front().unwrap_or(text);
                    beats.push(Beat::Say(format!("{output}{end}")));
                }
                Line::Wait(time) => {
                    beats.push(Beat::Say(format!("{text}{end}")));
                    if last_call.is_none_or(|last| index > last) {
                        beats.push(Beat::Wait(*time));
                    }
                }
                Line::Text => beats.push(Beat::Say(format!("{text}{end}"))),
            }
        }
        Self { beats, calls: Vec::new() }
    }
}

/// Plays a plan.
pub(super) async fn answer(plan: Plan, mut deltas: Deltas) -> Result<Response, Failure> {
    let mut text = String::new();
    for beat in plan.beats {
        match beat {
            Beat::Wait(time) => tokio::time::sleep(time).await,
            Beat::Say(words) => {
                text.push_str(&words);
                deltas.send([words]).await;
            }
        }
    }
    let message = AssistantMessage { text: text.into(), calls: plan.calls, reasoning: None };
    Ok(Response { message, usage: None })
}

fn read_lines(prompt: &str) -> Vec<(&str, Line<'_>)> {
    let mut calls = 0;
    prompt
        .split('\n')
        .map(|text| {
            let line = read_line(text.trim());
            let is_call = matches!(line, Line::Call { .. });
            if is_call && calls == MAX_ECHO_CALLS_COUNT {
                return (text, Line::Text);
            }
            calls += usize::from(is_call);
            (text, line)
        })
        .collect()
}

fn read_line(text: &str) -> Line<'_> {
    let Some((word, rest)) = text.split_once(' ') else {
        return Line::Text;
    };
    match word {
        "wait" => read_wait(rest).map_or(Line::Text, Line::Wait),
        "call" => read_call(rest).unwrap_or(Line::Text),
        _ => Line::Text,
    }
}

fn read_wait(rest: &str) -> Option<Duration> {
    let seconds: f64 = rest.trim().parse().ok()?;
    let is_allowed = (0.0..=MAX_ECHO_WAIT_SECONDS).contains(&seconds);
    is_allowed.then(|| Duration::from_secs_f64(seconds))
}

fn read_call(rest: &str) -> Option<Line<'_>> {
    let (name, arguments) = rest.trim().split_once(' ')?;
    let arguments = arguments.trim();
    serde_json::from_str::<Map<String, Value>>(arguments).ok()?;
    Some(Line::Call { name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(plan: &Plan) -> String {
        let words = plan.beats.iter().filter_map(|beat| match beat {
            Beat::Say(words) => Some(words.as_str()),
            Beat::Wait(_) => None,
        });
        words.collect()
    }

    fn waited(plan: &Plan) -> f64 {
        let times = plan.beats.iter().filter_map(|beat| match beat {
            Beat::Wait(time) => Some(time.as_secs_f64()),
            Beat::Say(_) => None,
        });
        times.sum()
    }

    fn user(text: &str) -> Item {
        Item::User(text.to_owned())
    }

    fn output(text: &str) -> Item {
        Item::ToolOutput { call_id: "c".into(), output: text.to_owned() }
    }

    #[test]
    fn says_the_prompt_and_that_it_is_no_model() {
        let plan = Plan::new([user("old"), user("hello\nyou\n")].iter());
        assert_eq!(said(&plan), "echo (no model is configured): hello\nyou\n");
        assert!(plan.calls.is_empty());
    }

    #[test]
    fn calls_first_and_answers_with_the_outputs() {
        let prompt = user("see\ncall read {\"path\":\"a\"}\nand\ncall bash {}");
        let plan = Plan::new([prompt.clone()].iter());
        assert_eq!(said(&plan), "");
        let names: Vec<_> = plan.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["read", "bash"]);
        assert_eq!(plan.calls[0].arguments, "{\"path\":\"a\"}");
        assert_ne!(plan.calls[0].id, plan.calls[1].id);
        let plan = Plan::new([prompt, output("A"), output("B")].iter());
        assert_eq!(said(&plan), "echo (no model is configured): see\nA\nand\nB");
    }

    #[test]
    fn only_the_exact_forms_are_orders() {
        for text in [
            "call read",
            "call read [1]",
            "call read {\"a\":",
            "recall read {}",
            "wait",
            "wait x",
            "wait -1",
            "wait 1e9",
            "wait NaN",
            "wait 1 2",
        ] {
            let plan = Plan::new([user(text)].iter());
            assert_eq!(said(&plan), format!("{PREFIX}{text}"));
            assert_eq!(waited(&plan), 0.0, "{text}");
        }
    }

    #[test]
    fn the_ninth_call_is_text() {
        let prompt = user(&["call read {}"; 9].join("\n"));
        assert_eq!(Plan::new([prompt.clone()].iter()).calls.len(), 8);
        let items: Vec<_> = [prompt].into_iter().chain((0..8).map(|_| output("x"))).collect();
        assert!(said(&Plan::new(items.iter())).ends_with("x\ncall read {}"));
    }

    #[test]
    fn waits_once_before_the_calls_or_after_them() {
        let prompt = user("wait 1\ncall read {}\nwait 0.5");
        assert_eq!(waited(&Plan::new([prompt.clone()].iter())), 1.0);
        assert_eq!(waited(&Plan::new([prompt, output("x")].iter())), 0.5);
        assert_eq!(waited(&Plan::new([user("a\nwait 2")].iter())), 2.0);
    }
}
