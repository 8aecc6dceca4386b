//! The merger of tool calls: no call gets another's arguments, and none runs half.
//!
//! An input is a list of lines `id|index|name|arguments`; an empty field is none.

use std::collections::{BTreeMap, BTreeSet};

use scv_agent::fuzz::{self, CallPiece};
use serde_json::{Map, Value};

use super::{Kind, about};

pub(crate) const NAME: &str = "calls";

pub(crate) const WORDS: &[&[u8]] = &[
    b"\n",
    b"|",
    b"a|0|bash|",
    b"b|1|read|",
    b"|0||",
    b"|1||",
    b"|||",
    b"a|||",
    b"b|||",
    b"c|0||",
    b"{}",
    b"{",
    b"}",
    b"{\"a\":1}",
    b"{\"a\":",
    b"\"",
    b"\\",
    b"[",
    b"]",
    b"null",
    b" ",
    b"1}",
];

pub(crate) fn run(input: &[u8]) -> Kind {
    let Ok(text) = std::str::from_utf8(input) else {
        return Kind::of(());
    };
    let lines: Vec<CallPiece<'_>> = text.lines().map(piece).collect();
    let merged = fuzz::merge(lines.iter().copied());
    let Some(calls) = &merged else {
        return Kind::of((about(lines.len()), "refused"));
    };
    let ids: BTreeSet<&str> = calls.iter().map(|[id, ..]| id.as_str()).collect();
    assert_eq!(ids.len(), calls.len(), "two calls with one id");
    assert!(calls.len() <= 32, "too many calls");
    for [id, name, arguments] in calls {
        assert!(!id.is_empty() && !name.is_empty(), "a call without a name");
        let object = serde_json::from_str::<Map<String, Value>>(arguments);
        assert!(object.is_ok(), "half a call: {arguments}");
    }
    check_against_model(&lines, calls);
    let empty = calls.iter().filter(|[_, _, arguments]| arguments == "{}").count();
    let with_id = lines.iter().filter(|line| line.id.is_some()).count();
    Kind::of((about(lines.len()), about(calls.len()), empty.min(2), about(with_id)))
}

fn piece(line: &str) -> CallPiece<'_> {
    let mut fields = line.splitn(4, '|').map(|field| Some(field).filter(|field| !field.is_empty()));
    let mut next = || fields.next().flatten();
    let (id, index, name) = (next(), next().and_then(|index| index.parse().ok()), next());
    CallPiece { id, index, name, arguments: next().unwrap_or_default() }
}

/// Where every piece has its id, it is clear what belongs together: the pieces of each id, in
/// order, up to where its object is whole and is only said again.
fn check_against_model(lines: &[CallPiece<'_>], calls: &[[String; 3]]) {
    let mut model: BTreeMap<&str, String> = BTreeMap::new();
    for line in lines {
        let Some(id) = line.id.filter(|id| id.len() <= 256) else {
            return;
        };
        model.entry(id).or_default().push_str(line.arguments);
    }
    assert_eq!(model.len(), calls.len(), "other calls than ids");
    for [id, _, arguments] in calls {
        let written = &model[id.as_str()];
        let is_absent = arguments == "{}" && matches!(written.trim(), "" | "null");
        assert!(
            is_absent || written.starts_with(arguments.as_str()),
            "{written} became {arguments}"
        );
    }
}
