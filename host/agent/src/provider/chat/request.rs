//! The body of a chat completion request, written straight from the history.

use std::sync::LazyLock;

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    config::{OmittedField, OpenAiConfig},
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
pub(in crate::provider) fn body<'a, I>(
    model: &str,
    server: &OpenAiConfig,
    question: &Question<'a, I>,
) -> Vec<u8>
where
    I: Iterator<Item = &'a Item> + Clone,
{
    let body = Body {
        model,
        messages: Messages { system: question.system, items: question.items.clone() },
        stream: true,
        stream_options: (!server.omit.contains(&OmittedField::StreamOptions))
            .then_some(StreamOptions { include_usage: true }),
        tools: question.offers_tools.then(|| &**TOOLS),
    };
    serde_json::to_vec(&body).expect("strings and JSON values always serialize")
}

#[derive(Serialize)]
struct Body<'a, M> {
    model: &'a str,
    messages: M,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    /// Servers refuse an empty list.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

struct Messages<'a, I> {
    system: &'a str,
    items: I,
}

/// `content` is never left out: some servers refuse a message without it.
#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a, I> Serialize for Messages<'a, I>
where
    I: Iterator<Item = &'a Item> + Clone,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_prompt = |item: &Item| matches!(item, Item::User(_));
        let prompts = self.items.clone().enumerate().filter(|(_, item)| is_prompt(item));
        let turn = prompts.last().map_or(0, |(index, _)| index);
        let messages = self.items.clone().enumerate();
        let messages = messages.map(|(index, item)| Message::new(item, index > turn));
        let system = Message::text("system", self.system);
        serializer.collect_seq(std::iter::once(system).chain(messages))
    }
}

impl<'a> Message<'a> {
    const fn text(role: &'static str, content: &'a str) -> Self {
        Self { role, content, tool_calls: Vec::new(), tool_call_id: None, reasoning_content: None }
    }

    fn new(item: &'a Item, is_of_this_turn: bool) -> Self {
        match item {
            Item::User(text) => Self::text("user", text),
            Item::Assistant(message) => Self::assistant(message, is_of_this_turn),
            Item::ToolOutput { call_id, output } => {
                Self { tool_call_id: Some(call_id), ..Self::text("tool", or_nothing(output)) }
            }
        }
    }

    /// Thoughts go back within the turn: one server (DeepSeek, 2026-11) refuses the request
    /// without them, and all ignore or refuse them later.
    fn assistant(message: &'a AssistantMessage, is_of_this_turn: bool) -> Self {
        let text = match message.calls.is_empty() {
            true => or_nothing(&message.text),
            false => &message.text,
        };
        Self {
            tool_calls: message.calls.iter().map(Call::new).collect(),
            reasoning_content: message.reasoning.as_deref().filter(|_| is_of_this_turn),
            ..Self::text("assistant", text)
        }
    }
}

impl<'a> Call<'a> {
    fn new(call: &'a ToolCall) -> Self {
        let function = CallFunction { name: &call.name, arguments: &call.arguments };
        Self { id: &call.id, r#type: "function", function }
    }
}

impl<'a> Tool<'a> {
    fn new(tool: &'a Definition) -> Self {
        let function = ToolFunction {
            name: tool.name,
            description: tool.description,
            parameters: &tool.parameters,
        };
        Self { r#type: "function", function }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn build(omit: Vec<OmittedField>, items: &[Item], offers_tools: bool) -> Value {
        let server = OpenAiConfig { omit, ..OpenAiConfig::default() };
        let question = Question { system: "be good", items: items.iter(), offers_tools };
        serde_json::from_slice(&body("m", &server, &question)).expect("JSON")
    }

    fn called(reasoning: &str) -> Item {
        let call = ToolCall { id: "c".into(), name: "read".into(), arguments: "{}".into() };
        Item::Assistant(AssistantMessage {
            text: String::new().into(),
            calls: vec![call],
            reasoning: Some(reasoning.to_owned()),
        })
    }

    fn output(text: &str) -> Item {
        Item::ToolOutput { call_id: "c".into(), output: text.to_owned() }
    }

    #[test]
    fn says_what_servers_expect_and_nothing_else() {
        let body = build(vec![], &[Item::User("hi".into())], false);
        let want = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "be good"},
                {"role": "user", "content": "hi"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        assert_eq!(body, want);
        let body = build(vec![OmittedField::StreamOptions], &[], false);
        assert_eq!(body.get("stream_options"), None);
    }

    #[test]
    fn tools_are_offered_as_functions() {
        let body = build(vec![], &[], true);
        assert_eq!(body["tools"].as_array().map(Vec::len), Some(definitions().len()));
        assert_eq!(body["tools"][0]["type"], "function");
        assert_eq!(body["tools"][0]["function"]["parameters"]["type"], "object");
    }

    #[test]
    fn calls_keep_their_outputs_and_no_content_is_missing() {
        let items =
            [Item::User("go".into()), called("t"), output(""), Item::Assistant(Default::default())];
        let body = build(vec![], &items, false);
        let call = json!({"id": "c", "type": "function",
                          "function": {"name": "read", "arguments": "{}"}});
        let want = json!([
            {"role": "system", "content": "be good"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "t"},
            {"role": "tool", "content": "(nothing)", "tool_call_id": "c"},
            {"role": "assistant", "content": "(nothing)"},
        ]);
        assert_eq!(body["messages"], want);
    }

    #[test]
    fn thoughts_of_earlier_turns_stay_behind() {
        let items = [
            Item::User("a".into()),
            called("old"),
            output("x"),
            Item::User("b".into()),
            called("new"),
        ];
        let body = build(vec![], &items, false);
        assert_eq!(body["messages"][2].get("reasoning_content"), None);
        assert_eq!(body["messages"][5]["reasoning_content"], "new");
    }
}
