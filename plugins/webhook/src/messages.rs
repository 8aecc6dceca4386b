//! What a request says: one message, or a list of them.

use scv_plugin_api::{
    limits::MAX_MESSAGE_ID_BYTES,
    wire::{Conversation, Inbound, InboundKind},
};
use serde::Deserialize;

use crate::limits::{MAX_MESSAGES_COUNT, MAX_NAME_BYTES, MAX_TEXT_BYTES};

#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    Many { messages: Vec<Message> },
    One(Message),
}

#[derive(Deserialize)]
struct Message {
    /// The same one for a message that is sent again; without it the request's nonce is it.
    id: Option<String>,
    sender: String,
    text: String,
    sender_name: Option<String>,
    /// The conversation that others read along; without it the sender speaks alone.
    group: Option<String>,
    sent_at_ms: Option<u64>,
}

/// Reads a body; the text says what is wrong and what to do.
pub(crate) fn read(body: &[u8], nonce: &str) -> Result<Vec<Inbound>, &'static str> {
    let body: Body = serde_json::from_slice(body).map_err(
        |_| "the body is no message; send {\"sender\":\"…\",\"text\":\"…\"} or {\"messages\":[…]}",
    )?;
    let messages = match body {
        Body::One(message) => vec![message],
        Body::Many { messages } => messages,
    };
    if messages.is_empty() || messages.len() > MAX_MESSAGES_COUNT {
        return Err("a request brings 1 to 1000 messages; send several requests");
    }
    let single = messages.len() == 1;
    let read = |(n, message): (usize, Message)| {
        let id = if single { nonce.to_owned() } else { format!("{nonce}-{n}") };
        inbound(message, id)
    };
    messages.into_iter().enumerate().map(read).collect()
}

fn inbound(message: Message, otherwise: String) -> Result<Inbound, &'static str> {
    let id = message.id.unwrap_or(otherwise);
    if id.is_empty() || id.len() > MAX_MESSAGE_ID_BYTES {
        return Err("an id has 1 to 256 bytes; use a shorter one, or none");
    }
    check_name(&message.sender)?;
    message.group.as_deref().map_or(Ok(()), check_name)?;
    if message.sender_name.as_ref().is_some_and(|name| name.len() > MAX_NAME_BYTES) {
        return Err("a sender_name has at most 128 bytes; use a shorter one");
    }
    if message.text.trim().is_empty() {
        return Err("a text is empty; write something in it, or leave its message out");
    }
    if message.text.len() > MAX_TEXT_BYTES {
        return Err("a text has at most 65536 bytes; send it in parts");
    }
    let conversation = Conversation {
        id: message.group.clone().unwrap_or_else(|| message.sender.clone()),
        group: message.group.is_some(),
        thread: None,
    };
    Ok(Inbound {
        id,
        kind: InboundKind::Text,
        conversation,
        sender: message.sender,
        sender_name: message.sender_name,
        text: Some(message.text),
        sent_at_ms: message.sent_at_ms,
        ..Inbound::default()
    })
}

/// A sender or a group. NUL stands between the two where the host keeps conversations.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err("a sender and a group have 1 to 128 bytes; use shorter names, or no group");
    }
    if name.contains('\0') {
        return Err("a sender or a group holds the character NUL; leave it out of the name");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_message_has_the_nonce_for_an_id() {
        let read = read(br#"{"sender":"ann","text":"hi","later":1}"#, "nonce-1").unwrap();
        assert_eq!((read[0].id.as_str(), read[0].conversation.id.as_str()), ("nonce-1", "ann"));
        assert_eq!(read[0].text.as_deref(), Some("hi"));
    }

    #[test]
    fn several_messages_have_ids_that_differ() {
        let body = br#"{"messages":[{"sender":"a","text":"1"},{"id":"x","sender":"a","text":"2","group":"g"}]}"#;
        let read = read(body, "n").unwrap();
        assert_eq!([read[0].id.as_str(), read[1].id.as_str()], ["n-0", "x"]);
        assert!(read[1].conversation.group && read[1].conversation.id == "g");
    }

    #[test]
    fn what_is_too_long_or_missing_is_said() {
        let long = |bytes| "x".repeat(bytes);
        for (body, what) in [
            (json!([]), "no message"),
            (json!({}), "no message"),
            (json!({"messages": []}), "1 to 1000 messages"),
            (json!({"sender": "", "text": "x"}), "a sender"),
            (json!({"sender": long(129), "text": "x"}), "a sender"),
            (json!({"sender": "a\0b", "text": "x"}), "NUL"),
            (json!({"sender": "a", "text": "x", "group": ""}), "a group"),
            (json!({"sender": "a", "text": "x", "group": "b\0"}), "NUL"),
            (json!({"sender": "a", "text": "x", "sender_name": long(129)}), "a sender_name"),
            (json!({"sender": "a", "text": ""}), "empty"),
            (json!({"sender": "a", "text": " \n"}), "empty"),
            (json!({"sender": "a", "text": long(MAX_TEXT_BYTES + 1)}), "65536 bytes"),
            (json!({"sender": "a", "text": "x", "id": long(257)}), "an id"),
        ] {
            let wrong = read(body.to_string().as_bytes(), "n").unwrap_err();
            assert!(wrong.contains(what) && wrong.contains("; "), "{wrong}");
        }
    }
}
