//! One frame, `pbbp2.Frame` in the platform's words (proto2). Numbers and headers go back as
//! they came, all 64 bits.

use bytes::Bytes;
use prost::Message;

/// `method` of pings and pongs.
const CONTROL: i32 = 0;
/// `method` of events and their acknowledgements.
const DATA: i32 = 1;
/// What an acknowledgement carries.
const OK: &[u8] = br#"{"code":200}"#;

/// A key and its value.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Header {
    #[prost(string, required, tag = "1")]
    pub(crate) key: String,
    #[prost(string, required, tag = "2")]
    pub(crate) value: String,
}

/// A frame.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Frame {
    #[prost(uint64, required, tag = "1")]
    pub(crate) seq_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub(crate) log_id: u64,
    #[prost(int32, required, tag = "3")]
    pub(crate) service: i32,
    #[prost(int32, required, tag = "4")]
    pub(crate) method: i32,
    #[prost(message, repeated, tag = "5")]
    pub(crate) headers: Vec<Header>,
    #[prost(string, optional, tag = "6")]
    pub(crate) payload_encoding: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(crate) payload_type: Option<String>,
    #[prost(bytes = "bytes", optional, tag = "8")]
    pub(crate) payload: Option<Bytes>,
    #[prost(string, optional, tag = "9")]
    pub(crate) log_id_new: Option<String>,
}

/// What a frame is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The answer to a ping.
    Pong,
    /// An event, or a part of one.
    Event,
    /// Nothing that is handled; official clients do not answer it either.
    Other,
}

impl Frame {
    /// Reads a frame; none when the bytes are no frame.
    pub(crate) fn read(bytes: Bytes) -> Option<Self> {
        Self::decode(bytes).ok()
    }

    /// The bytes of the frame.
    pub(crate) fn write(&self) -> Bytes {
        self.encode_to_vec().into()
    }

    /// The ping of a connection.
    pub(crate) fn ping(service: i32) -> Self {
        Self { service, method: CONTROL, headers: vec![header("type", "ping")], ..Self::default() }
    }

    /// The acknowledgement of an event by the frame that completed it, `took_ms` after it.
    pub(crate) fn acknowledge(mut self, took_ms: u128) -> Self {
        self.headers.push(header("biz_rt", &took_ms.to_string()));
        self.payload = Some(Bytes::from_static(OK));
        self
    }

    /// A header; of several with one key, the first.
    pub(crate) fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.key == key).map(|header| header.value.as_str())
    }

    /// What it is about.
    pub(crate) fn kind(&self) -> Kind {
        match (self.method, self.header("type")) {
            (CONTROL, Some("pong")) => Kind::Pong,
            (DATA, Some("event")) => Kind::Event,
            _ => Kind::Other,
        }
    }
}

fn header(key: &str, value: &str) -> Header {
    Header { key: key.to_owned(), value: value.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::vectors::{captured, odd};

    #[test]
    fn captured_frames_keep_their_bytes() {
        let vectors = captured();
        assert!(vectors.len() > 20);
        for vector in vectors {
            let frame = Frame::read(vector.bytes.clone()).expect(&vector.name);
            let decoded = &vector.decoded;
            assert_eq!(Some(frame.seq_id), decoded["SeqID"].as_u64(), "{}", vector.name);
            assert_eq!(Some(frame.log_id), decoded["LogID"].as_u64(), "{}", vector.name);
            assert_eq!(i64::from(frame.service), decoded["service"].as_i64().expect("service"));
            let headers: Vec<_> =
                frame.headers.iter().map(|header| [&header.key, &header.value]).collect();
            assert_eq!(serde_json::json!(headers), decoded["headers"], "{}", vector.name);
            if vector.canonical {
                assert_eq!(frame.write(), vector.bytes, "{}", vector.name);
            }
            assert_eq!(Frame::read(frame.write()), Some(frame), "{}", vector.name);
        }
    }

    /// Go's client writes empty optional fields, too; Python's and Node's do not.
    #[test]
    fn our_ping_is_the_official_one() {
        let is_ping = |name: &str| name.starts_with("lark-oapi") && name.ends_with("ping");
        let ping = captured().into_iter().find(|vector| is_ping(&vector.name)).expect("a ping");
        assert_eq!(Frame::ping(33_554_678).write(), ping.bytes);
    }

    #[test]
    fn odd_frames_are_read_or_dropped() {
        for vector in odd() {
            let read = Frame::read(vector.bytes.clone());
            match vector.name.as_str() {
                "truncated in the middle" | "varint without an end" | "header is not UTF-8" => {
                    assert!(read.is_none(), "{}", vector.name);
                }
                "data frame of type card"
                | "data frame of an unknown type"
                | "control frame of an unknown type"
                | "control frame without headers"
                | "empty binary message" => {
                    assert_eq!(read.expect("a frame").kind(), Kind::Other, "{}", vector.name);
                }
                name if name.starts_with("pong") => {
                    assert_eq!(read.expect("a frame").kind(), Kind::Pong, "{name}");
                }
                name => assert_eq!(read.expect(name).kind(), Kind::Event, "{name}"),
            }
        }
    }

    #[test]
    fn an_acknowledgement_is_the_frame_with_two_things_more() {
        for name in [
            "u64 maximum in SeqID and LogID",
            "negative service (ten-byte varint)",
            "repeated header key, first wins",
            "non-ASCII header value",
        ] {
            let vector = odd().into_iter().find(|vector| vector.name == name).expect(name);
            let frame = Frame::read(vector.bytes).expect(name);
            let ack = Frame::read(frame.clone().acknowledge(7).write()).expect(name);
            assert_eq!((ack.seq_id, ack.log_id), (frame.seq_id, frame.log_id), "{name}");
            assert_eq!((ack.service, ack.method), (frame.service, DATA), "{name}");
            let (last, before) = ack.headers.split_last().expect("headers");
            assert_eq!(before, frame.headers, "{name}");
            assert_eq!((last.key.as_str(), last.value.as_str()), ("biz_rt", "7"));
            assert_eq!(ack.payload.as_deref(), Some(OK));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_dropped(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(frame) = Frame::read(bytes.into()) {
                prop_assert_eq!(Frame::read(frame.write()), Some(frame));
            }
        }
    }
}
