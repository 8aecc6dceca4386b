//! Events: read, handed over, acknowledged.

use scv_plugin_api::wire::InboundKind;
use scv_simulators::feishu::{Again, GROUP, OWNER, STRANGER};
use serde_json::json;

use crate::account::{Host, LIMIT, platform};

#[tokio::test]
async fn an_event_is_acknowledged_only_once_it_is_durable() {
    let platform = platform();
    let mut host = Host::connect(&platform, "").await;
    let id = platform.push_message(OWNER, "hello");
    let message = host.messages(1).await.remove(0);
    assert_eq!((message.id.as_str(), message.text.as_deref()), (id.as_str(), Some("hello")));
    assert_eq!(message.sender, OWNER);
    assert_eq!(platform.acks(), [], "the batch is not durable yet");
    host.meanwhile(platform.wait_acks(1, LIMIT)).await.expect("an acknowledgement");
    assert_eq!(platform.acks()[0].code, Some(200));
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn other_events_are_acknowledged_at_once() {
    let platform = platform();
    let _host = Host::connect(&platform, "").await;
    for kind in ["im.message.message_read_v1", "im.message.updated_v9"] {
        platform
            .push_event(&json!({"header": {"event_id": kind, "event_type": kind}, "event": {}}));
    }
    platform.wait_acks(2, LIMIT).await.expect("acknowledgements without a reader");
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn split_events_are_joined() {
    let platform = platform();
    platform.split(7);
    let mut host = Host::connect(&platform, "").await;
    let text = "字".repeat(5_000);
    platform.push_message(OWNER, &text);
    assert_eq!(host.texts(1).await, [text]);
    host.meanwhile(platform.wait_acks(1, LIMIT)).await.expect("one acknowledgement");
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_group_is_answered_when_it_mentions_the_bot() {
    let platform = platform();
    let mut host = Host::connect(&platform, "").await;
    platform.push_mention(STRANGER, "/help me");
    let message = host.messages(1).await.remove(0);
    assert_eq!(message.text.as_deref(), Some("/help me"));
    assert!(message.conversation.group);
    assert_eq!((message.conversation.id.as_str(), message.sender.as_str()), (GROUP, STRANGER));
    assert_eq!(host.stored()["chats"][GROUP]["group"], true);
}

#[tokio::test]
async fn a_redelivery_under_a_new_id_has_the_same_second_key() {
    let platform = platform();
    let mut host = Host::connect(&platform, "").await;
    let first = platform.push_message(OWNER, "deploy it");
    let again = platform.redeliver(&first, Again::NewIds).expect("again");
    let messages = host.messages(2).await;
    assert_eq!((&messages[0].id, &messages[1].id), (&first, &again));
    assert!(messages[0].dedup_key.is_some());
    assert_eq!(messages[0].dedup_key, messages[1].dedup_key);
}

#[tokio::test]
async fn what_is_no_event_is_skipped_and_the_connection_lives() {
    let platform = platform();
    let mut host = Host::connect(&platform, "").await;
    platform.push_text_frame("a text message");
    for bytes in [
        &b""[..],
        b"\x08\x07\x10",
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xff\xfe",
    ] {
        platform.push_bytes(bytes.to_vec());
    }
    platform.push_message(OWNER, "still there");
    assert_eq!(host.texts(1).await, ["still there"]);
    assert_eq!(platform.opened(), 1);
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_flood_comes_in_order_and_is_acknowledged_in_time() {
    let platform = platform();
    let mut host = Host::connect(&platform, "").await;
    let ids: Vec<String> = (0..500).map(|n| platform.push_message(OWNER, &n.to_string())).collect();
    let messages = host.messages(500).await;
    assert_eq!(messages.iter().map(|message| message.id.clone()).collect::<Vec<_>>(), ids);
    assert!(messages.iter().all(|message| message.kind == InboundKind::Text));
    host.meanwhile(platform.wait_acks(500, LIMIT)).await.expect("all acknowledged");
    assert_eq!(platform.violations(), [""; 0]);
}
