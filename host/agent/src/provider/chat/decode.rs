//! Reads a chat completion from the bytes of a body, streamed or whole. Pure.

use std::borrow::Cow;

use scv_protocol::{TurnFailure, Usage, limits::MAX_ASSISTANT_TEXT_BYTES};
use serde_json::Value;

use super::{
    calls::{CallFault, Calls},
    chunk::{Choice, Chunk, error_text},
};
use crate::{
    limits::{MAX_RESPONSE_BYTES, MAX_SSE_EVENT_BYTES},
    message::AssistantMessage,
    provider::{
        Failure, Response,
        retry::Fault,
        sse::{EventTooLarge, SseEvent, SseParser},
        think::ThinkFilter,
    },
};

/// Ends an answer that the output limit has cut.
const CUT_NOTE: &str = "\n\n[cut off: the model reached its output limit]";

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The server closed it properly.
    Clean,
    /// It broke, or nothing came for too long.
    Broken,
}

/// Whether the bytes taken so far were worth waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// An event came; comments and pings are none.
    pub(super) events: bool,
    /// The answer is whole: read no more.
    pub(super) done: bool,
}

/// A body on its way to an answer.
#[derive(Debug)]
pub(super) struct Decoder {
    form: Form,
    received: usize,
    answer: Answering,
}

/// What the body turned out to be.
#[derive(Debug)]
enum Form {
    /// Nothing but blanks so far.
    Unknown,
    Stream(SseParser),
    /// One JSON object in place of a stream.
    Whole(Vec<u8>),
}

/// The answer as it grows.
#[derive(Debug)]
struct Answering {
    think: ThinkFilter,
    text: String,
    deltas: Vec<String>,
    reasoning: String,
    calls: Calls,
    usage: Option<Usage>,
    finish: Option<Finish>,
    events: bool,
    done: bool,
}

/// Why the model stopped, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// Whatever the label says, the content decides what it means.
    Ended,
    /// By the output limit.
    Cut,
}

impl Decoder {
    pub(super) const fn new(strip_think: bool) -> Self {
        Self {
            form: Form::Unknown,
            received: 0,
            answer: Answering {
                think: ThinkFilter::new(strip_think),
                text: String::new(),
                deltas: Vec::new(),
                reasoning: String::new(),
                calls: Calls::new(),
                usage: None,
                finish: None,
                events: false,
                done: false,
            },
        }
    }

    /// Takes the next bytes. New text waits in [`Decoder::take_deltas`], even after a fault.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Progress, Fault> {
        self.received += bytes.len();
        if self.received > MAX_RESPONSE_BYTES {
            return Err(limit("the answer is larger than 4 MiB"));
        }
        self.answer.events = false;
        let answer = &mut self.answer;
        match &mut self.form {
            Form::Stream(parser) => parser.push(bytes, |event| answer.event(event))?,
            Form::Whole(body) => body.extend_from_slice(bytes),
            Form::Unknown => self.begin(bytes)?,
        }
        Ok(Progress { events: self.answer.events, done: self.answer.done })
    }

    /// The first byte that is no blank tells what the body is.
    fn begin(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let Some(start) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else {
            return Ok(());
        };
        match bytes[start] {
            b'{' | b'[' => self.form = Form::Whole(bytes[start..].to_vec()),
            b'<' => return Err(no_answer("the server answered with a page, not with an answer")),
            _ => {
                let mut parser = SseParser::new(MAX_SSE_EVENT_BYTES);
                let answer = &mut self.answer;
                let result = parser.push(&bytes[start..], |event| answer.event(event));
                self.form = Form::Stream(parser);
                result?;
            }
        }
        Ok(())
    }

    /// Text that came with the last bytes, in order.
    pub(super) fn take_deltas(&mut self) -> Vec<String> {
        std::mem::take(&mut self.answer.deltas)
    }

    /// Whether the model has said why it stops: what follows can only be usage and the end mark.
    pub(super) const fn is_finishing(&self) -> bool {
        self.answer.finish.is_some()
    }

    /// The answer, or why there is none. The last text waits in [`Decoder::take_deltas`].
    pub(super) fn finish(&mut self, end: End) -> Result<Response, Fault> {
        let answer = &mut self.answer;
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Stream(mut parser) if end == End::Clean && !answer.done => {
                parser.finish(|event| answer.last_event(event))?;
            }
            Form::Whole(body) => answer.whole(&body)?,
            Form::Stream(_) | Form::Unknown => {}
        }
        answer.conclude(end)
    }
}

impl Answering {
    fn event(&mut self, event: SseEvent<'_>) -> Result<(), Fault> {
        if self.done {
            return Ok(());
        }
        let text = String::from_utf8_lossy(event.data);
        let payload = text.trim();
        if payload.is_empty() || event.name == b"ping" {
            return Ok(());
        }
        self.events = true;
        if payload == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if event.name == b"error" {
            let error = serde_json::from_str(payload);
            return Err(reported(&error.unwrap_or(Value::String(payload.to_owned()))));
        }
        let chunk = parse_chunk(payload).ok_or_else(malformed)?;
        self.events = !chunk.is_ping();
        self.chunk(chunk, matches!(text, Cow::Owned(_)))
    }

    /// An event that its blank line did not end counts if it is whole.
    fn last_event(&mut self, event: SseEvent<'_>) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(event.data);
        let payload = text.trim();
        if payload == "[DONE]" || event.name == b"error" || parse_chunk(payload).is_some() {
            return self.event(event);
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8]) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(body);
        if let Ok(error @ Value::Array(_)) = serde_json::from_str::<Value>(&text) {
            return Err(reported(&error));
        }
        let chunk = parse_chunk(&text).ok_or_else(|| {
            no_answer("the server answered with something that is neither a stream nor JSON")
        })?;
        self.done = chunk.choices.is_some();
        self.chunk(chunk, matches!(text, Cow::Owned(_)))
    }

    /// `repaired`: bytes that were no UTF-8 have been replaced.
    fn chunk(&mut self, mut chunk: Chunk, repaired: bool) -> Result<(), Fault> {
        if let Some(words) = chunk.error() {
            return Err(provider_error(words));
        }
        self.usage = chunk.usage().or(self.usage);
        match chunk.take_choice() {
            Some(choice) => self.choice(choice, repaired),
            None => Ok(()),
        }
    }

    fn choice(&mut self, mut choice: Choice, repaired: bool) -> Result<(), Fault> {
        let delta = choice.take_delta();
        // Text after the finish reason only says the same again.
        if self.finish.is_none() {
            self.say(&delta.content.0)?;
            self.say(&delta.refusal.0)?;
            self.reasoning.push_str(&delta.reasoning_content.0);
        }
        for fragment in delta.tool_calls.iter().flatten() {
            if repaired && fragment.arguments().contains(char::REPLACEMENT_CHARACTER) {
                return Err(call_fault(CallFault::Damaged));
            }
            self.calls.add(fragment).map_err(call_fault)?;
        }
        if let Some(words) = choice.error() {
            return Err(provider_error(words));
        }
        match choice.finish_reason() {
            None => {}
            Some("length" | "max_tokens") => self.finish = Some(Finish::Cut),
            Some("content_filter") => {
                return Err(provider_error("the provider's content filter stopped the answer"));
            }
            Some(_) => self.finish = self.finish.or(Some(Finish::Ended)),
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<(), Fault> {
        let shown = self.think.push(text);
        self.show(shown)
    }

    fn show(&mut self, shown: String) -> Result<(), Fault> {
        if shown.is_empty() {
            return Ok(());
        }
        if self.text.len() + shown.len() > MAX_ASSISTANT_TEXT_BYTES {
            return Err(limit("the answer's text is longer than 1 MiB"));
        }
        self.text.push_str(&shown);
        self.deltas.push(shown);
        Ok(())
    }

    /// How a stream ends: one table for all servers (`provider-wire.md`, section 2).
    fn conclude(&mut self, end: End) -> Result<Response, Fault> {
        let held = self.think.finish();
        self.show(held)?;
        let is_complete = self.done || (end == End::Clean && self.finish.is_some());
        let has_content = !self.text.is_empty() || !self.calls.is_empty();
        if !is_complete || (self.finish.is_none() && !has_content) {
            return Err(match has_content {
                true => no_answer("the stream ended early"),
                false => no_answer("the server sent no answer"),
            });
        }
        let is_cut = self.finish == Some(Finish::Cut);
        if is_cut && (!self.calls.is_empty() || self.text.is_empty()) {
            return Err(provider_error(
                "the model reached its output limit before its answer was whole; nothing was run",
            ));
        }
        if is_cut {
            self.text.push_str(CUT_NOTE);
            self.deltas.push(CUT_NOTE.to_owned());
        }
        let calls = std::mem::take(&mut self.calls).finish().map_err(call_fault)?;
        let reasoning = std::mem::take(&mut self.reasoning);
        let message = AssistantMessage {
            text: self.think.message(std::mem::take(&mut self.text)),
            calls,
            reasoning: (!reasoning.is_empty()).then_some(reasoning),
        };
        Ok(Response { message, usage: self.usage })
    }
}

/// A half of a surrogate pair is no reason to lose an answer: it becomes U+FFFD.
fn parse_chunk(payload: &str) -> Option<Chunk> {
    serde_json::from_str(payload).ok().or_else(|| {
        let repaired = super::surrogates::repair(payload)?;
        serde_json::from_str(&repaired).ok()
    })
}

fn malformed() -> Fault {
    provider_error("the server sent an event that is not what its format promises")
}

fn reported(error: &Value) -> Fault {
    provider_error(error_text(error))
}

fn provider_error(words: impl Into<String>) -> Fault {
    Fault::is_final(Failure::new(TurnFailure::ProviderError, words))
}

fn no_answer(words: &str) -> Fault {
    Fault::may_pass(Failure::new(TurnFailure::ProviderError, words))
}

fn limit(words: &str) -> Fault {
    Fault::is_final(Failure::new(TurnFailure::ResponseLimit, words))
}

fn call_fault(fault: CallFault) -> Fault {
    Fault::is_final(match fault {
        CallFault::Limit => Failure::new(
            TurnFailure::ToolLimit,
            "the model asked for more than 32 tool calls at once, or for one of more than 256 KiB; \
             nothing was run",
        ),
        CallFault::Damaged => Failure::new(
            TurnFailure::ProviderError,
            "the model sent a tool call that is not whole; nothing was run",
        ),
    })
}

impl From<EventTooLarge> for Fault {
    fn from(_: EventTooLarge) -> Self {
        limit("the server sent an event larger than 1 MiB")
    }
}
