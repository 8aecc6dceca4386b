//! The answer as it grows, and how a stream may end: one table for both formats.

use scv_protocol::{Usage, limits::MAX_ASSISTANT_TEXT_BYTES};

use super::{Response, calls::Calls, decode::End, fault::Fault, think::ThinkFilter};
use crate::message::AssistantMessage;

/// Ends an answer that the output limit has cut.
const CUT_NOTE: &str = "\n\n[cut off: the model reached its output limit]";

/// What a format's reader has found so far.
#[derive(Debug)]
pub(super) struct Growing {
    pub(super) calls: Calls,
    /// Thoughts that the server may want back.
    pub(super) reasoning: String,
    pub(super) usage: Option<Usage>,
    pub(super) finish: Option<Finish>,
    /// The end mark has come: read no more.
    pub(super) done: bool,
    think: ThinkFilter,
    text: String,
    deltas: Vec<String>,
    has_said: bool,
}

/// Why the model stopped, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    /// Whatever the label says, the content decides what it means.
    Ended,
    /// By the output limit.
    Cut,
}

impl Growing {
    pub(super) const fn new(strip_think: bool) -> Self {
        Self {
            calls: Calls::new(),
            reasoning: String::new(),
            usage: None,
            finish: None,
            done: false,
            think: ThinkFilter::new(strip_think),
            text: String::new(),
            deltas: Vec::new(),
            has_said: false,
        }
    }

    /// More of the answer's text, as the model wrote it.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Fault> {
        self.has_said |= !text.is_empty();
        let shown = self.think.push(text);
        self.show(shown)
    }

    /// Whether the model has written any text.
    pub(super) const fn has_said(&self) -> bool {
        self.has_said
    }

    /// Text for the client since the last time, in order.
    pub(super) fn take_deltas(&mut self) -> Vec<String> {
        std::mem::take(&mut self.deltas)
    }

    /// The answer that has come, if it may be one (`provider-wire.md`, section 2).
    pub(super) fn conclude(&mut self, end: End) -> Result<Response, Fault> {
        let held = self.think.finish();
        self.show(held)?;
        let is_complete = self.done || (end == End::Clean && self.finish.is_some());
        let has_content = !self.text.is_empty() || !self.calls.is_empty();
        if !is_complete || (self.finish.is_none() && !has_content) {
            return Err(Fault::no_answer(match has_content {
                true => "the stream ended early",
                false => "the server sent no answer",
            }));
        }
        let is_cut = self.finish == Some(Finish::Cut);
        if is_cut && (!self.calls.is_empty() || self.text.is_empty()) {
            return Err(Fault::provider(
                "the model reached its output limit before its answer was whole; nothing was run",
            ));
        }
        if is_cut {
            self.text.push_str(CUT_NOTE);
            self.deltas.push(CUT_NOTE.to_owned());
        }
        let calls = std::mem::take(&mut self.calls).finish()?;
        let reasoning = std::mem::take(&mut self.reasoning);
        let message = AssistantMessage {
            text: self.think.message(std::mem::take(&mut self.text)).into(),
            calls,
            reasoning: (!reasoning.is_empty()).then_some(reasoning),
        };
        Ok(Response { message, usage: self.usage })
    }

    fn show(&mut self, shown: String) -> Result<(), Fault> {
        if shown.is_empty() {
            return Ok(());
        }
        if self.text.len() + shown.len() > MAX_ASSISTANT_TEXT_BYTES {
            return Err(Fault::limit("the answer's text is longer than 1 MiB"));
        }
        self.text.push_str(&shown);
        self.deltas.push(shown);
        Ok(())
    }
}
