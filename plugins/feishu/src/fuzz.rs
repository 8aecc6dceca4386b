//! The decoders for fuzz targets; only with the feature `fuzz`, which nothing that ships has.
//!
//! Each function panics when something is wrong, and otherwise says in a few words what kind of
//! thing happened.

use bytes::Bytes;
use scv_plugin_api::wire::{Inbound, InboundKind};
use tokio::time::Instant;

use crate::{
    limits::{BATCH_BYTES, EVENT_BYTES, NAME_BYTES},
    message::{Event, Incoming, Mention, Read, encoded_bytes, read, read_event, read_items},
    wire::{Frame, Joined, Parts},
};

const BOT: &str = "ou_bot";

/// A frame that was read is written and read again as the same.
pub fn frame(input: &[u8]) -> String {
    let Some(frame) = Frame::read(Bytes::copy_from_slice(input)) else {
        return "no frame".to_owned();
    };
    assert_eq!(Frame::read(frame.write()).as_ref(), Some(&frame), "another frame");
    let ack = frame.clone().acknowledge(7);
    assert_eq!((ack.seq_id, ack.log_id, ack.service), (frame.seq_id, frame.log_id, frame.service));
    assert!(ack.headers.starts_with(&frame.headers), "an echo without its headers");
    format!("{:?} {}", frame.kind(), frame.payload.is_some())
}

/// Frames one after the other, each with its length in one byte before it: what is joined is no
/// longer than what came.
pub fn parts(input: &[u8]) -> Vec<&'static str> {
    let (mut parts, mut came, mut joined) = (Parts::default(), 0, 0);
    let mut kinds = Vec::new();
    let mut rest = input;
    while let Some((length, after)) = rest.split_first() {
        let (bytes, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        let Some(mut frame) = Frame::read(Bytes::copy_from_slice(bytes)) else { continue };
        came += frame.payload.as_ref().map_or(0, Bytes::len);
        kinds.push(match parts.add(&mut frame, Instant::now()) {
            Joined::Whole(event) => {
                assert!(event.len() <= EVENT_BYTES, "an event past the limit");
                joined += event.len();
                "whole"
            }
            Joined::Waiting => "waiting",
            Joined::Refused(why) => why,
        });
        assert!(joined <= came, "more was joined than came");
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The content of a text or a post, in a group and in a direct chat.
pub fn post(input: &[u8]) -> Vec<String> {
    let Ok(content) = std::str::from_utf8(input) else { return Vec::new() };
    let mentions = serde_json::json!([
        {"key": "@_user_1", "id": {"open_id": BOT}, "name": "Bot"},
        {"key": "@_user_2", "id": {"open_id": "ou_2"}, "name": "@_user_1"},
    ]);
    let message = |kind: &str| Incoming {
        id: "om_1".to_owned(),
        chat: "oc_1".to_owned(),
        from_person: true,
        sender: "ou_1".to_owned(),
        kind: kind.to_owned(),
        content: content.to_owned(),
        mentions: Mention::list(&mentions),
        ..Incoming::default()
    };
    ["text", "post"].iter().map(|kind| judge(&message(kind))).collect()
}

/// A page of history.
pub fn history(input: &[u8]) -> Vec<String> {
    let Ok(items) = serde_json::from_slice(input) else { return Vec::new() };
    let (messages, newest_ms) = read_items(&items, "oc_1");
    let newest_read = messages.iter().filter_map(|message| message.created_ms).max();
    assert!(newest_read <= newest_ms, "a message newer than its page");
    let mut kinds: Vec<String> = messages.iter().map(judge).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// An event.
pub fn event(input: &[u8]) -> String {
    match read_event(input) {
        Event::Message(message) => judge(&message),
        Event::Other(kind) => format!("other {}", kind.len().min(3)),
        Event::Unreadable => "unreadable".to_owned(),
    }
}

fn judge(message: &Incoming) -> String {
    let read = |group| read(message, Read { bot: Some(BOT), group });
    let both = [read(false), read(true)];
    for inbound in &both {
        check(message, inbound);
    }
    let [direct, group] = both.map(|inbound| inbound.kind);
    format!("{direct:?} {group:?} {}", message.mentions.len().min(2))
}

fn check(message: &Incoming, inbound: &Inbound) {
    assert_eq!(inbound.id, message.id, "another id");
    assert!(!inbound.id.is_empty() && inbound.id.len() <= NAME_BYTES, "no usable id");
    let is_text = inbound.kind == InboundKind::Text;
    assert_eq!(inbound.text.is_some(), is_text, "text without its kind");
    assert!(encoded_bytes(inbound) <= BATCH_BYTES, "a message past the limit");
}
