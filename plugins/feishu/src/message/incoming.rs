//! One message, before it is known what it means here.

use scv_plugin_api::{
    limits::MAX_MESSAGE_ID_BYTES,
    wire::{Conversation, Inbound, InboundKind},
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    content::{Content, read_content},
    mentions::Mention,
};
use crate::limits::{BATCH_BYTES, NAME_BYTES};

/// A message as the platform tells it, by an event or in a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub(crate) id: String,
    /// Empty when it has none: then nothing can be answered.
    pub(crate) chat: String,
    /// None in a history.
    pub(crate) group: Option<bool>,
    /// Written by a person, not by an app.
    pub(crate) from_person: bool,
    /// The `open_id` of the person; may be empty.
    pub(crate) sender: String,
    pub(crate) root: String,
    pub(crate) thread: String,
    pub(crate) created_ms: Option<u64>,
    pub(crate) kind: String,
    pub(crate) content: String,
    pub(crate) mentions: Vec<Mention>,
}

/// Who reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read<'a> {
    /// The bot's own `open_id`.
    pub(crate) bot: Option<&'a str>,
    /// Whether the chat is a group.
    pub(crate) group: bool,
}

/// The message as the host takes it: text for the agent, or only an id to be marked seen.
pub(crate) fn read(incoming: &Incoming, reader: Read<'_>) -> Inbound {
    let seen = Inbound { id: incoming.id.clone(), ..Inbound::default() };
    if !incoming.from_person || incoming.sender.is_empty() || incoming.chat.is_empty() {
        return seen;
    }
    let Some(Content { text, mentions_bot }) = read_content(incoming, reader.bot) else {
        return seen;
    };
    if reader.group && !mentions_bot {
        return seen;
    }
    let conversation = match reader.group {
        true => Conversation {
            id: incoming.chat.clone(),
            group: true,
            thread: Some(incoming.thread.clone()).filter(|thread| !thread.is_empty()),
        },
        false => Conversation { id: incoming.sender.clone(), group: false, thread: None },
    };
    bounded(Inbound {
        kind: InboundKind::Text,
        conversation,
        sender: incoming.sender.clone(),
        text: Some(text),
        dedup_key: dedup_key(incoming),
        sent_at_ms: incoming.created_ms,
        ..seen
    })
}

/// A message that no document can hold is one that cannot be read.
fn bounded(message: Inbound) -> Inbound {
    match encoded_bytes(&message) <= BATCH_BYTES {
        true => message,
        false => Inbound { kind: InboundKind::Unreadable, text: None, ..message },
    }
}

/// The size of a message in a document.
pub(crate) fn encoded_bytes(message: &Inbound) -> usize {
    serde_json::to_vec(message).map_or(usize::MAX, |json| json.len())
}

/// Equal for two deliveries of one message under different ids, which happens (reported live,
/// 2026). The thread is in it: the same words in two topics are two messages. Without a time
/// there is no key, because people do write the same words twice.
fn dedup_key(incoming: &Incoming) -> Option<String> {
    let time = incoming.created_ms?;
    let Incoming { sender, chat, root, thread, kind, content, .. } = incoming;
    // A JSON array, so that no two lists of parts read the same.
    let parts = serde_json::to_vec(&(sender, chat, root, thread, time, kind, content)).ok()?;
    Some(Sha256::digest(parts).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// An id of a message, a chat or a person; none when it is not usable as one.
pub(super) fn id_of(value: &Value) -> Option<String> {
    let limit = NAME_BYTES.min(MAX_MESSAGE_ID_BYTES);
    let id = value.as_str()?;
    let fits = !id.is_empty() && id.len() <= limit && !id.contains('\0');
    fits.then(|| id.to_owned())
}

/// A time in milliseconds, which the platform writes as text.
pub(super) fn ms_of(value: &Value) -> Option<u64> {
    let ms = value.as_str().and_then(|text| text.parse().ok()).or_else(|| value.as_u64())?;
    (ms != 0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming(text: &str) -> Incoming {
        Incoming {
            id: "om_1".into(),
            chat: "oc_1".into(),
            from_person: true,
            sender: "ou_1".into(),
            created_ms: Some(5),
            kind: "text".into(),
            content: serde_json::json!({ "text": text }).to_string(),
            ..Incoming::default()
        }
    }

    fn direct(incoming: &Incoming) -> Inbound {
        read(incoming, Read { bot: Some("ou_bot"), group: false })
    }

    #[test]
    fn a_direct_message_is_its_senders_conversation() {
        let inbound = direct(&incoming("hi"));
        assert_eq!(inbound.kind, InboundKind::Text);
        assert_eq!(inbound.conversation.id, "ou_1");
        assert_eq!((inbound.text.as_deref(), inbound.sent_at_ms), (Some("hi"), Some(5)));
    }

    #[test]
    fn only_people_with_an_id_are_answered() {
        let odd = [
            Incoming { from_person: false, ..incoming("hi") },
            Incoming { sender: String::new(), ..incoming("hi") },
            Incoming { chat: String::new(), ..incoming("hi") },
            Incoming { kind: "image".into(), ..incoming("hi") },
            Incoming { content: "plain words".into(), ..incoming("hi") },
        ];
        for one in odd {
            let inbound = direct(&one);
            let seen = Inbound { id: "om_1".into(), ..Inbound::default() };
            assert_eq!(inbound, seen, "{one:?}");
        }
    }

    #[test]
    fn the_second_key_tells_messages_apart() {
        let key = |change: fn(&mut Incoming)| {
            let mut one = incoming("yes");
            change(&mut one);
            dedup_key(&one)
        };
        let first = key(|_| ());
        assert_eq!(first.as_ref().map(String::len), Some(64));
        assert_eq!(first, key(|one| one.id = "om_2".into()), "another id, the same message");
        for other in [
            key(|one| one.sender = "ou_2".into()),
            key(|one| one.chat = "oc_2".into()),
            key(|one| one.root = "om_0".into()),
            key(|one| one.thread = "omt_1".into()),
            key(|one| one.created_ms = Some(6)),
            key(|one| one.content = "{}".into()),
            key(|one| one.created_ms = None),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_message_that_fits_nowhere_is_unreadable() {
        let inbound = direct(&incoming(&"x".repeat(BATCH_BYTES)));
        assert_eq!((inbound.kind, inbound.text), (InboundKind::Unreadable, None));
        assert!(inbound.dedup_key.is_some());
    }
}
