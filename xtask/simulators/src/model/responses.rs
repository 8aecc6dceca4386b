//! The Responses dialect: what a request must be, and the frames of an answer.

use serde_json::{Value, json};

use super::answer::Piece;
use super::chat::content;
use super::dialect::Asked;

pub(super) fn asked(body: &Value) -> Asked {
    let input = input(body);
    let last_user = input.iter().rfind(|item| item["role"] == "user");
    let last = input.last().filter(|item| item["type"] == "function_call_output");
    Asked {
        prompt: last_user.map(content).unwrap_or_default(),
        tool_result: last.map(|item| item["output"].as_str().unwrap_or_default().to_owned()),
    }
}

fn input(body: &Value) -> &[Value] {
    body["input"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What strict servers would refuse, each with whether it is right.
pub(super) fn checks(body: &Value) -> Vec<(&'static str, bool)> {
    let input = input(body);
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let both_user = |pair: &[Value]| pair.iter().all(|item| item["role"] == "user");
    vec![
        ("there is no input", !input.is_empty()),
        (
            "previous_response_id is no stateless request",
            body.get("previous_response_id").is_none(),
        ),
        ("a tool is strict", tools.iter().all(|tool| tool["strict"] == false)),
        ("two user messages stand in a row", !input.windows(2).any(both_user)),
        ("an item is empty", input.iter().all(says_something)),
        ("calls and outputs do not pair", calls_pair(input)),
    ]
}

fn says_something(item: &Value) -> bool {
    let filled = |key: &str| item[key].as_str().is_some_and(|text| !text.is_empty());
    match item["type"].as_str() {
        Some("function_call") => ["call_id", "name", "arguments"].into_iter().all(filled),
        Some("function_call_output") => filled("call_id") && filled("output"),
        _ => !content(item).is_empty(),
    }
}

/// Each call has one output after it, before the next message, and the reverse.
fn calls_pair(input: &[Value]) -> bool {
    let mut open: Vec<&Value> = Vec::new();
    for item in input {
        match item["type"].as_str() {
            Some("function_call") => open.push(&item["call_id"]),
            Some("function_call_output") => {
                let Some(at) = open.iter().position(|call| **call == item["call_id"]) else {
                    return false;
                };
                open.remove(at);
            }
            _ if !open.is_empty() => return false,
            _ => {}
        }
    }
    open.is_empty()
}

/// A response as it grows.
pub(super) struct Speaker {
    model: String,
    begun: bool,
    /// The message under way.
    text: Option<String>,
    output: Vec<Value>,
    usage: Value,
    finish: &'static str,
}

impl Speaker {
    pub(super) const fn new(model: String) -> Self {
        Self {
            model,
            begun: false,
            text: None,
            output: Vec::new(),
            usage: Value::Null,
            finish: "stop",
        }
    }

    /// The server-sent events of a piece; none for what is no event.
    pub(super) fn frame(&mut self, piece: &Piece) -> Option<String> {
        if matches!(piece, Piece::Raw(_) | Piece::Hold | Piece::Pause(_) | Piece::Cut) {
            return None;
        }
        let mut events = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            events.push(
                json!({"type": "response.created", "response": self.response("in_progress")}),
            );
        }
        match piece {
            Piece::Text(text) => self.text(text, &mut events),
            Piece::ToolCall { id, name, arguments } => {
                self.end_message(&mut events);
                self.call(id, name, arguments, &mut events);
            }
            Piece::Finish(reason) => {
                self.end_message(&mut events);
                self.finish = reason;
            }
            Piece::Usage { prompt, completion } => {
                self.usage = json!({"input_tokens": prompt, "output_tokens": completion,
                    "total_tokens": prompt + completion});
            }
            Piece::Done => {
                self.end_message(&mut events);
                events.push(self.end());
            }
            Piece::Raw(_) | Piece::Hold | Piece::Pause(_) | Piece::Cut => {}
        }
        let frame = |event: &Value| {
            let kind = event["type"].as_str().unwrap_or_default();
            format!("event: {kind}\ndata: {event}\n\n")
        };
        (!events.is_empty()).then(|| events.iter().map(frame).collect())
    }

    fn text(&mut self, text: &str, events: &mut Vec<Value>) {
        let place = self.output.len();
        if self.text.is_none() {
            let item = json!({"type": "message", "id": id("msg", place), "role": "assistant",
                "status": "in_progress", "content": []});
            events.push(json!({"type": "response.output_item.added", "output_index": place,
                "item": item}));
        }
        self.text.get_or_insert_default().push_str(text);
        events.push(json!({"type": "response.output_text.delta", "item_id": id("msg", place),
            "output_index": place, "content_index": 0, "delta": text}));
    }

    fn end_message(&mut self, events: &mut Vec<Value>) {
        let Some(text) = self.text.take() else {
            return;
        };
        let place = self.output.len();
        let item = json!({"type": "message", "id": id("msg", place), "role": "assistant",
            "status": "completed", "content": [{"type": "output_text", "text": text}]});
        self.end_item(item, events);
    }

    fn call(&mut self, call_id: &str, name: &str, arguments: &str, events: &mut Vec<Value>) {
        let place = self.output.len();
        let item = |arguments: &str| {
            json!({"type": "function_call", "id": id("fc", place), "call_id": call_id,
                "name": name, "arguments": arguments})
        };
        events.push(json!({"type": "response.output_item.added", "output_index": place,
            "item": item("")}));
        events.push(json!({"type": "response.function_call_arguments.delta",
            "item_id": id("fc", place), "output_index": place, "delta": arguments}));
        self.end_item(item(arguments), events);
    }

    fn end_item(&mut self, item: Value, events: &mut Vec<Value>) {
        events.push(json!({"type": "response.output_item.done",
            "output_index": self.output.len(), "item": item}));
        self.output.push(item);
    }

    fn end(&self) -> Value {
        if self.finish != "length" {
            return json!({"type": "response.completed", "response": self.response("completed")});
        }
        let mut response = self.response("incomplete");
        response["incomplete_details"] = json!({"reason": "max_output_tokens"});
        json!({"type": "response.incomplete", "response": response})
    }

    fn response(&self, status: &str) -> Value {
        json!({"id": "resp_sim", "object": "response", "status": status, "error": null,
            "incomplete_details": null, "model": self.model, "output": self.output,
            "usage": self.usage})
    }
}

fn id(kind: &str, place: usize) -> String {
    format!("{kind}_{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(input: Value) -> Vec<&'static str> {
        let checks = checks(&json!({"input": input}));
        checks.into_iter().filter(|(_, right)| !right).map(|(fault, _)| fault).collect()
    }

    #[test]
    fn a_tool_result_goes_on_with_the_turn() {
        let input = json!([
            {"role": "user", "content": "old"},
            {"type": "message", "role": "assistant", "content": "fine"},
            {"role": "user", "content": [{"type": "input_text", "text": "new"}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "out"},
        ]);
        let asked = asked(&json!({"input": input}));
        assert_eq!((asked.prompt.as_str(), asked.tool_result.as_deref()), ("new", Some("out")));
        assert_eq!(broken(input), [""; 0]);
    }

    #[test]
    fn bad_histories_are_noticed() {
        let user = json!({"role": "user", "content": "u"});
        let call =
            json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"});
        let output = json!({"type": "function_call_output", "call_id": "c2", "output": "out"});
        for input in [
            json!([]),
            json!([user, user]),
            json!([user, call, user]),
            json!([user, call, output]),
            json!([user, output]),
            json!([{"role": "user", "content": ""}]),
        ] {
            assert_eq!(broken(input.clone()).len(), 1, "{input}");
        }
    }
}
