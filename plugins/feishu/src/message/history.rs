//! An item of a chat's history. It tells the same as an event, in other words, and not whether
//! the chat is a group.

use serde_json::Value;

use super::{
    Incoming, Mention,
    incoming::{id_of, ms_of},
};

/// The items of a page, and the newest time among them. The bot's own messages, those of other
/// apps, and withdrawn ones are left out.
pub(crate) fn read_items(items: &Value, chat: &str) -> (Vec<Incoming>, Option<u64>) {
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    let newest_ms = items.iter().filter_map(|item| ms_of(&item["create_time"])).max();
    (items.iter().filter_map(|item| read_item(item, chat)).collect(), newest_ms)
}

fn read_item(item: &Value, chat: &str) -> Option<Incoming> {
    let sender = &item["sender"];
    let from_person = sender["sender_type"] == "user";
    if !from_person || item["deleted"] == true {
        return None;
    }
    // Other kinds of ids could be taken for somebody else.
    let by_open_id = matches!(sender["id_type"].as_str(), None | Some("open_id"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(Incoming {
        id: id_of(&item["message_id"])?,
        chat: chat.to_owned(),
        group: None,
        from_person,
        sender: id_of(&sender["id"]).filter(|_| by_open_id).unwrap_or_default(),
        root: text(&item["root_id"]),
        thread: text(&item["thread_id"]),
        created_ms: ms_of(&item["create_time"]),
        kind: text(&item["msg_type"]),
        content: text(&item["body"]["content"]),
        mentions: Mention::list(&item["mentions"]),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_people_wrote_and_kept_is_read() {
        let item = |id: &str, more: &Value| {
            let mut item = json!({
                "message_id": id, "msg_type": "text", "create_time": "1790000000123",
                "deleted": false, "chat_id": "oc_1",
                "sender": {"id": "ou_1", "id_type": "open_id", "sender_type": "user"},
                "body": {"content": "{\"text\":\"hi\"}"},
            });
            item.as_object_mut().expect("o").extend(more.as_object().expect("o").clone());
            item
        };
        let items = json!([
            item("om_1", &json!({})),
            item(
                "om_2",
                &json!({"deleted": true, "body": {"content": "This message was recalled"}})
            ),
            item(
                "om_3",
                &json!({"sender": {"id": "cli_1", "id_type": "app_id", "sender_type": "app"}})
            ),
            item(
                "om_4",
                &json!({"sender": {"id": "u", "id_type": "user_id", "sender_type": "user"}})
            ),
            item("", &json!({"create_time": "1790000000999"})),
            7,
        ]);
        let (read, newest) = read_items(&items, "oc_1");
        let ids: Vec<_> = read.iter().map(|one| (one.id.as_str(), one.sender.as_str())).collect();
        assert_eq!(ids, [("om_1", "ou_1"), ("om_4", "")]);
        assert_eq!(newest, Some(1_790_000_000_999));
        assert_eq!((read[0].group, read[0].chat.as_str()), (None, "oc_1"));
        for odd in [json!(null), json!({}), json!("x")] {
            assert_eq!(read_items(&odd, "oc_1").1, None);
        }
    }

    /// The second key must not depend on the way a message came.
    #[test]
    fn history_and_events_tell_the_same() {
        let event = json!({
            "header": {"event_type": "im.message.receive_v1"},
            "event": {
                "sender": {"sender_id": {"open_id": "ou_1"}, "sender_type": "user"},
                "message": {
                    "message_id": "om_1", "create_time": "1790000000123", "chat_id": "oc_1",
                    "chat_type": "p2p", "message_type": "text", "content": "{\"text\":\"hi\"}",
                },
            },
        });
        let event = super::super::read_event(event.to_string().as_bytes());
        let super::super::Event::Message(event) = event else { panic!("{event:?}") };
        let items = json!([{
            "message_id": "om_1", "create_time": "1790000000123", "msg_type": "text",
            "sender": {"id": "ou_1", "id_type": "open_id", "sender_type": "user"},
            "body": {"content": "{\"text\":\"hi\"}"},
        }]);
        let (items, _) = read_items(&items, "oc_1");
        assert_eq!(Incoming { group: None, ..*event }, items[0]);
    }
}
