//! Calls whose fragments come in any interleaving that ids or indexes make readable.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::calls::{CallFault, Calls, Fragment};

/// As Chat Completions has it.
fn fragment(value: &Value) -> Fragment<'_> {
    Fragment {
        id: value["id"].as_str(),
        index: value["index"].as_u64(),
        name: value["function"]["name"].as_str(),
        arguments: value["function"]["arguments"].as_str().unwrap_or_default().into(),
    }
}

fn add_all(fragments: impl IntoIterator<Item = Value>) -> Result<Vec<[String; 2]>, CallFault> {
    let mut calls = Calls::default();
    for value in fragments {
        calls.add(&fragment(&value))?;
    }
    let calls = calls.finish()?;
    Ok(calls.into_iter().map(|call| [call.name, call.arguments]).collect())
}

#[test]
fn the_33rd_call_and_one_byte_too_many_are_limits() {
    let call = |n: usize| json!({"id": n.to_string(), "function": {"name": "f"}});
    assert_eq!(add_all((0..32).map(call)).map(|calls| calls.len()), Ok(32));
    assert_eq!(add_all((0..33).map(call)), Err(CallFault::Limit));
    let sized = |bytes: usize| {
        let arguments = format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        add_all([json!({"id": "1", "function": {"name": "f", "arguments": arguments}})])
    };
    assert!(sized(256 * 1024).is_ok());
    assert_eq!(sized(256 * 1024 + 1), Err(CallFault::Limit));
}

#[test]
fn damaged_arguments_never_pass() {
    for arguments in ["{", "[]", "1", "\"x\"", "{} x", "{}{}", "nul", "{\"a\":1}{\"a\":2}", "{,}"] {
        for pieces in [vec![arguments.to_owned()], arguments.chars().map(String::from).collect()] {
            let head = json!({"id": "1", "function": {"name": "f"}});
            let tail = pieces.iter().map(|p| json!({"function": {"arguments": p}}));
            let calls = add_all(std::iter::once(head).chain(tail));
            assert_eq!(calls, Err(CallFault::Damaged), "{arguments}");
        }
    }
}

/// How a server marks the fragments of a call.
#[derive(Debug, Clone, Copy)]
enum Marks {
    IdAlways,
    IdAlwaysIndexZero,
    IdFirstThenIndex,
    IndexOnly,
}

proptest! {
    #[test]
    fn interleaved_calls_keep_their_own_arguments(
        marks in prop::sample::select(vec![
            Marks::IdAlways, Marks::IdAlwaysIndexZero, Marks::IdFirstThenIndex, Marks::IndexOnly,
        ]),
        count in 1_usize..5,
        order in prop::collection::vec(0_usize..5, 0..60),
    ) {
        let texts: Vec<String> = (0..count).map(|n| format!("{{\"n\":\"}}{{{n}\"}}")).collect();
        let mut sent = vec![0; count];
        let mut fragments = Vec::new();
        let mut send = |call: usize, piece: &str, is_first: bool| {
            let mut value = json!({"function": {"arguments": piece}});
            if is_first {
                value["function"]["name"] = json!(format!("f{call}"));
            }
            if matches!(marks, Marks::IdAlways | Marks::IdAlwaysIndexZero)
                || (is_first && matches!(marks, Marks::IdFirstThenIndex))
            {
                value["id"] = json!(format!("id{call}"));
            }
            match marks {
                Marks::IdAlways => {}
                Marks::IdAlwaysIndexZero => value["index"] = json!(0),
                Marks::IdFirstThenIndex | Marks::IndexOnly => value["index"] = json!(call),
            }
            fragments.push(value);
        };
        for call in 0..count {
            send(call, "", true);
        }
        for call in order.into_iter().chain((0..count).flat_map(|call| [call; 20])) {
            let call = call % count;
            if let Some(piece) = texts[call].get(sent[call]..=sent[call]) {
                send(call, piece, false);
                sent[call] += 1;
            }
        }
        let want: Vec<_> = (0..count).map(|n| [format!("f{n}"), texts[n].clone()]).collect();
        prop_assert_eq!(add_all(fragments), Ok(want));
    }
}
