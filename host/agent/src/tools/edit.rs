//! `edit`: an exact piece of a file, replaced.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use memchr::memmem;
use scv_protocol::Risk;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Call, Plan, Refusal, ToolOutcome, Workshop, blocking, parse,
    place::{self, FileFault, Place},
    replace, summary,
};
use crate::limits::MAX_TOLD_LINES_COUNT;

/// Arguments of `edit`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditCall {
    path: PathBuf,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

pub(super) fn plan(arguments: &Value) -> Result<Plan, Refusal> {
    let call: EditCall = parse(arguments)?;
    place::check(&call.path)?;
    if call.old_text.is_empty() {
        let text = "old_text is empty; copy the text to replace from the file, or use write";
        return Err(Refusal::arguments(text));
    }
    if call.old_text == call.new_text {
        return Err(Refusal::arguments("old_text and new_text are the same; nothing would change"));
    }
    Ok(Plan {
        risk: Risk::Filesystem,
        summary: summary("Edit file", &call.path.to_string_lossy()),
        cwd: None,
        call: Call::Edit(call),
    })
}

pub(super) async fn run(call: EditCall, workshop: Arc<Workshop>) -> ToolOutcome {
    let max = workshop.config.max_write_bytes;
    blocking(move || edit(&workshop.dir, &workshop.cwd, &call, max)).await
}

fn edit(dir: &Dir, cwd: &Path, call: &EditCall, max: usize) -> Result<ToolOutcome, FileFault> {
    let place = Place::of(dir, cwd, &call.path)?;
    let (folder, name) = (place.parent()?, place.name()?);
    let old = replace::read(&folder, name, max)?;
    let (new, lines) = apply(&old.bytes, call, max)?;
    replace::replace(&folder, name, &new, Some(&old))?;
    let hash = replace::sha256(&new);
    Ok(ToolOutcome::done(format!("replaced {} (sha256 {hash})", told(&lines))))
}

/// The new content, and the lines in which it differs. Pure.
fn apply(old: &[u8], call: &EditCall, max: usize) -> Result<(Vec<u8>, Vec<usize>), FileFault> {
    let (from, to) = (call.old_text.as_bytes(), call.new_text.as_bytes());
    let places: Vec<usize> = memmem::find_iter(old, from).collect();
    let Some(first) = places.first() else {
        return Err(FileFault::NoMatch(missing(old, from)));
    };
    if !call.replace_all {
        // Counted as a reader would: pieces may overlap.
        let overlaps = memmem::find(&old[first + 1..], from).is_some();
        let count = places.len().max(1 + usize::from(overlaps));
        if count > 1 {
            return Err(FileFault::NoMatch(ambiguous(count)));
        }
    }
    let size = old.len() + places.len() * to.len() - places.len() * from.len();
    if size > max {
        return Err(FileFault::TooLarge(max));
    }
    let mut new = Vec::with_capacity(size);
    let mut lines = Vec::with_capacity(places.len());
    let (mut rest, mut line) = (0, 1);
    for place in places {
        line += count_lines(&old[rest..place]);
        lines.push(line);
        new.extend_from_slice(&old[rest..place]);
        new.extend_from_slice(to);
        line += count_lines(from);
        rest = place + from.len();
    }
    new.extend_from_slice(&old[rest..]);
    Ok((new, lines))
}

fn count_lines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

fn missing(old: &[u8], from: &[u8]) -> String {
    let has_crlf = memmem::find(old, b"\r\n").is_some();
    let why = match has_crlf && from.contains(&b'\n') && !from.contains(&b'\r') {
        true => "the file's lines end in CR LF, old_text's in LF",
        false => "read the file again: blanks and line ends count",
    };
    format!("old_text does not occur in the file; {why}")
}

fn ambiguous(count: usize) -> String {
    format!(
        "old_text occurs {count} times; add lines around it until it is the only one, or set \
         replace_all"
    )
}

fn told(lines: &[usize]) -> String {
    let shown: Vec<String> =
        lines.iter().take(MAX_TOLD_LINES_COUNT).map(usize::to_string).collect();
    let shown = shown.join(", ");
    match lines.len() {
        1 => format!("1 occurrence, at line {shown}"),
        count if count <= MAX_TOLD_LINES_COUNT => {
            format!("{count} occurrences, at lines {shown}")
        }
        count => format!("{count} occurrences, the first at lines {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use scv_protocol::ToolError;
    use serde_json::json;

    use super::*;
    use crate::tools::place::tests::folder;

    fn call(from: &str, to: &str, all: bool) -> EditCall {
        EditCall {
            path: "a".into(),
            old_text: from.to_owned(),
            new_text: to.to_owned(),
            replace_all: all,
        }
    }

    fn applied(old: &str, from: &str, to: &str, all: bool) -> Result<String, String> {
        let (new, lines) =
            apply(old.as_bytes(), &call(from, to, all), 100).map_err(|fault| fault.to_string())?;
        Ok(format!("{} {lines:?}", String::from_utf8(new).expect("UTF-8")))
    }

    #[test]
    fn one_piece_is_replaced() {
        assert_eq!(applied("a\nb\nc", "b", "x\ny", false).as_deref(), Ok("a\nx\ny\nc [2]"));
        assert_eq!(applied("ab", "b", "", false).as_deref(), Ok("a [1]"));
        assert_eq!(applied("a\na\na", "a", "b", true).as_deref(), Ok("b\nb\nb [1, 2, 3]"));
        assert_eq!(applied("a\n\na\n\na", "a\n", "", true).as_deref(), Ok("\n\na [1, 3]"));
    }

    #[test]
    fn refusals_say_how_often_it_occurs() {
        let text = applied("a a a", "a", "b", false).expect_err("refused");
        assert!(text.contains("occurs 3 times"), "{text}");
        let text = applied("aaa", "aa", "b", false).expect_err("refused");
        assert!(text.contains("occurs 2 times"), "{text}");
        let text = applied("abc", "x", "b", false).expect_err("refused");
        assert!(text.contains("does not occur"), "{text}");
        let text = applied("a\r\nb\r\n", "a\nb", "b", false).expect_err("refused");
        assert!(text.contains("CR LF"), "{text}");
        let text = applied("aaaa", "a", &"b".repeat(30), true).expect_err("refused");
        assert!(text.contains("100 bytes"), "{text}");
    }

    #[test]
    fn the_file_is_replaced_as_a_whole() {
        let folder = folder();
        folder.put("a", b"one \xff two\n");
        let edited = edit(&folder.dir, &folder.root, &call("two", "three", false), 100);
        let text = edited.expect("edited").output;
        assert!(text.starts_with("replaced 1 occurrence, at line 1 (sha256 "), "{text}");
        let bytes = std::fs::read(folder.root.join("a")).expect("a file");
        assert_eq!(bytes, b"one \xff three\n");
        let edited = edit(&folder.dir, &folder.root, &call("two", "three", false), 5);
        assert_eq!(edited, Err(FileFault::TooLarge(5)));
    }

    #[test]
    fn many_lines_are_not_all_told() {
        let lines: Vec<usize> = (1..=40).collect();
        assert_eq!(told(&lines[..2]), "2 occurrences, at lines 1, 2");
        assert!(told(&lines).starts_with("40 occurrences, the first at lines 1, 2, "));
        assert!(told(&lines).len() < 100);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for arguments in [
            json!({"path": "a", "old_text": "x"}),
            json!({"path": "a", "old_text": "", "new_text": "x"}),
            json!({"path": "a", "old_text": "x", "new_text": "x"}),
            json!({"path": "", "old_text": "x", "new_text": "y"}),
        ] {
            let refusal = plan(&arguments).expect_err("wrong");
            assert_eq!(refusal.error, ToolError::InvalidArguments, "{arguments}");
        }
    }

    proptest! {
        #[test]
        fn as_the_standard_library_replaces(
            old in "[ab\n]{0,40}", from in "[ab\n]{1,3}", to in "[abc]{0,3}",
        ) {
            prop_assume!(from != to);
            match apply(old.as_bytes(), &call(&from, &to, true), 1000) {
                Ok((new, lines)) => {
                    prop_assert_eq!(String::from_utf8(new).unwrap(), old.replace(&from, &to));
                    prop_assert_eq!(lines.len(), old.matches(&from).count());
                }
                Err(_) => prop_assert!(!old.contains(&from)),
            }
        }
    }
}
