//! Frames of official clients: they are read and written to the same bytes.

use scv_simulators::feishu::Frame;
use serde_json::Value;

const VECTORS: &str = include_str!("../../../e2e/cases/feishu_frames.json");

fn vectors(kind: &str) -> Vec<Value> {
    let mut all: Value = serde_json::from_str(VECTORS).expect("JSON");
    all[kind].as_array_mut().map(std::mem::take).expect("a list")
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn matches(frame: &Frame, decoded: &Value) -> bool {
    let headers: Vec<Value> =
        frame.headers.iter().map(|(key, value)| serde_json::json!([key, value])).collect();
    let payload = frame.payload.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    decoded["SeqID"].as_u64() == Some(frame.seq_id)
        && decoded["LogID"].as_u64() == Some(frame.log_id)
        && decoded["service"].as_i64() == Some(frame.service.into())
        && decoded["method"].as_i64() == Some(frame.method.into())
        && decoded["headers"].as_array() == Some(&headers)
        && decoded["payload"].as_str().is_none_or(|text| payload == Some(text))
}

#[test]
fn captured_frames_survive_a_round_trip() {
    for vector in vectors("captured") {
        let name = &vector["name"];
        let wire = bytes(vector["hex"].as_str().expect("hex"));
        let frame = Frame::decode(&wire).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(matches(&frame, &vector["decoded"]), "{name}: {frame:?}");
        if vector["canonical"] == true {
            assert_eq!(frame.encode(), wire, "{name}");
        }
    }
}

#[test]
fn odd_frames_are_read_or_refused() {
    for vector in vectors("odd_frames") {
        let frame = Frame::decode(&bytes(vector["hex"].as_str().expect("hex")));
        if !vector["decoded"].is_null() {
            let frame = frame.unwrap_or_else(|why| panic!("{}: {why}", vector["name"]));
            assert!(matches(&frame, &vector["decoded"]), "{}: {frame:?}", vector["name"]);
        }
    }
}
