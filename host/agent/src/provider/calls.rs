//! Puts the fragments of tool calls together.

use std::borrow::Cow;

use super::arguments::Arguments;
use crate::{
    id,
    limits::{MAX_CALL_ID_BYTES, MAX_CALLS_COUNT, MAX_TOOL_NAME_BYTES},
    message::ToolCall,
};

/// A piece of a call, in no format of the wire.
#[derive(Debug, Clone, Default)]
pub(super) struct Fragment<'a> {
    /// Never empty.
    pub(super) id: Option<&'a str>,
    pub(super) index: Option<u64>,
    /// Never empty.
    pub(super) name: Option<&'a str>,
    pub(super) arguments: Cow<'a, str>,
}

/// All calls of one response.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<OpenCall>,
}

#[derive(Debug, Default)]
pub(super) struct OpenCall {
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
    pub(super) fn add(&mut self, fragment: &Fragment<'_>) -> Result<(), CallFault> {
        let place = match self.find(fragment) {
            Some(place) => place,
            None => self.begin(fragment.id, fragment.index)?,
        };
        let call = self.at(place);
        call.add_name(fragment.name)?;
        call.add_arguments(&fragment.arguments)
    }

    /// An id seen before names its call and a new one begins a call, whatever the index says.
    /// Without an id the index decides if it is known, else the name: only a call's first
    /// fragment has one, or all of them have the same.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        if let Some(id) = fragment.id {
            return self.open.iter().position(|call| call.id.as_deref() == Some(id));
        }
        let by_index = |index| self.open.iter().rposition(|call| call.index == Some(index));
        if let Some(place) = fragment.index.and_then(by_index) {
            return Some(place);
        }
        let last = self.open.len().checked_sub(1)?;
        match fragment.name {
            None => Some(last),
            Some(name) if fragment.index.is_none() => {
                let call = &self.open[last];
                (call.name == name && call.arguments.is_under_way()).then_some(last)
            }
            Some(_) => None,
        }
    }

    /// Begins a call and says where it is.
    pub(super) fn begin(
        &mut self,
        id: Option<&str>,
        index: Option<u64>,
    ) -> Result<usize, CallFault> {
        if self.open.len() == MAX_CALLS_COUNT {
            return Err(CallFault::Limit);
        }
        self.open.push(OpenCall { id: id.map(str::to_owned), index, ..OpenCall::default() });
        Ok(self.open.len() - 1)
    }

    /// A call by its place.
    pub(super) fn at(&mut self, place: usize) -> &mut OpenCall {
        &mut self.open[place]
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
        if self.name == name || !self.arguments.is_empty() {
            return Ok(());
        }
        self.name.push_str(name);
        self.check_name()
    }

    pub(super) fn add_arguments(&mut self, piece: &str) -> Result<(), CallFault> {
        self.arguments.add(piece)
    }

    /// What a server says of the whole call, once or again.
    pub(super) fn settle(
        &mut self,
        id: Option<&str>,
        name: Option<&str>,
        arguments: &str,
    ) -> Result<(), CallFault> {
        if self.id.is_none() {
            self.id = id.map(str::to_owned);
        }
        match name {
            Some(name) if self.name.is_empty() => name.clone_into(&mut self.name),
            Some(name) if self.name != name => return Err(CallFault::Damaged),
            _ => {}
        }
        self.check_name()?;
        self.arguments.settle(arguments)
    }

    const fn check_name(&self) -> Result<(), CallFault> {
        match self.name.len() > MAX_TOOL_NAME_BYTES {
            true => Err(CallFault::Damaged),
            false => Ok(()),
        }
    }

    fn finish(self) -> Result<ToolCall, CallFault> {
        if self.name.is_empty() {
            return Err(CallFault::Damaged);
        }
        let id = self.id.filter(|id| id.len() <= MAX_CALL_ID_BYTES).unwrap_or_else(id::call_id);
        Ok(ToolCall { id, name: self.name, arguments: self.arguments.finish()? })
    }
}
