//! docs/protocol.md shows every message and event, as it really is.

mod variants;

use std::{collections::BTreeSet, fmt::Debug};

use scv_protocol::{ClientMessage, ServerEvent};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

const PAGE: &str = include_str!("../../docs/protocol.md");

/// The lines of the page's JSON blocks, numbered from 1.
fn samples() -> impl Iterator<Item = (usize, &'static str)> {
    let mut inside = false;
    (1..).zip(PAGE.lines()).filter(move |(_, line)| {
        if line.starts_with("```") {
            inside = *line == "```json";
            return false;
        }
        inside && !line.is_empty()
    })
}

/// Decodes, encodes, and compares what came out with what went in.
fn round_trip<T: Serialize + DeserializeOwned + Debug>(number: usize, line: &str) -> T {
    let sample: Value = serde_json::from_str(line)
        .unwrap_or_else(|error| panic!("line {number} is no JSON: {error}"));
    let decoded: T = serde_json::from_str(line)
        .unwrap_or_else(|error| panic!("line {number} is not of the protocol: {error}"));
    let encoded = serde_json::to_value(&decoded).expect("it was JSON before");
    assert_eq!(encoded, sample, "line {number} says something that is not kept");
    decoded
}

/// Everything that the page shows.
#[derive(Default)]
struct Shown {
    messages: BTreeSet<&'static str>,
    actions: BTreeSet<&'static str>,
    events: BTreeSet<&'static str>,
}

fn shown() -> Shown {
    let mut shown = Shown::default();
    for (number, line) in samples() {
        if ClientMessage::decode(line.as_bytes()).is_err() {
            let event: ServerEvent = round_trip(number, line);
            shown.events.insert(variants::event(&event));
            continue;
        }
        let message: ClientMessage = round_trip(number, line);
        shown.messages.insert(variants::message(&message));
        if let ClientMessage::DaemonControl { command, .. } = &message {
            shown.actions.insert(variants::action(command));
        }
    }
    shown
}

#[test]
fn samples_are_what_goes_over_the_wire_and_none_is_missing() {
    let shown = shown();
    let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(shown.messages, set(variants::MESSAGES));
    assert_eq!(shown.actions, set(variants::ACTIONS));
    // What a client makes of events that it does not know has no line of its own.
    let mut events = set(variants::EVENTS);
    events.remove("Unknown");
    assert_eq!(shown.events, events);
}

#[test]
fn every_code_and_state_is_on_the_page() {
    for word in variants::words() {
        assert!(PAGE.contains(&format!("`{word}`")), "`{word}` is missing");
    }
}

#[test]
fn the_limits_on_the_page_are_the_limits() {
    use scv_protocol::limits;
    let rows = [
        (
            "a line from a client (`protocol.max_client_frame_bytes`)",
            limits::MAX_CLIENT_FRAME_BYTES / (1024 * 1024),
            "MiB",
        ),
        ("a prompt", limits::MAX_PROMPT_BYTES / 1024, "KiB"),
        (
            "a line from the server (`protocol.max_server_frame_bytes`)",
            limits::MAX_SERVER_FRAME_BYTES / (1024 * 1024),
            "MiB",
        ),
        ("assistant text of one response", limits::MAX_ASSISTANT_TEXT_BYTES / (1024 * 1024), "MiB"),
        ("waiting for a client that does not read", limits::WRITER_QUEUE_FRAMES_COUNT, "lines"),
    ];
    for (name, value, unit) in rows {
        let row = format!("| {name} | {value} {unit}");
        assert!(PAGE.contains(&row), "{row} is missing");
    }
}
