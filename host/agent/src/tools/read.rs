//! `read`: lines of a text file in the workspace.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Call, Plan, Refusal, ToolOutcome, Workshop, blocking, output, parse,
    place::{self, FileFault, Place},
    secrecy, summary,
};
use crate::limits::{MAX_READ_SKIP_BYTES, NOTE_BYTES};

/// Arguments of `read`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadCall {
    path: PathBuf,
    /// From 1.
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    limit: Option<u64>,
}

pub(super) fn plan(arguments: &Value) -> Result<Plan, Refusal> {
    let call: ReadCall = parse(arguments)?;
    place::check(&call.path)?;
    if call.offset == Some(0) || call.limit == Some(0) {
        return Err(Refusal::arguments("offset and limit count from 1"));
    }
    Ok(Plan {
        risk: secrecy::reading_risk(&call.path),
        summary: summary("Read file", &call.path.to_string_lossy()),
        cwd: None,
        call: Call::Read(call),
    })
}

pub(super) async fn run(call: ReadCall, workshop: Arc<Workshop>) -> ToolOutcome {
    let max = workshop.config.max_read_bytes;
    blocking(move || read(&workshop.dir, &workshop.cwd, &call, max)).await
}

fn read(dir: &Dir, cwd: &Path, call: &ReadCall, max: usize) -> Result<ToolOutcome, FileFault> {
    let (file, _) = Place::of(dir, cwd, &call.path)?.open_file()?;
    let mut reader = BufReader::new(file);
    let first = call.offset.unwrap_or(1);
    skip_lines(&mut reader, first)?;
    let lines = call.limit.unwrap_or(u64::MAX);
    let (bytes, more) = take_lines(&mut reader, lines, max - NOTE_BYTES)?;
    if bytes.is_empty() && first > 1 {
        return Err(FileFault::PastEnd(first));
    }
    let (mut text, cut) = output::cut_end(output::printable(&bytes), max - NOTE_BYTES);
    let truncated = more || cut;
    if truncated {
        text.push_str(&note(&text, first));
    } else if text.is_empty() {
        text.push_str("(the file is empty)");
    }
    Ok(ToolOutcome { output: text, truncated, error: None })
}

/// Tells the model where to read on.
fn note(text: &str, first: u64) -> String {
    let lines = text.matches('\n').count() as u64;
    match (lines, text.ends_with('\n')) {
        (_, true) => format!("[the file goes on at line {}]", first + lines),
        (0, false) => format!("\n[line {first} goes on; use a command to see the rest of it]"),
        (_, false) => format!("\n[cut inside line {}; read on from there]", first + lines),
    }
}

/// Goes to the start of a line.
fn skip_lines(reader: &mut impl BufRead, first: u64) -> Result<(), FileFault> {
    let mut skipped: u64 = 0;
    for _ in 1..first {
        let room = MAX_READ_SKIP_BYTES - skipped;
        let count = skip_line(reader, room)?;
        skipped += count.ok_or(FileFault::TooFar)?;
        if count == Some(0) {
            return Err(FileFault::PastEnd(first));
        }
    }
    Ok(())
}

/// How long the line was, or none when it does not end within `room` bytes.
fn skip_line(reader: &mut impl BufRead, room: u64) -> io::Result<Option<u64>> {
    let mut count: u64 = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let (length, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(length);
        count += length as u64;
        if count > room {
            return Ok(None);
        }
        if ended {
            return Ok(Some(count));
        }
    }
}

/// At most `lines` lines and `max` bytes, and whether the file goes on.
fn take_lines(
    reader: &mut impl BufRead,
    lines: u64,
    max: usize,
) -> Result<(Vec<u8>, bool), FileFault> {
    let mut bytes = Vec::new();
    for _ in 0..lines {
        let room = (max - bytes.len()) as u64;
        let count = reader.by_ref().take(room).read_until(b'\n', &mut bytes);
        if count? == 0 {
            break;
        }
    }
    let more = !reader.fill_buf()?.is_empty();
    Ok((bytes, more))
}

#[cfg(test)]
mod tests {
    use scv_protocol::{Risk, ToolError};
    use serde_json::json;

    use super::*;
    use crate::tools::place::tests::{Folder, folder};

    fn read_in(folder: &Folder, arguments: Value) -> Result<(String, bool), FileFault> {
        let Call::Read(call) = plan(&arguments).expect("a call").call else {
            panic!("{arguments}");
        };
        read(&folder.dir, &folder.root, &call, 64 + NOTE_BYTES)
            .map(|outcome| (outcome.output, outcome.truncated))
    }

    #[test]
    fn gives_lines_and_says_when_there_are_more() {
        let folder = folder();
        folder.put("a.txt", "one\ntwo\nthree");
        for (arguments, text, truncated) in [
            (json!({"path": "a.txt"}), "one\ntwo\nthree", false),
            (json!({"path": "./a.txt", "offset": 2}), "two\nthree", false),
            (
                json!({"path": "a.txt", "offset": 2, "limit": 1}),
                "two\n[the file goes on at line 3]",
                true,
            ),
            (json!({"path": "a.txt", "offset": null, "limit": 3}), "one\ntwo\nthree", false),
        ] {
            assert_eq!(read_in(&folder, arguments), Ok((text.to_owned(), truncated)));
        }
        let absolute = folder.root.join("a.txt");
        assert!(read_in(&folder, json!({"path": absolute})).is_ok());
        let past = read_in(&folder, json!({"path": "a.txt", "offset": 9}));
        assert_eq!(past, Err(FileFault::PastEnd(9)));
    }

    #[test]
    fn output_is_bounded_and_printable() {
        let folder = folder();
        folder.put("zeros", [0; 200]);
        folder.put("empty", "");
        let (text, truncated) = read_in(&folder, json!({"path": "zeros"})).expect("reads");
        assert!(text.starts_with(&format!("{}\n[line 1 goes on", "\u{fffd}".repeat(21))), "{text}");
        assert!(truncated && text.len() <= 64 + NOTE_BYTES);
        folder.put("lines", "0123456789\n".repeat(9));
        let (text, _) = read_in(&folder, json!({"path": "lines"})).expect("reads");
        assert!(text.ends_with("\n[cut inside line 6; read on from there]"), "{text}");
        let (text, _) = read_in(&folder, json!({"path": "empty"})).expect("reads");
        assert_eq!(text, "(the file is empty)");
    }

    #[test]
    fn only_files_inside_are_read() {
        let folder = folder();
        folder.put(".env", "KEY=1");
        folder.link("../outside", "link");
        folder.link(".env", "notes.txt");
        for (path, fault) in [
            ("link", FileFault::Outside),
            ("../outside", FileFault::Outside),
            ("notes.txt", FileFault::HiddenSecret),
            (".", FileFault::NotAFile),
            ("no", FileFault::NotFound),
        ] {
            assert_eq!(read_in(&folder, json!({"path": path})), Err(fault), "{path}");
        }
        assert!(read_in(&folder, json!({"path": ".env"})).is_ok());
        assert_eq!(plan(&json!({"path": ".env"})).expect("a plan").risk, Risk::Filesystem);
        assert_eq!(plan(&json!({"path": "a.txt"})).expect("a plan").risk, Risk::ReadOnly);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for arguments in [
            json!({}),
            json!({"path": ""}),
            json!({"path": 7}),
            json!({"path": "a", "offset": 0}),
            json!({"path": "a", "limit": -1}),
            json!({"path": "a", "mode": "x"}),
            json!(null),
        ] {
            let refusal = plan(&arguments).expect_err("wrong");
            assert_eq!(refusal.error, ToolError::InvalidArguments, "{arguments}");
        }
    }
}
