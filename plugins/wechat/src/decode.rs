//! One element of a poll's `msgs`, to one message of the boundary.
//!
//! Every element with a usable id becomes a message: what is odd, empty, an echo of the bot or
//! without what an answer needs is `ignored`, so that the host marks its id seen. An element
//! without an id (no object, no `message_id`, 0, longer than 256 bytes) cannot be marked, and an
//! invented id would push real ones out of the host's memory of ids: it is left out and counted,
//! and the checkpoint that follows it is what makes sure that it never comes again.

use scv_plugin_api::{
    limits::MAX_REPLY_TOKEN_BYTES,
    wire::{Conversation, Inbound, InboundKind, Secret},
};

use crate::{
    content::Content,
    dedup::dedup_key,
    fields::Fields,
    limits::{NAME_BYTES, PART_BYTES},
};

/// `message_type` of what people write; 2 is the bot itself.
const FROM_USER: i64 = 1;

/// Decodes an element; none when it has no id.
pub(crate) fn decode(element: &str) -> Option<Inbound> {
    let message = Fields::parse(element)?;
    let id = message.id("message_id")?;
    Some(match read(&message) {
        Some(inbound) => bounded(Inbound { id, ..inbound }),
        None => Inbound { id, ..Inbound::default() },
    })
}

/// The message without its id; none when it is only to be marked seen.
fn read(message: &Fields<'_>) -> Option<Inbound> {
    if message.integer("message_type") != Some(FROM_USER) {
        return None;
    }
    let sender = message.filled("from_user_id", NAME_BYTES)?;
    let reply_token = message.filled("context_token", MAX_REPLY_TOKEN_BYTES)?;
    let content = Content::read(&message.array("item_list")?);
    let kind = content.kind();
    if kind == InboundKind::Ignored {
        return None;
    }
    let mut inbound = Inbound {
        kind,
        conversation: conversation(message, &sender)?,
        sender,
        text: content.text,
        quote: content.quote,
        spoken: content.spoken,
        media: content.media,
        reply_token: Some(Secret::new(reply_token)),
        sent_at_ms: message.unsigned("create_time_ms").filter(|time| *time != 0),
        ..Inbound::default()
    };
    inbound.dedup_key = dedup_key(&inbound);
    Some(inbound)
}

/// A message that names a group is never taken for a direct one, whatever the name looks like.
fn conversation(message: &Fields<'_>, sender: &str) -> Option<Conversation> {
    let group = match message.json("group_id") {
        None | Some("null") => String::new(),
        Some(_) => message.text("group_id")?,
    };
    if group.len() > NAME_BYTES {
        return None;
    }
    let (id, group) = if group.is_empty() { (sender.to_owned(), false) } else { (group, true) };
    Some(Conversation { id, group, thread: None })
}

/// A message that no document can hold is one that cannot be read.
fn bounded(message: Inbound) -> Inbound {
    if encoded_bytes(&message) <= PART_BYTES {
        return message;
    }
    Inbound {
        kind: InboundKind::Unreadable,
        text: None,
        quote: None,
        spoken: false,
        media: Vec::new(),
        ..message
    }
}

/// The size of a message in a document.
pub(crate) fn encoded_bytes(message: &Inbound) -> usize {
    serde_json::to_vec(message).map_or(usize::MAX, |json| json.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use scv_simulators::cases::wechat_case;
    use serde_json::json;

    use super::*;
    use crate::updates::read_updates;

    const SENDER: &str = "o9cq8TESTUSER0000000000000001@im.wechat";

    /// The messages of the `nth` poll of a case.
    fn poll(id: &str, nth: usize) -> Vec<Inbound> {
        let polls = wechat_case(id).expect("a case").polls();
        read_updates(200, None, polls[nth].as_bytes()).expect("readable").messages
    }

    /// What the host would give the agent: id and text.
    fn turns(messages: &[Inbound]) -> Vec<(&str, &str)> {
        let texts = messages.iter().filter(|message| message.kind == InboundKind::Text);
        texts.map(|message| (message.id.as_str(), message.text.as_deref().unwrap())).collect()
    }

    fn kinds(messages: &[Inbound]) -> Vec<InboundKind> {
        messages.iter().map(|message| message.kind).collect()
    }

    #[test]
    fn ids_above_2_53() {
        assert_eq!(
            turns(&poll("ids-above-2^53", 0)),
            [
                ("9007199254740993", "a"),
                ("9007199254740992", "b"),
                ("18446744073709551615", "c"),
                ("7492913259736648969", "d"),
            ]
        );
    }

    #[test]
    fn a_whole_message() {
        let message = &poll("dup-same-id", 0)[0];
        assert_eq!(message.sender, SENDER);
        assert_eq!(
            message.conversation,
            Conversation { id: SENDER.into(), group: false, thread: None }
        );
        assert_eq!(
            message.reply_token.as_ref().map(|token| token.expose().as_str()),
            Some("ctx-1")
        );
        assert_eq!(message.sent_at_ms, Some(1_790_000_001_000));
        assert!(!message.spoken && message.media.is_empty() && message.quote.is_none());
    }

    #[test]
    fn poison_type() {
        let messages = poll("poison-type", 0);
        assert_eq!(
            turns(&messages).iter().map(|turn| turn.1).collect::<Vec<_>>(),
            ["first", "last"]
        );
        assert_eq!(messages[1].kind, InboundKind::Unreadable);
        assert_eq!(messages[1].id, "7492913259736648002");
    }

    #[test]
    fn poison_token() {
        let messages = poll("poison-token", 0);
        assert_eq!(
            kinds(&messages),
            [InboundKind::Text, InboundKind::Ignored, InboundKind::Ignored]
        );
    }

    #[test]
    fn poison_shapes() {
        let polls = wechat_case("poison-shapes").expect("a case").polls();
        let updates = read_updates(200, None, polls[0].as_bytes()).expect("readable");
        let texts: Vec<&str> = turns(&updates.messages).iter().map(|turn| turn.1).collect();
        assert_eq!(texts, ["first", "last"]);
        assert_eq!((updates.messages.len(), updates.left_out, updates.ignored()), (4, 4, 2));
        assert_eq!(updates.cursor, "b1");
    }

    #[test]
    fn own_echo_and_blank_text() {
        for id in ["own-echo", "blank-text"] {
            assert_eq!(kinds(&poll(id, 0)), [InboundKind::Ignored; 2], "{id}");
        }
    }

    #[test]
    fn group_field() {
        let message = &poll("group-field", 0)[0];
        assert_eq!(
            message.conversation,
            Conversation { id: "12345@chatroom".into(), group: true, thread: None }
        );
    }

    #[test]
    fn a_group_of_another_form_is_no_direct_chat() {
        for (group, kind) in [
            (json!(12345), InboundKind::Ignored),
            (json!({}), InboundKind::Ignored),
            (json!(null), InboundKind::Text),
            (json!(""), InboundKind::Text),
        ] {
            let mut wire = message(json!([text("hi")]));
            wire["group_id"] = group.clone();
            assert_eq!(one(&wire).kind, kind, "{group}");
        }
    }

    #[test]
    fn speech_files_and_quotes() {
        let voice = &poll("voice-transcript", 0)[0];
        assert_eq!((voice.text.as_deref(), voice.spoken), (Some("list open issues"), true));
        assert_eq!(poll("image-only", 0)[0].kind, InboundKind::Unreadable);
        let file = &poll("file-only", 0)[0];
        assert_eq!(file.kind, InboundKind::Unreadable);
        assert_eq!(
            (file.media[0].name.as_deref(), file.media[0].bytes),
            (Some("a.csv"), Some(120))
        );
        let quote = &poll("quote-text", 0)[0];
        assert_eq!(quote.text.as_deref(), Some("shorter please"));
        assert_eq!(quote.quote.as_ref().map(|q| q.text.as_str()), Some("a long earlier answer"));
        let wordless = &poll("quote-type0", 0)[0];
        assert_eq!((wordless.text.as_deref(), &wordless.quote), (Some("redo"), &None));
    }

    fn message(items: serde_json::Value) -> serde_json::Value {
        json!({
            "message_id": 1, "message_type": 1, "from_user_id": "u", "context_token": "c",
            "create_time_ms": 5, "item_list": items,
        })
    }

    fn text(text: &str) -> serde_json::Value {
        json!({"type": 1, "text_item": {"text": text}})
    }

    fn one(message: &serde_json::Value) -> Inbound {
        decode(&message.to_string()).expect("an id")
    }

    #[test]
    fn all_text_items_are_read_in_order() {
        let image = json!({"type": 2, "image_item": {}});
        let message = one(&message(json!([text("one"), image, text(" "), text("two")])));
        assert_eq!(message.text.as_deref(), Some("one\ntwo"));
        assert_eq!(message.media[0].kind, "image");
        assert_eq!(message.kind, InboundKind::Text);
    }

    #[test]
    fn a_voice_without_a_transcript_cannot_be_read() {
        let voice = one(&message(json!([{"type": 3, "voice_item": {"playtime": 5, "text": " "}}])));
        assert_eq!((voice.kind, voice.spoken), (InboundKind::Unreadable, false));
    }

    #[test]
    fn a_message_too_large_for_a_document_is_kept_small() {
        let huge = one(&message(json!([text(&"x".repeat(PART_BYTES))])));
        assert_eq!((huge.kind, &huge.text), (InboundKind::Unreadable, &None));
        assert!(encoded_bytes(&huge) < 1024);
    }

    #[test]
    fn the_second_key_is_for_deliveries_not_for_words() {
        let first = one(&message(json!([text("yes")])));
        let mut again = message(json!([text("yes")]));
        again["message_id"] = json!(2);
        again["context_token"] = json!("d");
        assert!(first.dedup_key.is_some());
        assert_eq!(one(&again).dedup_key, first.dedup_key);
        for (field, value) in [
            ("create_time_ms", json!(6)),
            ("from_user_id", json!("v")),
            ("group_id", json!("g")),
            ("item_list", json!([text("no")])),
        ] {
            let mut other = again.clone();
            other[field] = value;
            assert_ne!(one(&other).dedup_key, first.dedup_key, "{field}");
        }
        again["create_time_ms"] = json!(0);
        assert_eq!(one(&again).dedup_key, None);
        assert!(first.dedup_key.is_some_and(|key| key.len() <= 128));
    }

    #[test]
    fn secrets_do_not_show() {
        let mut wire = message(json!([text("hi")]));
        wire["context_token"] = json!("hunter22");
        assert!(!format!("{:?}", one(&wire)).contains("hunter22"));
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            (0..12i64).prop_map(Into::into),
            ".{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let field = prop::sample::select(vec![
                "type",
                "text",
                "text_item",
                "voice_item",
                "file_item",
                "ref_msg",
                "len",
                "title",
                "message_item",
                "message_id",
                "item_list",
                "from_user_id",
                "group_id",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map(field.prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Whatever one field holds: no panic, the id is kept, and the document stays in its limits.
        #[test]
        fn one_odd_field_never_costs_the_id(field in 0..6usize, value in any_json()) {
            let names = ["message_type", "from_user_id", "context_token", "create_time_ms",
                "item_list", "group_id"];
            let mut wire = message(json!([text("hi")]));
            wire[names[field]] = value;
            let message = one(&wire);
            prop_assert_eq!(&message.id, "1");
            prop_assert!(encoded_bytes(&message) <= PART_BYTES);
            prop_assert_eq!(message.kind == InboundKind::Text, message.text.is_some());
            prop_assert!(message.kind == InboundKind::Ignored || !message.sender.is_empty());
        }

        #[test]
        fn any_text_is_decoded_without_a_panic(json in ".{0,64}") {
            prop_assert!(decode(&json).is_none_or(|message| !message.id.is_empty()));
        }

        #[test]
        fn an_element_has_an_id_or_is_left_out(value in any_json()) {
            let message = decode(&value.to_string());
            prop_assert!(message.is_none_or(|m| !m.id.is_empty() && m.id.len() <= 256));
        }
    }
}
