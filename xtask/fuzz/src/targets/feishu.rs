//! What strangers send over Feishu's long connection and in its histories.

use scv_channel_feishu::fuzz;

use super::{Kind, Target};

/// Pieces of frames.
const BINARY: &[&[u8]] = &[
    b"\x08\x07\x10\x09\x18\x01\x20\x01",
    b"\x08\x00\x10\x00\x18\x01\x20\x00",
    b"\x2a\x0d\x0a\x04type\x12\x05event",
    b"\x2a\x0c\x0a\x04type\x12\x04pong",
    b"\x2a\x11\x0a\x0amessage_id\x12\x03m-1",
    b"\x2a\x08\x0a\x03sum\x12\x012",
    b"\x2a\x08\x0a\x03seq\x12\x010",
    b"\x2a\x08\x0a\x03seq\x12\x011",
    b"\x2a\x11\x0a\x03sum\x12\x0a4294967296",
    b"\x42\x02{}",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
];

/// Pieces of messages.
const JSON: &[&[u8]] = &[
    b"{\"text\":\"",
    b"\"content\":[[",
    b"\"content_v2\":[[",
    b"\"zh_cn\":{",
    b"\"title\":\"t\"",
    b"{\"tag\":\"text\",\"text\":\"x\"}",
    b"{\"tag\":\"at\",\"user_id\":\"@_user_1\"}",
    b"{\"tag\":\"code_block\",\"text\":\"c\"}",
    b"{\"tag\":\"a\",\"href\":\"h\"}",
    b"@_user_1",
    b"@_all",
    b"\"message_id\":\"om_1\"",
    b"\"create_time\":\"1790000000123\"",
    b"\"msg_type\":\"text\"",
    b"\"sender\":{\"id\":\"ou_1\",\"sender_type\":\"user\"}",
    b"\"mentions\":[",
    b"\"event_type\":\"im.message.receive_v1\"",
    b"null",
    b"\\ud800",
    b"1e999",
    b",",
    b"}",
    b"]",
];

/// The targets of this channel.
pub(super) fn targets() -> [Target; 5] {
    [
        Target { name: "feishu-frame", run: |input| Kind::of(fuzz::frame(input)), words: BINARY },
        Target { name: "feishu-parts", run: |input| Kind::of(fuzz::parts(input)), words: BINARY },
        Target { name: "feishu-post", run: |input| Kind::of(fuzz::post(input)), words: JSON },
        Target { name: "feishu-history", run: |input| Kind::of(fuzz::history(input)), words: JSON },
        Target { name: "feishu-event", run: |input| Kind::of(fuzz::event(input)), words: JSON },
    ]
}
