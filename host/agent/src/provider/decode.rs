//! Reads an answer of either format from the bytes of a body, streamed or whole. Pure.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Response, chat,
    fault::Fault,
    growing::Growing,
    responses, sse,
    sse::{SseEvent, SseParser},
    surrogates, words,
};
use crate::{
    config::WireApi,
    limits::{MAX_RESPONSE_BYTES, MAX_SSE_EVENT_BYTES},
};

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
    reading: Reading,
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

/// What one event was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// Something of the answer, or at least a sign that it is being worked on.
    Progress,
    /// Something that only keeps the connection open.
    Ping,
}

/// JSON of an event or of a whole body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Payload<'a> {
    /// The event's name; often empty.
    pub(super) name: &'a str,
    pub(super) json: &'a str,
    /// Bytes that were no UTF-8, or halves of characters, have been replaced.
    pub(super) is_repaired: bool,
}

impl<'a> Payload<'a> {
    /// Reads the JSON, and says of the payload whether that needed a repair.
    pub(super) fn parse<T: Deserialize<'a>>(
        self,
        repaired: &'a mut String,
    ) -> Result<(T, Self), Fault> {
        let (value, repair) =
            surrogates::parse(self.json, repaired).ok_or_else(Fault::malformed)?;
        Ok((value, Self { is_repaired: self.is_repaired | repair, ..self }))
    }

    /// Whether arguments are no longer what the model wrote.
    pub(super) fn damages(&self, arguments: &str) -> bool {
        self.is_repaired && arguments.contains(char::REPLACEMENT_CHARACTER)
    }
}

/// The format and what was read in it.
#[derive(Debug)]
struct Reading {
    format: Format,
    answer: Growing,
    events: bool,
}

#[derive(Debug)]
enum Format {
    Chat,
    Responses(responses::Items),
}

impl Decoder {
    pub(super) const fn new(wire_api: WireApi, strip_think: bool) -> Self {
        let format = match wire_api {
            WireApi::Chat => Format::Chat,
            WireApi::Responses => Format::Responses(responses::Items::new()),
        };
        let answer = Growing::new(strip_think);
        let reading = Reading { format, answer, events: false };
        Self { form: Form::Unknown, received: 0, reading }
    }

    /// Takes the next bytes. New text waits in [`Decoder::take_deltas`], even after a fault.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Progress, Fault> {
        // What fits is read first, so that the events are the same however the bytes are cut.
        let room = MAX_RESPONSE_BYTES - self.received;
        let (bytes, surplus) = bytes.split_at(room.min(bytes.len()));
        self.received += bytes.len();
        let reading = &mut self.reading;
        reading.events = false;
        match &mut self.form {
            Form::Stream(parser) => parser.push(bytes, |event| reading.event(event))?,
            Form::Whole(body) => body.extend_from_slice(bytes),
            Form::Unknown => self.begin(bytes)?,
        }
        let done = self.reading.answer.done;
        if !surplus.is_empty() && !done {
            return Err(Fault::limit("the answer is larger than 4 MiB"));
        }
        Ok(Progress { events: self.reading.events, done })
    }

    /// The first byte that is no blank tells what the body is.
    fn begin(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let Some(start) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else {
            return Ok(());
        };
        match bytes[start] {
            b'{' | b'[' => self.form = Form::Whole(bytes[start..].to_vec()),
            b'<' => {
                return Err(Fault::no_answer(
                    "the server answered with a page, not with an answer",
                ));
            }
            _ => {
                let mut parser = SseParser::new(MAX_SSE_EVENT_BYTES);
                let reading = &mut self.reading;
                let result = parser.push(&bytes[start..], |event| reading.event(event));
                self.form = Form::Stream(parser);
                result?;
            }
        }
        Ok(())
    }

    /// Text that came with the last bytes, in order.
    pub(super) fn take_deltas(&mut self) -> Vec<String> {
        self.reading.answer.take_deltas()
    }

    /// Whether the model has said why it stops: what follows can only be usage and the end mark.
    pub(super) const fn is_finishing(&self) -> bool {
        self.reading.answer.finish.is_some()
    }

    /// The answer, or why there is none. The last text waits in [`Decoder::take_deltas`].
    pub(super) fn finish(&mut self, end: End) -> Result<Response, Fault> {
        let reading = &mut self.reading;
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Stream(mut parser) if end == End::Clean && !reading.answer.done => {
                parser.finish(|event| reading.last_event(event))?;
            }
            Form::Whole(body) => reading.whole(&body)?,
            Form::Stream(_) | Form::Unknown => {}
        }
        reading.answer.conclude(end)
    }
}

impl Reading {
    fn event(&mut self, event: SseEvent<'_>) -> Result<(), Fault> {
        if self.answer.done {
            return Ok(());
        }
        let text = text(event.data);
        let json = text.trim();
        if json.is_empty() || event.name == b"ping" {
            return Ok(());
        }
        self.events = true;
        if json == sse::DONE {
            self.answer.done = true;
            return Ok(());
        }
        if event.name == b"error" {
            let error = serde_json::from_str(json);
            let error = error.unwrap_or_else(|_| Value::String(json.to_owned()));
            return Err(Fault::provider(words::error_text(&error)));
        }
        let name = std::str::from_utf8(event.name).unwrap_or_default();
        let payload = Payload { name, json, is_repaired: matches!(text, Cow::Owned(_)) };
        let heard = match &mut self.format {
            Format::Chat => chat::read(payload, &mut self.answer)?,
            Format::Responses(items) => items.read(payload, &mut self.answer)?,
        };
        self.events = heard == Heard::Progress;
        Ok(())
    }

    /// An event that its blank line did not end counts if it is whole.
    fn last_event(&mut self, event: SseEvent<'_>) -> Result<(), Fault> {
        let text = text(event.data);
        let json = text.trim();
        if json == sse::DONE || event.name == b"error" || surrogates::is_json(json) {
            return self.event(event);
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8]) -> Result<(), Fault> {
        let text = text(body);
        if let Ok(error @ Value::Array(_)) = serde_json::from_str::<Value>(&text) {
            return Err(Fault::provider(words::error_text(&error)));
        }
        if !surrogates::is_json(&text) {
            return Err(Fault::no_answer(
                "the server answered with something that is neither a stream nor JSON",
            ));
        }
        let is_repaired = matches!(text, Cow::Owned(_));
        let payload = Payload { name: "", json: &text, is_repaired };
        match &mut self.format {
            Format::Chat => chat::read_whole(payload, &mut self.answer),
            Format::Responses(items) => items.read_whole(payload, &mut self.answer),
        }
    }
}

/// Bytes as text, with U+FFFD for what is none. The usual case is checked by the fast way.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
