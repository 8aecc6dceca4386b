//! The body of a Responses request, written straight from the history. Stateless: the server is
//! asked to keep nothing, and each request says everything.

use std::sync::LazyLock;

use serde::{Serialize, Serializer, ser::SerializeSeq};
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    message::{AssistantMessage, Item, ToolCall},
    provider::{Question, or_nothing},
    tools::{Definition, definitions},
};

/// All tools: the same in every request.
static TOOLS: LazyLock<Box<RawValue>> = LazyLock::new(|| {
    let tools: Vec<Tool<'_>> = definitions().iter().map(Tool::new).collect();
    to_raw_value(&tools).expect("strings and JSON values always serialize")
});

/// The body's JSON.
pub(in crate::provider) fn body<'a, I>(model: &str, question: &Question<'a, I>) -> Vec<u8>
where
    I: Iterator<Item = &'a Item> + Clone,
{
    let body = Body {
        model,
        instructions: question.system,
        input: Input(question.items.clone()),
        tools: question.offers_tools.then(|| &**TOOLS),
        stream: true,
        store: false,
    };
    serde_json::to_vec(&body).expect("strings and JSON values always serialize")
}

#[derive(Serialize)]
struct Body<'a, I> {
    model: &'a str,
    instructions: &'a str,
    input: I,
    /// Servers refuse an empty list.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    stream: bool,
    store: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    /// Strict mode makes models fill in every optional field.
    strict: bool,
}

struct Input<I>(I);

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message { role: &'static str, content: &'a str },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: &'a str },
    FunctionCallOutput { call_id: &'a str, output: &'a str },
}

impl<'a, I> Serialize for Input<I>
where
    I: Iterator<Item = &'a Item> + Clone,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut input = serializer.serialize_seq(None)?;
        for item in self.0.clone() {
            match item {
                Item::User(text) => {
                    input.serialize_element(&InputItem::Message { role: "user", content: text })?;
                }
                Item::Assistant(message) => {
                    for item in response(message) {
                        input.serialize_element(&item)?;
                    }
                }
                Item::ToolOutput { call_id, output } => {
                    let output = or_nothing(output);
                    input.serialize_element(&InputItem::FunctionCallOutput { call_id, output })?;
                }
            }
        }
        input.end()
    }
}

/// A response as the items that it was: its text, unless there are only calls, then the calls.
fn response(message: &AssistantMessage) -> impl Iterator<Item = InputItem<'_>> {
    let text = match message.calls.is_empty() {
        true => Some(or_nothing(&message.text)),
        false => Some(message.text.as_str()).filter(|text| !text.is_empty()),
    };
    let text = text.map(|content| InputItem::Message { role: "assistant", content });
    text.into_iter().chain(message.calls.iter().map(InputItem::call))
}

impl<'a> InputItem<'a> {
    fn call(call: &'a ToolCall) -> Self {
        let ToolCall { id, name, arguments } = call;
        Self::FunctionCall { call_id: id, name, arguments }
    }
}

impl<'a> Tool<'a> {
    fn new(tool: &'a Definition) -> Self {
        Self {
            r#type: "function",
            name: tool.name,
            description: tool.description,
            parameters: &tool.parameters,
            strict: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn build(items: &[Item], offers_tools: bool) -> Value {
        let question = Question { system: "be good", items: items.iter(), offers_tools };
        serde_json::from_slice(&body("m", &question)).expect("JSON")
    }

    #[test]
    fn says_what_servers_expect_and_nothing_else() {
        let want = json!({
            "model": "m",
            "instructions": "be good",
            "input": [{"type": "message", "role": "user", "content": "hi"}],
            "stream": true,
            "store": false,
        });
        assert_eq!(build(&[Item::User("hi".into())], false), want);
    }

    #[test]
    fn tools_are_offered_without_strict_mode() {
        let body = build(&[], true);
        assert_eq!(body["tools"].as_array().map(Vec::len), Some(definitions().len()));
        assert_eq!(
            (&body["tools"][0]["type"], &body["tools"][0]["strict"]),
            (&json!("function"), &json!(false))
        );
        assert_eq!(body["tools"][0]["parameters"]["type"], "object");
    }

    #[test]
    fn calls_keep_their_outputs_and_nothing_is_empty() {
        let call = ToolCall { id: "c".into(), name: "read".into(), arguments: "{}".into() };
        let called = |text: &str, calls: &[ToolCall]| {
            Item::Assistant(AssistantMessage {
                text: text.to_owned().into(),
                calls: calls.to_vec(),
                reasoning: Some("never sent".into()),
            })
        };
        let items = [
            Item::User("go".into()),
            called("", std::slice::from_ref(&call)),
            Item::ToolOutput { call_id: "c".into(), output: String::new() },
            called("so", &[call]),
            Item::ToolOutput { call_id: "c".into(), output: "x".into() },
            called("", &[]),
        ];
        let message =
            |role: &str, text: &str| json!({"type": "message", "role": role, "content": text});
        let call =
            json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"});
        let output =
            |text: &str| json!({"type": "function_call_output", "call_id": "c", "output": text});
        let want = json!([
            message("user", "go"),
            call,
            output("(nothing)"),
            message("assistant", "so"),
            call,
            output("x"),
            message("assistant", "(nothing)"),
        ]);
        assert_eq!(build(&items, false)["input"], want);
    }
}
