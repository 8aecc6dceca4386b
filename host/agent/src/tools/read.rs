//! `read`: lines of a text file in the workspace.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use scv_protocol::{Risk, ToolError};
use serde::Deserialize;
use serde_json::Value;

use super::{Call, Plan, Refusal, ToolOutcome, Workshop, output, parse, secrecy, summary};
use crate::limits::{MAX_PATH_BYTES, MAX_READ_SKIP_BYTES, NOTE_BYTES};

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

/// Why a file was not read, in words for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum ReadFault {
    #[error("there is no such file; check the path")]
    NotFound,
    #[error("the path leads out of the workspace, or may not be read; choose another file")]
    Outside,
    #[error("this is no regular file; read accepts text files only")]
    NotAFile,
    #[error("the path leads to a file that may hold secrets; ask for it by its own name")]
    HiddenSecret,
    #[error("the file ends before line {0}; choose a smaller offset")]
    PastEnd(u64),
    #[error("the first line is too far into the file; use a command to find the part you need")]
    TooFar,
    #[error("the file could not be read; try again or choose another file")]
    Io,
}

pub(super) fn plan(arguments: &Value) -> Result<Plan, Refusal> {
    let call: ReadCall = parse(arguments)?;
    let length = call.path.as_os_str().len();
    if length == 0 || length > MAX_PATH_BYTES {
        return Err(Refusal::arguments("the path is empty or too long; name one file"));
    }
    if call.offset == Some(0) || call.limit == Some(0) {
        return Err(Refusal::arguments("offset and limit count from 1"));
    }
    let is_secret = secrecy::is_secret_path(&call.path);
    Ok(Plan {
        risk: if is_secret { Risk::Filesystem } else { Risk::ReadOnly },
        summary: summary("Read file", &call.path.to_string_lossy()),
        call: Call::Read(call),
    })
}

pub(super) async fn run(call: ReadCall, workshop: Arc<Workshop>) -> ToolOutcome {
    let max_bytes = workshop.config.max_read_bytes;
    let task = tokio::task::spawn_blocking(move || {
        read(&workshop.dir, &inside(&call.path, &workshop.cwd), &call, max_bytes)
    });
    match task.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(fault)) => ToolOutcome::failed(ToolError::Failed, fault.to_string()),
        Err(_) => ToolOutcome::failed(ToolError::Failed, ReadFault::Io.to_string()),
    }
}

/// An absolute path below the workspace, made relative to it; others stay and are refused by
/// the folder's handle.
fn inside(path: &Path, workspace: &Path) -> PathBuf {
    path.strip_prefix(workspace).unwrap_or(path).to_owned()
}

fn read(dir: &Dir, path: &Path, call: &ReadCall, max: usize) -> Result<ToolOutcome, ReadFault> {
    let file = open(dir, path)?;
    let mut reader = BufReader::new(file);
    let first = call.offset.unwrap_or(1);
    skip_lines(&mut reader, first)?;
    let lines = call.limit.unwrap_or(u64::MAX);
    let (bytes, more) = take_lines(&mut reader, lines, max - NOTE_BYTES)?;
    if bytes.is_empty() && first > 1 {
        return Err(ReadFault::PastEnd(first));
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

fn open(dir: &Dir, path: &Path) -> Result<File, ReadFault> {
    let mut options = OpenOptions::new();
    // A FIFO would hold an open without this until somebody writes.
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = dir.open_with(path, &options).map_err(|error| ReadFault::of(&error))?;
    if !file.metadata().map_err(|_| ReadFault::Io)?.is_file() {
        return Err(ReadFault::NotAFile);
    }
    // The risk was judged by the name alone: a link must not lend a harmless one to a secret.
    let real = dir.canonicalize(path).map_err(|error| ReadFault::of(&error))?;
    if secrecy::is_secret_path(&real) && !secrecy::is_secret_path(path) {
        return Err(ReadFault::HiddenSecret);
    }
    Ok(file)
}

/// Goes to the start of a line.
fn skip_lines(reader: &mut impl BufRead, first: u64) -> Result<(), ReadFault> {
    let mut skipped: u64 = 0;
    for _ in 1..first {
        let room = MAX_READ_SKIP_BYTES - skipped;
        let count = skip_line(reader, room).map_err(|_| ReadFault::Io)?;
        skipped += count.ok_or(ReadFault::TooFar)?;
        if count == Some(0) {
            return Err(ReadFault::PastEnd(first));
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
) -> Result<(Vec<u8>, bool), ReadFault> {
    let mut bytes = Vec::new();
    for _ in 0..lines {
        let room = (max - bytes.len()) as u64;
        let count = reader.by_ref().take(room).read_until(b'\n', &mut bytes);
        if count.map_err(|_| ReadFault::Io)? == 0 {
            break;
        }
    }
    let more = !reader.fill_buf().map_err(|_| ReadFault::Io)?.is_empty();
    Ok((bytes, more))
}

impl ReadFault {
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::PermissionDenied => Self::Outside,
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => Self::NotAFile,
            _ => Self::Io,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use cap_std::ambient_authority;
    use serde_json::json;

    use super::*;

    struct Folder {
        temp: tempfile::TempDir,
        dir: Dir,
    }

    fn folder() -> Folder {
        let temp = tempfile::tempdir().expect("a folder");
        let root = temp.path().join("work");
        fs::create_dir(&root).expect("a folder");
        fs::write(root.join("a.txt"), "one\ntwo\nthree").expect("a file");
        fs::write(temp.path().join("outside"), "secret").expect("a file");
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).expect("opens");
        Folder { temp, dir }
    }

    fn call(arguments: Value) -> ReadCall {
        match plan(&arguments).expect("a call").call {
            Call::Read(call) => call,
            other => panic!("{other:?}"),
        }
    }

    fn read_in(folder: &Folder, arguments: Value) -> Result<(String, bool), ReadFault> {
        let call = call(arguments);
        let root = folder.temp.path().join("work");
        read(&folder.dir, &inside(&call.path, &root), &call, 64 + NOTE_BYTES)
            .map(|outcome| (outcome.output, outcome.truncated))
    }

    #[test]
    fn gives_lines_and_says_when_there_are_more() {
        let folder = folder();
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
        let absolute = folder.temp.path().join("work/a.txt");
        assert!(read_in(&folder, json!({"path": absolute})).is_ok());
        let past = read_in(&folder, json!({"path": "a.txt", "offset": 9}));
        assert_eq!(past, Err(ReadFault::PastEnd(9)));
    }

    #[test]
    fn output_is_bounded_and_printable() {
        let folder = folder();
        let root = folder.temp.path().join("work");
        fs::write(root.join("zeros"), [0; 200]).expect("a file");
        fs::write(root.join("empty"), "").expect("a file");
        let (text, truncated) = read_in(&folder, json!({"path": "zeros"})).expect("reads");
        assert!(text.starts_with(&format!("{}\n[line 1 goes on", "\u{fffd}".repeat(21))), "{text}");
        assert!(truncated && text.len() <= 64 + NOTE_BYTES);
        fs::write(root.join("lines"), "0123456789\n".repeat(9)).expect("a file");
        let (text, _) = read_in(&folder, json!({"path": "lines"})).expect("reads");
        assert!(text.ends_with("\n[cut inside line 6; read on from there]"), "{text}");
        let (text, _) = read_in(&folder, json!({"path": "empty"})).expect("reads");
        assert_eq!(text, "(the file is empty)");
    }

    #[test]
    fn nothing_leads_out_of_the_workspace() {
        let folder = folder();
        let root = folder.temp.path().join("work");
        symlink("../outside", root.join("link")).expect("a link");
        symlink(folder.temp.path(), root.join("up")).expect("a link");
        fs::create_dir(root.join("sub")).expect("a folder");
        for path in ["../outside", "link", "up/outside", "sub/../../outside", "/etc/passwd"] {
            let result = read_in(&folder, json!({"path": path}));
            assert_eq!(result, Err(ReadFault::Outside), "{path}");
        }
    }

    #[test]
    fn a_link_does_not_hide_a_secret() {
        let folder = folder();
        let root = folder.temp.path().join("work");
        fs::write(root.join(".env"), "KEY=1").expect("a file");
        symlink(".env", root.join("notes.txt")).expect("a link");
        let result = read_in(&folder, json!({"path": "notes.txt"}));
        assert_eq!(result, Err(ReadFault::HiddenSecret));
        assert!(read_in(&folder, json!({"path": ".env"})).is_ok());
        assert_eq!(plan(&json!({"path": ".env"})).expect("a plan").risk, Risk::Filesystem);
        assert_eq!(plan(&json!({"path": "a.txt"})).expect("a plan").risk, Risk::ReadOnly);
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = folder();
        let fifo = folder.temp.path().join("work/fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("a fifo");
        for path in ["fifo", "."] {
            let result = read_in(&folder, json!({"path": path}));
            assert_eq!(result, Err(ReadFault::NotAFile), "{path}");
        }
        assert_eq!(read_in(&folder, json!({"path": "no"})), Err(ReadFault::NotFound));
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
