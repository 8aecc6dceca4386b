//! Lines that are no messages: which code they get, and whose request id.

use proptest::prelude::*;
use scv_protocol::{ClientMessage, ControlCommand, ErrorCode, ServerEvent};

/// Line, code, request id.
const CASES: [(&str, ErrorCode, Option<&str>); 14] = {
    use ErrorCode::{InvalidJson, InvalidRequest};
    [
        ("", InvalidJson, None),
        ("hello", InvalidJson, None),
        ("{\"type\":\"initialize\"", InvalidJson, None),
        ("[]", InvalidJson, None),
        ("\"initialize\"", InvalidJson, None),
        ("{}", InvalidRequest, None),
        (r#"{"request_id":"7"}"#, InvalidRequest, Some("7")),
        (r#"{"type":"session.dance","request_id":"7"}"#, InvalidRequest, Some("7")),
        (r#"{"type":7,"request_id":"7"}"#, InvalidRequest, Some("7")),
        (r#"{"type":"turn.start","request_id":7}"#, InvalidRequest, None),
        (r#"{"type":"turn.start","request_id":"7","session_id":"s"}"#, InvalidRequest, Some("7")),
        (
            r#"{"type":"turn.start","request_id":"7","session_id":"s","prompt":7}"#,
            InvalidRequest,
            Some("7"),
        ),
        (
            r#"{"type":"daemon.control","request_id":"7","command":{"action":"dance"}}"#,
            InvalidRequest,
            Some("7"),
        ),
        (
            r#"{"type":"initialize","request_id":"7","protocol_version":3,"client":{"name":"a"}}"#,
            InvalidRequest,
            Some("7"),
        ),
    ]
};

#[test]
fn each_fault_has_its_code_and_echoes_the_request_id() {
    for (line, code, request_id) in CASES {
        let error = ClientMessage::decode(line.as_bytes()).expect_err(line);
        assert_eq!(error.code, code, "{line}");
        assert_eq!(error.request_id.as_deref(), request_id, "{line}");
    }
}

#[test]
fn another_version_is_that_whatever_it_looks_like() {
    for version in ["-1", "0", "1", "4", "9", "5000000000", "\"3\"", "2.5", "3.0", "null", "[3]"] {
        for rest in [r#","client":{"name":"a","version":"1"}"#, "", r#","client":7"#] {
            let line = format!(
                r#"{{"type":"initialize","request_id":"7","protocol_version":{version}{rest}}}"#
            );
            let error = ClientMessage::decode(line.as_bytes()).expect_err(&line);
            assert_eq!(error.code, ErrorCode::VersionMismatch, "{line}");
            assert_eq!(error.request_id.as_deref(), Some("7"), "{line}");
        }
    }
    let none = br#"{"type":"initialize"}"#;
    assert_eq!(ClientMessage::decode(none).expect_err("none").code, ErrorCode::VersionMismatch);
}

#[test]
fn an_unknown_type_and_an_unknown_action_are_called_unknown() {
    for (line, told) in [
        (r#"{"type":"dance","request_id":"7"}"#, "\"type\" is unknown"),
        (
            r#"{"type":"daemon.control","request_id":"7","command":{"action":"dance"}}"#,
            "\"action\" is unknown",
        ),
        (
            r#"{"type":"daemon.control","request_id":"7","command":{"action":"channel_logout"}}"#,
            "missing field `channel`",
        ),
        (r#"{"type":"daemon.control","request_id":"7","command":{"action":0}}"#, "no \"action\""),
        (
            r#"{"type":"daemon.control","request_id":"7","command":"status"}"#,
            "a value of another kind",
        ),
    ] {
        let message = ClientMessage::decode(line.as_bytes()).expect_err(line).message;
        assert!(message.contains(told), "{line}: {message}");
    }
}

#[test]
fn a_line_that_is_not_text_is_not_json() {
    let error = ClientMessage::decode(b"{\"type\":\"\xff\"}").expect_err("not UTF-8");
    assert_eq!(error.code, ErrorCode::InvalidJson);
}

#[test]
fn a_missing_field_is_named() {
    let line = br#"{"type":"turn.start","request_id":"7","session_id":"s"}"#;
    let error = ClientMessage::decode(line).expect_err("no prompt");
    assert!(error.message.contains("prompt"), "{}", error.message);
    assert!(error.message.starts_with("turn.start: "), "{}", error.message);
}

#[test]
fn the_words_of_an_error_hold_nothing_of_the_line() {
    for line in [
        r#"{"type":"sk-secret","request_id":"7"}"#,
        r#"{"type":"turn.start","request_id":"7","session_id":"s","prompt":["sk-secret"]}"#,
        r#"{"type":"session.start","request_id":"7","cwd":"/w","no_tools":"sk-secret"}"#,
        r#"{"type":"daemon.control","request_id":"7","command":{"action":"sk-secret"}}"#,
        r#"{"type":"daemon.control","request_id":"7","command":{"action":"channel_set","channel":"c","account":"a","enabled":true,"remote_tools":"sk-secret"}}"#,
        "sk-secret",
    ] {
        let error = ClientMessage::decode(line.as_bytes()).expect_err(line);
        assert!(!error.message.contains("sk-secret"), "{}", error.message);
    }
}

#[test]
fn unknown_fields_are_ignored() {
    let line = br#"{"type":"session.attach","request_id":"7","later":{"a":[1]}}"#;
    let message = ClientMessage::decode(line).expect("a newer client");
    assert_eq!(message.request_id(), "7");
}

#[test]
fn an_event_of_a_newer_server_is_unknown_and_not_an_error() {
    for line in [
        r#"{"type":"session.danced"}"#,
        r#"{"type":"session.danced","request_id":"7","session_id":"s","seq":9,"deep":{"a":[1]}}"#,
    ] {
        let event: ServerEvent = serde_json::from_str(line).expect(line);
        assert_eq!(event, ServerEvent::Unknown);
    }
}

proptest! {
    /// Decoding is total; what fails to be an object cannot have had a request id.
    #[test]
    fn any_line_is_a_message_or_an_error(line in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Err(error) = ClientMessage::decode(&line) {
            let known = [ErrorCode::InvalidJson, ErrorCode::InvalidRequest].contains(&error.code);
            prop_assert!(known);
            prop_assert!(error.code == ErrorCode::InvalidRequest || error.request_id.is_none());
        }
    }

    /// Whatever else is wrong with an object, its request id comes back.
    #[test]
    fn a_readable_request_id_is_echoed(id in ".{0,40}", kind in "[a-z.]{0,12}") {
        let line = serde_json::json!({"type": kind, "request_id": id}).to_string();
        let echoed = match ClientMessage::decode(line.as_bytes()) {
            Ok(message) => Some(message.request_id().to_owned()),
            Err(error) => error.request_id,
        };
        prop_assert_eq!(echoed, Some(id));
    }
}

#[test]
fn version_2_commands_have_a_spelling_in_version_3() {
    let command = |json: &str| serde_json::from_str::<ControlCommand>(json).expect(json);
    let channel = |prefix: &str| (prefix == "clawbot").then(|| "pigeon".to_owned());
    for (old, new) in [
        (
            r#"{"action":"clawbot_set","account":"a","enabled":true,"workspace":"/w","remote_tools":"owner"}"#,
            r#"{"action":"channel_set","channel":"pigeon","account":"a","enabled":true,"workspace":"/w","remote_tools":"owner"}"#,
        ),
        (
            r#"{"action":"clawbot_logout","account":"a"}"#,
            r#"{"action":"channel_logout","channel":"pigeon","account":"a"}"#,
        ),
    ] {
        assert_eq!(command(old).into_version_3(channel), Some(command(new)));
        assert_eq!(command(old).into_version_3(|_| None), None, "no channel had that prefix");
        assert_eq!(command(new).into_version_3(|_| None), Some(command(new)));
    }
}
