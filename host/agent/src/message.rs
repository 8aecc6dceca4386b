//! What a session remembers, in no provider's format.

use std::sync::Arc;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A prompt.
    User(String),
    /// One response of the model.
    Assistant(AssistantMessage),
    /// What a call gave.
    ToolOutput {
        /// The call.
        call_id: String,
        /// Never empty.
        output: String,
    },
}

/// One response of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AssistantMessage {
    /// Empty when it only calls tools.
    pub(crate) text: Arc<String>,
    /// In the order in which they run.
    pub(crate) calls: Vec<ToolCall>,
    /// What the model thought, for servers that want it back within the turn. Never shown.
    pub(crate) reasoning: Option<String>,
}

/// A call that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    /// Pairs the call with its output.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// One complete JSON object, as the model wrote it.
    pub(crate) arguments: String,
}

impl Item {
    /// What it takes in a request, in bytes, without the envelope of a wire format.
    pub(crate) fn len_bytes(&self) -> usize {
        match self {
            Self::User(text) => text.len(),
            Self::Assistant(message) => message.len_bytes(),
            Self::ToolOutput { call_id, output } => call_id.len() + output.len(),
        }
    }
}

impl AssistantMessage {
    fn len_bytes(&self) -> usize {
        let calls = self.calls.iter().map(ToolCall::len_bytes).sum::<usize>();
        self.text.len() + calls + self.reasoning.as_ref().map_or(0, String::len)
    }
}

impl ToolCall {
    fn len_bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.arguments.len()
    }
}
