//! What a chat's list of messages shows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::script::{APP, Answer};
use crate::limits;

/// The token of a list that never ends.
const ENDLESS: &str = "sim-endless";

#[derive(Default)]
pub(super) struct History {
    chats: BTreeMap<String, Vec<Value>>,
    /// Chats whose list says for ever that there is more, with the same token.
    pub(super) endless: BTreeSet<String>,
}

impl History {
    pub(super) fn add(&mut self, item: Value) {
        let chat = item["chat_id"].as_str().unwrap_or_default().to_owned();
        self.chats.entry(chat).or_default().push(item);
    }

    /// A message of the bot itself.
    pub(super) fn add_own(&mut self, message_id: &str, chat: &str, now_ms: u64, content: &str) {
        let sender = json!({"id": APP, "id_type": "app_id", "sender_type": "app"});
        self.add(json!({
            "message_id": message_id, "msg_type": "text", "chat_id": chat,
            "create_time": now_ms.to_string(), "update_time": now_ms.to_string(),
            "deleted": false, "updated": false, "sender": sender, "body": {"content": content},
        }));
    }

    pub(super) fn recall(&mut self, message_id: &str) {
        let items = self.chats.values_mut().flatten();
        for item in items.filter(|item| item["message_id"] == message_id) {
            item["deleted"] = true.into();
            item["body"]["content"] = "This message was recalled".into();
        }
    }

    /// The answer to a list call; the faults are those of the query.
    pub(super) fn list(&self, query: &BTreeMap<String, String>) -> (Answer, Vec<String>) {
        let faults = query_faults(query);
        if !faults.is_empty() {
            return (Answer::refusal(99_992_402, "field validation failed"), faults);
        }
        let chat = query.get("container_id").map(String::as_str).unwrap_or_default();
        let mut items = self.within(chat, query);
        items.sort_by_key(|item| moment_ms(item));
        if query.get("sort_type").is_none_or(|sort| sort != "ByCreateTimeAsc") {
            items.reverse();
        }
        let size = number(query, "page_size").unwrap_or(limits::PAGE_DEFAULT_COUNT);
        let token = query.get("page_token").map(String::as_str).unwrap_or_default();
        let first = token.strip_prefix("page-").and_then(|first| first.parse().ok()).unwrap_or(0);
        let page: Vec<_> = items.iter().skip(first).take(size as usize).collect();
        let next = first + page.len();
        let (has_more, token) = match self.endless.contains(chat) {
            true => (true, ENDLESS.to_owned()),
            false => (next < items.len(), format!("page-{next}")),
        };
        let data = json!({"has_more": has_more, "page_token": token, "items": page});
        (Answer::data(data), faults)
    }

    fn within(&self, chat: &str, query: &BTreeMap<String, String>) -> Vec<&Value> {
        let begin = number(query, "start_time").unwrap_or(0);
        let end = number(query, "end_time").unwrap_or(u64::MAX);
        let items = self.chats.get(chat).into_iter().flatten();
        items
            .filter(|item| (begin..=end).contains(&(moment_ms(item) / 1000)))
            // A thread shows only its first message here.
            .filter(|item| item["thread_id"].is_null() || item["root_id"].is_null())
            .collect()
    }
}

/// The list's form of a message that came as an event.
pub(super) fn item_of(event: &Value) -> Option<Value> {
    let (message, sender) = (&event["event"]["message"], &event["event"]["sender"]);
    let mentions = message["mentions"].as_array().into_iter().flatten().map(|mention| {
        json!({
            "key": mention["key"], "id": mention["id"]["open_id"], "id_type": "open_id",
            "name": mention["name"], "tenant_key": mention["tenant_key"],
        })
    });
    message["message_id"].as_str()?;
    let mut item = json!({
        "message_id": message["message_id"], "msg_type": message["message_type"],
        "create_time": message["create_time"], "update_time": message["create_time"],
        "deleted": false, "updated": false, "chat_id": message["chat_id"],
        "sender": {
            "id": sender["sender_id"]["open_id"], "id_type": "open_id",
            "sender_type": sender["sender_type"], "tenant_key": sender["tenant_key"],
        },
        "body": {"content": message["content"]},
        "mentions": mentions.collect::<Vec<_>>(),
    });
    for optional in ["root_id", "parent_id", "thread_id"] {
        if !message[optional].is_null() {
            item[optional] = message[optional].clone();
        }
    }
    Some(item)
}

fn moment_ms(item: &Value) -> u64 {
    item["create_time"].as_str().and_then(|moment| moment.parse().ok()).unwrap_or(0)
}

fn number(query: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    query.get(name)?.parse().ok()
}

fn query_faults(query: &BTreeMap<String, String>) -> Vec<String> {
    let is_seconds = |name: &str| {
        let value = query.get(name);
        value.is_none_or(|value| value.len() == 10 && value.bytes().all(|b| b.is_ascii_digit()))
    };
    let size = number(query, "page_size").unwrap_or(limits::PAGE_DEFAULT_COUNT);
    let rules = [
        (
            "container_id_type is not chat",
            query.get("container_id_type").is_some_and(|kind| kind == "chat"),
        ),
        ("container_id is missing", query.get("container_id").is_some_and(|id| !id.is_empty())),
        ("start_time is not in seconds", is_seconds("start_time")),
        ("end_time is not in seconds", is_seconds("end_time")),
        ("page_size is not from 1 to 50", (1..=limits::PAGE_MAX_COUNT).contains(&size)),
    ];
    rules.iter().filter(|(_, right)| !right).map(|(fault, _)| format!("list: {fault}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let usual = [("container_id_type", "chat"), ("sort_type", "ByCreateTimeAsc")];
        let pairs = usual.iter().chain(pairs);
        pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn page(history: &History, pairs: &[(&str, &str)]) -> Value {
        let (answer, faults) = history.list(&query(pairs));
        assert_eq!(faults, [""; 0]);
        serde_json::from_str::<Value>(&answer.body).expect("JSON")["data"].clone()
    }

    #[test]
    fn pages_follow_each_other_and_seconds_are_inclusive() {
        let mut history = History::default();
        for number in 0..70_u64 {
            let moment = 1_790_000_000_000 + number * 500;
            history.add(json!({"message_id": format!("om_{number}"), "chat_id": "oc_1",
                               "create_time": moment.to_string()}));
        }
        let first = page(&history, &[("container_id", "oc_1"), ("page_size", "50")]);
        assert_eq!(
            (first["items"].as_array().map(Vec::len), &first["has_more"]),
            (Some(50), &true.into())
        );
        let token = first["page_token"].as_str().expect("a token");
        let rest =
            page(&history, &[("container_id", "oc_1"), ("page_size", "50"), ("page_token", token)]);
        assert_eq!(
            (rest["items"].as_array().map(Vec::len), &rest["has_more"]),
            (Some(20), &false.into())
        );
        let last = page(&history, &[("container_id", "oc_1"), ("start_time", "1790000034")]);
        assert_eq!(last["items"].as_array().map(Vec::len), Some(2), "both of that second");
    }

    #[test]
    fn milliseconds_are_refused() {
        let (answer, faults) = History::default()
            .list(&query(&[("container_id", "oc_1"), ("start_time", "1790000034000")]));
        assert_eq!((answer.status, faults.len()), (400, 1));
    }
}
