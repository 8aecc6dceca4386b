//! The payload of an event frame.

use serde_json::Value;

use super::{
    Incoming, Mention,
    incoming::{id_of, ms_of},
};
use crate::limits::EVENT_TYPE_BYTES;

/// The one event that becomes a message.
const MESSAGE: &str = "im.message.receive_v1";

/// What an event is.
#[derive(Debug)]
pub(crate) enum Event {
    /// A message with a usable id.
    Message(Box<Incoming>),
    /// Another event, by its type.
    Other(String),
    /// Nothing that can be read.
    Unreadable,
}

/// Reads an event. Nothing here fails: a field that is absent or of another type is not there.
pub(crate) fn read_event(payload: &[u8]) -> Event {
    let Ok(event) = serde_json::from_slice::<Value>(payload) else { return Event::Unreadable };
    match event["header"]["event_type"].as_str() {
        Some(MESSAGE) => match message(&event["event"]) {
            Some(message) => Event::Message(Box::new(message)),
            None => Event::Unreadable,
        },
        Some(kind) => Event::Other(plain(kind)),
        None => Event::Unreadable,
    }
}

fn message(event: &Value) -> Option<Incoming> {
    let (message, sender) = (&event["message"], &event["sender"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // Topic groups have a name of their own in some answers: only p2p is private.
    let is_group = message["chat_type"] != "p2p";
    Some(Incoming {
        id: id_of(&message["message_id"])?,
        chat: id_of(&message["chat_id"]).unwrap_or_default(),
        group: Some(is_group),
        from_person: sender["sender_type"] == "user",
        sender: id_of(&sender["sender_id"]["open_id"]).unwrap_or_default(),
        root: text(&message["root_id"]),
        thread: text(&message["thread_id"]),
        created_ms: ms_of(&message["create_time"]),
        kind: text(&message["message_type"]),
        content: text(&message["content"]),
        mentions: Mention::list(&message["mentions"]),
    })
}

/// The type as the log may show it.
fn plain(kind: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    kind.chars().filter(is_plain).take(EVENT_TYPE_BYTES).collect()
}
