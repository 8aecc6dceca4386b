//! What was written while nobody was connected.

use std::collections::BTreeMap;

use scv_simulators::{
    Feishu,
    feishu::{BOT, GROUP, OWNER, P2P},
};
use serde_json::{Value, json};

use crate::account::{Host, LIMIT, knows, platform, script};

/// An item of a history, this long before now.
fn item(platform: &Feishu, chat: &str, n: u64, text: &str, before_ms: u64) -> Value {
    let moment = (platform.now_ms() - before_ms).to_string();
    json!({
        "message_id": format!("om_missed_{n}"), "msg_type": "text", "create_time": moment,
        "deleted": false, "chat_id": chat, "body": {"content": json!({"text": text}).to_string()},
        "sender": {"id": OWNER, "id_type": "open_id", "sender_type": "user"},
    })
}

fn since(platform: &Feishu, chat: &str, before_ms: u64) -> String {
    knows(chat, chat == GROUP, platform.now_ms() - before_ms)
}

#[tokio::test]
async fn a_missed_message_comes_first_and_its_chat_moves_on() {
    let platform = platform();
    let before = since(&platform, P2P, 60_000);
    let missed = platform.miss_message(OWNER, "missed");
    let mut host = Host::connect(&platform, &before).await;
    platform.push_message(OWNER, "live");
    let messages = host.messages(2).await;
    let texts: Vec<_> = messages.iter().filter_map(|message| message.text.as_deref()).collect();
    assert_eq!((messages[0].id.as_str(), texts), (missed.as_str(), vec!["missed", "live"]));
    assert_ne!(host.checkpoint, before);
    assert!(host.stored()["chats"][P2P]["gap"].is_null(), "{}", host.checkpoint);
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn in_a_group_only_what_mentions_the_bot_counts() {
    let platform = platform();
    let mut question = item(&platform, GROUP, 2, "@_user_1 question", 20_000);
    question["mentions"] =
        json!([{"key": "@_user_1", "id": BOT, "id_type": "open_id", "name": "Test Bot"}]);
    let items = vec![item(&platform, GROUP, 1, "chatter", 30_000), question];
    platform.add_history(BTreeMap::from([(GROUP.to_owned(), items)]), false);
    let mut host = Host::connect(&platform, &since(&platform, GROUP, 60_000)).await;
    assert_eq!(host.texts(1).await, ["question"]);
}

#[tokio::test]
async fn four_pages_and_the_rest_with_the_next_connection() {
    let platform = platform();
    let items = (0..330).map(|n| item(&platform, P2P, n, &n.to_string(), 3_000_000 - n * 2_000));
    platform.add_history(BTreeMap::from([(P2P.to_owned(), items.collect())]), false);
    let begin = since(&platform, P2P, 3_600_000);
    let mut host = Host::connect(&platform, &begin).await;
    assert_eq!(host.texts(200).await.len(), 200);
    let gap = host.stored()["chats"][P2P]["gap"].clone();
    assert_eq!(gap["from_ms"], host.stored()["chats"][P2P]["last_ms"]);
    platform.push_message(OWNER, "live");
    assert_eq!(host.texts(1).await, ["live"]);
    assert_eq!(host.stored()["chats"][P2P]["gap"], gap, "a live message keeps it");
    let checkpoint = host.checkpoint.clone();
    drop(host);

    let mut next = Host::connect(&platform, &checkpoint).await;
    // The newest of before, the rest, and the live one once more: the host knows its id.
    let texts = next.texts(132).await;
    assert_eq!(texts.first().map(String::as_str), Some("199"));
    assert_eq!(texts.last().map(String::as_str), Some("live"));
    assert!(next.stored()["chats"][P2P]["gap"].is_null(), "{}", next.checkpoint);
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_list_without_an_end_is_not_followed() {
    let platform = platform();
    let items = vec![item(&platform, P2P, 1, "m", 20_000)];
    platform.add_history(BTreeMap::from([(P2P.to_owned(), items)]), true);
    let mut host = Host::connect(&platform, &since(&platform, P2P, 60_000)).await;
    let live = async {
        platform.wait_requests("/im/v1/messages", 2, LIMIT).await.expect("two pages");
    };
    host.meanwhile(live).await;
    assert!(platform.requests("/im/v1/messages").len() <= 4);
}

#[tokio::test]
async fn a_refused_history_is_left_and_a_broken_one_tried_again() {
    let platform = platform();
    platform.miss_message(OWNER, "missed");
    script(&platform, json!({"path": "/im/v1/messages", "http": 502, "times": 1}));
    let mut host = Host::connect(&platform, &since(&platform, P2P, 60_000)).await;
    assert_eq!(host.texts(1).await, ["missed"]);

    script(&platform, json!({"path": "/im/v1/messages", "http": 400, "code": 230027}));
    let mut host = Host::connect(&platform, &since(&platform, P2P, 60_000)).await;
    platform.push_message(OWNER, "live");
    assert_eq!(host.texts(1).await, ["live"]);
}

#[tokio::test]
async fn events_do_not_wait_for_a_history_that_hangs() {
    let platform = platform();
    let hang = json!({"path": "/im/v1/messages", "delay": 60, "times": 99});
    script(&platform, hang);
    let before = since(&platform, P2P, 60_000);
    let from_ms: Value = serde_json::from_str(&before).expect("JSON");
    let mut host = Host::connect(&platform, &before).await;
    platform.push_message(OWNER, "live");
    assert_eq!(host.texts(1).await, ["live"]);
    let gap = &host.stored()["chats"][P2P]["gap"];
    assert_eq!(gap["from_ms"], from_ms["chats"][P2P]["last_ms"], "{}", host.checkpoint);
}
