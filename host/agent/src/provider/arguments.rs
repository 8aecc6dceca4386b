//! The arguments of one tool call: the text of one JSON object, in pieces.

use serde_json::{Map, Value};

use super::calls::CallFault;
use crate::limits::MAX_ARGUMENTS_BYTES;

#[derive(Debug, Default)]
pub(super) struct Arguments {
    text: String,
    braces: Braces,
}

impl Arguments {
    /// More of the text. A whole object that says the same again is a summary, not more.
    pub(super) fn add(&mut self, piece: &str) -> Result<(), CallFault> {
        if self.braces.closed && !piece.trim().is_empty() {
            return self.same_again(piece);
        }
        if self.text.len() + piece.len() > MAX_ARGUMENTS_BYTES {
            return Err(CallFault::Limit);
        }
        self.text.push_str(piece);
        self.braces.read(piece);
        Ok(())
    }

    /// The whole text, after as many of its pieces as the server cared to send.
    pub(super) fn settle(&mut self, whole: &str) -> Result<(), CallFault> {
        if whole.trim().is_empty() {
            return Ok(());
        }
        match whole.strip_prefix(&self.text) {
            Some(rest) => self.add(rest),
            None => self.same_again(whole),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn is_under_way(&self) -> bool {
        !self.text.trim().is_empty() && !self.braces.closed
    }

    /// Absent arguments are an empty object; anything else must be one.
    pub(super) fn finish(self) -> Result<String, CallFault> {
        if matches!(self.text.trim(), "" | "null") {
            return Ok("{}".to_owned());
        }
        parse(&self.text).ok_or(CallFault::Damaged)?;
        Ok(self.text)
    }

    fn same_again(&self, piece: &str) -> Result<(), CallFault> {
        let repeats = parse(piece).is_some_and(|again| parse(&self.text) == Some(again));
        if repeats { Ok(()) } else { Err(CallFault::Damaged) }
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
