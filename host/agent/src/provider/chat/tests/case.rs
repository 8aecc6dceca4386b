//! Case files: the bytes of a body and what must become of them.
//!
//! `tests/cases/README.md` explains the format.

use std::{fs, path::Path};

use serde::Deserialize;

use super::{Fault, Response};

/// One file.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) body: Vec<u8>,
    pub(super) ending: Ending,
    pub(super) want: Want,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
    #[default]
    Clean,
    Broken,
    /// The server never closes.
    Open,
}

/// What must come out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Want {
    #[serde(default)]
    ending: Ending,
    /// The message.
    text: Option<String>,
    /// The deltas put together; the message when absent.
    shown: Option<String>,
    /// `[id, name, arguments]`; `*` is an id that was made up.
    #[serde(default)]
    calls: Vec<[String; 3]>,
    /// `[input, output]`.
    usage: Option<[Option<u64>; 2]>,
    reasoning: Option<String>,
    /// The code of the failure.
    failed: Option<String>,
    /// A part of the failure's text.
    says: Option<String>,
    requests: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) shown: String,
    pub(super) requests: u32,
    pub(super) result: Result<Response, Fault>,
}

pub(super) fn all() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/chat");
    let files = fs::read_dir(folder).expect("the case files");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Case {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let text = fs::read_to_string(path).expect("a case file");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let (wants, body): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("want "));
    let [want] = wants[..] else { panic!("{name}: one line begins with want") };
    let want: Want = serde_json::from_str(&want["want ".len()..])
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    Case { body: bytes(&body.concat()), ending: want.ending, want, name }
}

/// Undoes the notation.
fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        match char {
            '␊' | '⏎' => bytes.push(b'\n'),
            '␍' => bytes.push(b'\r'),
            '‹' => {
                let (inside, after) = rest.split_once('›').expect("a closing mark");
                rest = after;
                match inside.split_once('*') {
                    Some((piece, count)) => {
                        let count = count.parse().expect("a number");
                        bytes.extend(self::bytes(piece).repeat(count));
                    }
                    None => bytes.push(u8::from_str_radix(inside, 16).expect("a byte")),
                }
            }
            char => bytes.extend(char.to_string().bytes()),
        }
    }
    bytes
}

impl Want {
    pub(super) fn check(&self, outcome: &Outcome) -> Result<(), String> {
        let same =
            |what: &str, same: bool| if same { Ok(()) } else { Err(format!("{what} differs")) };
        same("the number of requests", outcome.requests == self.requests.unwrap_or(1))?;
        let shown = self.shown.as_ref().or(self.text.as_ref());
        same("the shown text", outcome.shown == shown.map_or("", |text| text))?;
        match (&outcome.result, &self.failed) {
            (Ok(response), None) => self.check_response(response),
            (Err(fault), Some(code)) => {
                let failure = &fault.failure;
                let got = serde_json::to_value(failure.code).expect("JSON");
                same("the code", got == code.as_str())?;
                let says = self.says.as_deref().unwrap_or_default();
                same("the failure's text", failure.message.contains(says))
            }
            _ => Err("success or failure differs".to_owned()),
        }
    }

    fn check_response(&self, response: &Response) -> Result<(), String> {
        let same =
            |what: &str, same: bool| if same { Ok(()) } else { Err(format!("{what} differs")) };
        let message = &response.message;
        same("the message", message.text == self.text.as_deref().unwrap_or_default())?;
        same("the reasoning", message.reasoning == self.reasoning)?;
        let usage = response.usage.map(|usage| [usage.input_tokens, usage.output_tokens]);
        same("the usage", usage == self.usage)?;
        same("the number of calls", message.calls.len() == self.calls.len())?;
        for (call, [id, name, arguments]) in message.calls.iter().zip(&self.calls) {
            let made_up = call.id.len() == 9 && call.id.bytes().all(|b| b.is_ascii_alphanumeric());
            same("a call's id", if id == "*" { made_up } else { call.id == *id })?;
            same("a call's name", call.name == *name)?;
            same("a call's arguments", call.arguments == *arguments)?;
        }
        Ok(())
    }
}
