//! Puts the fragments of tool calls together.

use serde_json::{Map, Value};

use super::chunk::Fragment;
use crate::{
    id,
    limits::{MAX_ARGUMENTS_BYTES, MAX_CALL_ID_BYTES, MAX_CALLS_COUNT, MAX_TOOL_NAME_BYTES},
    message::ToolCall,
};

/// All calls of one response.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<OpenCall>,
}

#[derive(Debug, Default)]
struct OpenCall {
    id: Option<String>,
    index: Option<u64>,
    name: String,
    arguments: Arguments,
}

/// Why calls are not usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFault {
    /// Too many of them, or one too large.
    Limit,
    /// Arguments that are not one complete JSON object, or a call without a name.
    Damaged,
}

impl Calls {
    pub(super) const fn new() -> Self {
        Self { open: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds a fragment to the call that it belongs to.
    pub(super) fn add(&mut self, fragment: &Fragment) -> Result<(), CallFault> {
        let place = match self.find(fragment) {
            Some(place) => place,
            None => self.open(fragment)?,
        };
        let call = &mut self.open[place];
        call.add_name(fragment.name())?;
        call.arguments.add(&fragment.arguments())
    }

    /// An id seen before names its call and a new one begins a call, whatever the index says.
    /// Without an id the index decides if it is known, else the name: only a call's first
    /// fragment has one, or all of them have the same.
    fn find(&self, fragment: &Fragment) -> Option<usize> {
        if let Some(id) = fragment.id() {
            return self.open.iter().position(|call| call.id.as_deref() == Some(id));
        }
        let by_index = |index| self.open.iter().rposition(|call| call.index == Some(index));
        if let Some(place) = fragment.index.and_then(by_index) {
            return Some(place);
        }
        let last = self.open.len().checked_sub(1)?;
        match fragment.name() {
            None => Some(last),
            Some(name) if fragment.index.is_none() => {
                let call = &self.open[last];
                (call.name == name && call.arguments.is_under_way()).then_some(last)
            }
            Some(_) => None,
        }
    }

    fn open(&mut self, fragment: &Fragment) -> Result<usize, CallFault> {
        if self.open.len() == MAX_CALLS_COUNT {
            return Err(CallFault::Limit);
        }
        self.open.push(OpenCall {
            id: fragment.id().map(str::to_owned),
            index: fragment.index,
            ..OpenCall::default()
        });
        Ok(self.open.len() - 1)
    }

    /// All calls, ready to run.
    pub(super) fn finish(self) -> Result<Vec<ToolCall>, CallFault> {
        self.open.into_iter().map(OpenCall::finish).collect()
    }
}

impl OpenCall {
    /// Some servers repeat the name, some send it in pieces; none does so after the arguments.
    fn add_name(&mut self, name: Option<&str>) -> Result<(), CallFault> {
        let Some(name) = name else {
            return Ok(());
        };
        if self.name == name || !self.arguments.text.is_empty() {
            return Ok(());
        }
        self.name.push_str(name);
        if self.name.len() > MAX_TOOL_NAME_BYTES {
            return Err(CallFault::Damaged);
        }
        Ok(())
    }

    fn finish(self) -> Result<ToolCall, CallFault> {
        if self.name.is_empty() {
            return Err(CallFault::Damaged);
        }
        let id = self.id.filter(|id| id.len() <= MAX_CALL_ID_BYTES).unwrap_or_else(id::call_id);
        Ok(ToolCall { id, name: self.name, arguments: self.arguments.finish()? })
    }
}

/// The text of one JSON object, in pieces.
#[derive(Debug, Default)]
struct Arguments {
    text: String,
    braces: Braces,
}

impl Arguments {
    /// More of the text. A whole object that says the same again is a summary, not more.
    fn add(&mut self, piece: &str) -> Result<(), CallFault> {
        if self.braces.closed && !piece.trim().is_empty() {
            let repeats = parse(piece).is_some_and(|again| parse(&self.text) == Some(again));
            return if repeats { Ok(()) } else { Err(CallFault::Damaged) };
        }
        if self.text.len() + piece.len() > MAX_ARGUMENTS_BYTES {
            return Err(CallFault::Limit);
        }
        self.text.push_str(piece);
        self.braces.read(piece);
        Ok(())
    }

    fn is_under_way(&self) -> bool {
        !self.text.trim().is_empty() && !self.braces.closed
    }

    /// Absent arguments are an empty object; anything else must be one.
    fn finish(self) -> Result<String, CallFault> {
        if matches!(self.text.trim(), "" | "null") {
            return Ok("{}".to_owned());
        }
        parse(&self.text).ok_or(CallFault::Damaged)?;
        Ok(self.text)
    }
}

fn parse(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// Knows in one pass whether an object's last brace has come, so that nothing is parsed twice.
#[derive(Debug, Default)]
struct Braces {
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl Braces {
    fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}
