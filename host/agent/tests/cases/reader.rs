//! Reads case files: the bytes of a body and what must become of them. `README.md` beside this
//! file explains the format.
//!
//! Part of three programs: the crate's own tests of the decoder, the room's of whole requests, and
//! the fuzz targets, which begin from these bodies.

#![allow(dead_code, reason = "each of the programs uses its own part")]

use std::{fs, path::Path};

use serde::Deserialize;

use super::WireApi;

/// One file.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) wire_api: WireApi,
    pub(crate) name: String,
    pub(crate) body: Vec<u8>,
    pub(crate) ending: Ending,
    pub(crate) want: Want,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    #[default]
    Clean,
    Broken,
    /// The server never closes.
    Open,
}

/// What must come out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Want {
    #[serde(default)]
    pub(crate) ending: Ending,
    /// The message.
    pub(crate) text: Option<String>,
    /// The deltas put together; the message when absent.
    pub(crate) shown: Option<String>,
    /// `[id, name, arguments]`; `*` is an id that was made up.
    #[serde(default)]
    pub(crate) calls: Vec<[String; 3]>,
    /// `[input, output]`.
    pub(crate) usage: Option<[Option<u64>; 2]>,
    pub(crate) reasoning: Option<String>,
    /// The code of the failure.
    pub(crate) failed: Option<String>,
    /// A part of the failure's text.
    pub(crate) says: Option<String>,
    pub(crate) requests: Option<u32>,
}

/// All cases of a format, from this folder.
pub(crate) fn all(cases: &str, wire_api: WireApi) -> Vec<Case> {
    let format = match wire_api {
        WireApi::Chat => "chat",
        WireApi::Responses => "responses",
    };
    let folder = Path::new(cases).join(format);
    let files = fs::read_dir(folder).expect("the case files");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    paths.iter().map(|path| read(wire_api, path)).collect()
}

fn read(wire_api: WireApi, path: &Path) -> Case {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let text = fs::read_to_string(path).expect("a case file");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let (wants, body): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("want "));
    let [want] = wants[..] else { panic!("{name}: one line begins with want") };
    let want: Want = serde_json::from_str(&want["want ".len()..])
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    Case { wire_api, body: bytes(&body.concat()), ending: want.ending, want, name }
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
    /// The deltas together.
    pub(crate) fn shown(&self) -> &str {
        self.shown.as_ref().or(self.text.as_ref()).map_or("", |text| text)
    }

    /// With the same body each time.
    pub(crate) fn requests(&self) -> u32 {
        self.requests.unwrap_or(1)
    }
}
