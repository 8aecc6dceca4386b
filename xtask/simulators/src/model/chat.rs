//! The Chat Completions dialect: what a request must be, and the frames of an answer.

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Piece;
use super::dialect::{Asked, Manner};

pub(super) fn asked(body: &Value) -> Asked {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last_user = messages.iter().rfind(|message| message["role"] == "user");
    let last = messages.last().filter(|message| message["role"] == "tool");
    Asked { prompt: last_user.map(content).unwrap_or_default(), tool_result: last.map(content) }
}

/// A content is a text, or parts of which the texts count.
pub(super) fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// What strict servers would refuse, each with whether it is right.
pub(super) fn checks(body: &Value) -> Vec<(&'static str, bool)> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    vec![
        ("there are no messages", !messages.is_empty()),
        ("two user messages stand in a row", !messages.windows(2).any(both_user)),
        ("a message is empty", messages.iter().all(says_something)),
        ("tool calls and results do not pair", calls_pair(messages)),
    ]
}

fn both_user(pair: &[Value]) -> bool {
    pair.iter().all(|message| message["role"] == "user")
}

fn says_something(message: &Value) -> bool {
    let calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    calls || !content(message).is_empty()
}

/// Each call of a message is answered by the tool messages that follow it, and nothing else is.
fn calls_pair(messages: &[Value]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(at) = open.iter().position(|call| *call == id) else {
                return false;
            };
            open.remove(at);
            continue;
        }
        if !open.is_empty() {
            return false;
        }
        let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        open = calls.iter().map(|call| call["id"].as_str().unwrap_or_default()).collect();
    }
    open.is_empty()
}

/// A chunk of a stream.
#[derive(Serialize)]
struct Chunk<'a> {
    id: &'static str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    delta: Delta<'a>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Value; 1]>,
}

/// The server-sent event of a piece; none for what is no event.
pub(super) fn frame(piece: &Piece, manner: &Manner) -> Option<String> {
    let (delta, finish_reason) = match piece {
        Piece::Text(text) => (Delta { content: Some(text), ..Delta::default() }, None),
        Piece::ToolCall { id, name, arguments } => {
            let function = json!({"name": name, "arguments": arguments});
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            (Delta { tool_calls: Some([call]), ..Delta::default() }, None)
        }
        Piece::Finish(reason) => (Delta::default(), Some(*reason)),
        Piece::Usage { .. } if !manner.stream_options.include_usage => return None,
        Piece::Usage { prompt, completion } => {
            let usage = json!({"prompt_tokens": prompt, "completion_tokens": completion,
                "total_tokens": prompt + completion});
            return Some(chunk(manner, &[], Some(usage)));
        }
        Piece::Done => return Some("data: [DONE]\n\n".to_owned()),
        Piece::Raw(_) | Piece::Hold | Piece::Pause(_) | Piece::Cut => return None,
    };
    Some(chunk(manner, &[Choice { index: 0, delta, finish_reason }], None))
}

fn chunk(manner: &Manner, choices: &[Choice<'_>], usage: Option<Value>) -> String {
    let chunk = Chunk {
        id: "chatcmpl-sim",
        object: "chat.completion.chunk",
        created: 1_790_000_000,
        model: &manner.model,
        choices,
        usage,
    };
    let json = serde_json::to_string(&chunk).expect("strings and numbers always serialize");
    format!("data: {json}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(messages: Value) -> Vec<&'static str> {
        let checks = checks(&json!({"messages": messages}));
        checks.into_iter().filter(|(_, right)| !right).map(|(fault, _)| fault).collect()
    }

    #[test]
    fn a_tool_result_goes_on_with_the_turn() {
        let messages = json!([
            {"role": "user", "content": "old"},
            {"role": "assistant", "content": "fine"},
            {"role": "user", "content": [{"type": "text", "text": "new"}]},
            {"role": "assistant", "tool_calls": [{"id": "c1"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
        ]);
        let asked = asked(&json!({"messages": messages}));
        assert_eq!(asked.prompt, "new");
        assert_eq!(asked.tool_result.as_deref(), Some("out"));
        assert_eq!(broken(messages), [""; 0]);
    }

    #[test]
    fn bad_histories_are_noticed() {
        let user = json!({"role": "user", "content": "u"});
        let call = json!({"role": "assistant", "tool_calls": [{"id": "c1"}]});
        let result = json!({"role": "tool", "tool_call_id": "c2", "content": "out"});
        for messages in [
            json!([]),
            json!([user, user]),
            json!([user, call, user]),
            json!([user, call, result]),
            json!([user, result]),
            json!([{"role": "user", "content": ""}]),
        ] {
            assert_eq!(broken(messages.clone()).len(), 1, "{messages}");
        }
    }
}
