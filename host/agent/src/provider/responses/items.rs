//! Takes the events of a response, item by item.

use std::collections::BTreeSet;

use serde_json::Value;

use super::event::{Event, Item};
use crate::provider::{
    calls::CallFault,
    decode::{Heard, Payload},
    fault::Fault,
    growing::{Finish, Growing},
    usage,
    words::{error_text, is_something},
};

/// What is known of the output's items.
#[derive(Debug)]
pub(in crate::provider) struct Items {
    spoken: Spoken,
    /// In the order of [`Growing::calls`].
    calls: Vec<Known>,
}

/// The messages whose text has come as deltas.
#[derive(Debug)]
struct Spoken {
    indexes: BTreeSet<u64>,
    ids: BTreeSet<String>,
    /// Text came since the last whole message.
    lately: bool,
}

/// The names of a call; gateways leave some out.
#[derive(Debug, Default)]
struct Known {
    call_id: Option<String>,
    item_id: Option<String>,
    index: Option<u64>,
    /// The server has said all of it.
    is_whole: bool,
}

impl Items {
    pub(in crate::provider) const fn new() -> Self {
        let spoken = Spoken { indexes: BTreeSet::new(), ids: BTreeSet::new(), lately: false };
        Self { spoken, calls: Vec::new() }
    }

    /// Takes one event.
    pub(in crate::provider) fn read(
        &mut self,
        payload: Payload<'_>,
        answer: &mut Growing,
    ) -> Result<Heard, Fault> {
        let mut repaired = String::new();
        let (event, payload) = payload.parse::<Event<'_>>(&mut repaired)?;
        let response = || event.response.as_ref().unwrap_or(&Value::Null);
        match event.kind(payload.name) {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.text(&event, answer)?;
            }
            "response.function_call_arguments.delta" => {
                self.arguments(&event, payload, answer)?;
            }
            // Only a call's names are sure to be in it.
            "response.output_item.added" => {
                if let Some(item) = event.item.as_ref().map(Item).filter(|item| item.is_call()) {
                    self.call(item, event.output_index, None, answer)?;
                }
            }
            "response.output_item.done" => {
                if let Some(item) = &event.item {
                    self.item(Item(item), event.output_index, payload, answer)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.response(response(), event.kind(payload.name), payload, answer)?;
            }
            "ping" | "keepalive" => return Ok(Heard::Ping),
            kind if kind == "error" || event.is_error() => return Err(reported(payload)),
            _ if event.is_of_chat() => return Err(Fault::other_format("chat")),
            _ => {}
        }
        Ok(Heard::Progress)
    }

    /// Takes a response in one piece.
    pub(in crate::provider) fn read_whole(
        &mut self,
        payload: Payload<'_>,
        answer: &mut Growing,
    ) -> Result<(), Fault> {
        let mut repaired = String::new();
        let (response, payload) = payload.parse::<Value>(&mut repaired)?;
        let has = |key: &str| response.get(key).is_some_and(is_something);
        if has("error") || response.get("type").is_some_and(|kind| kind == "error") {
            return Err(reported(payload));
        }
        if has("choices") {
            return Err(Fault::other_format("chat"));
        }
        if response.get("output").is_none() {
            return Ok(());
        }
        self.response(&response, "", payload, answer)
    }

    /// More of a message. Nothing at all does not make it known: the rest may come whole.
    fn text(&mut self, event: &Event<'_>, answer: &mut Growing) -> Result<(), Fault> {
        if event.delta().is_empty() {
            return Ok(());
        }
        self.spoken.note(event.output_index, event.item_id());
        answer.say(event.delta())
    }

    /// More of a call's arguments.
    fn arguments(
        &mut self,
        event: &Event<'_>,
        payload: Payload<'_>,
        answer: &mut Growing,
    ) -> Result<(), Fault> {
        if payload.damages(event.delta()) {
            return Err(CallFault::Damaged.into());
        }
        let place = match self.place_of_delta(event.item_id(), event.output_index) {
            Some(place) => place,
            None => self.begin(None, event.item_id(), event.output_index, answer)?,
        };
        Ok(answer.calls.at(place).add_arguments(event.delta())?)
    }

    /// A whole item.
    fn item(
        &mut self,
        item: Item<'_>,
        index: Option<u64>,
        payload: Payload<'_>,
        answer: &mut Growing,
    ) -> Result<(), Fault> {
        if item.is_message() && !self.spoken.has(index, item.id()) {
            return answer.say(&item.text());
        }
        if item.is_call() {
            let arguments = item.arguments();
            if payload.damages(&arguments) {
                return Err(CallFault::Damaged.into());
            }
            return self.call(item, index, Some(&arguments), answer);
        }
        Ok(())
    }

    /// A call, with its arguments when it is whole.
    fn call(
        &mut self,
        item: Item<'_>,
        index: Option<u64>,
        arguments: Option<&str>,
        answer: &mut Growing,
    ) -> Result<(), Fault> {
        let place = match self.place_of_call(item, index) {
            Some(place) => place,
            None => self.begin(item.call_id(), item.id(), index, answer)?,
        };
        self.calls[place].learn(item, index);
        self.calls[place].is_whole |= arguments.is_some();
        let arguments = arguments.unwrap_or_default();
        Ok(answer.calls.at(place).settle(item.call_id(), item.name(), arguments)?)
    }

    /// The end, with everything once more. `kind` is empty for a body in one piece.
    fn response(
        &mut self,
        response: &Value,
        kind: &str,
        payload: Payload<'_>,
        answer: &mut Growing,
    ) -> Result<(), Fault> {
        let status = response.get("status").and_then(Value::as_str).unwrap_or_default();
        let error = response.get("error").filter(|error| is_something(error));
        if kind == "response.failed" || status == "failed" || error.is_some() {
            let error = error
                .cloned()
                .map_or_else(|| reported(payload), |error| Fault::provider(error_text(&error)));
            return Err(error);
        }
        answer.usage = response.get("usage").and_then(usage::read).or(answer.usage);
        let output = response.get("output").and_then(Value::as_array);
        self.fall_back_on(output.map(Vec::as_slice).unwrap_or_default(), payload, answer)?;
        answer.finish = Some(match kind == "response.incomplete" || status == "incomplete" {
            true => why_incomplete(response)?,
            false => Finish::Ended,
        });
        answer.done = true;
        Ok(())
    }

    /// Text and calls that came nowhere else. Neither is taken twice: some servers give the
    /// items other names here.
    fn fall_back_on(
        &mut self,
        output: &[Value],
        payload: Payload<'_>,
        answer: &mut Growing,
    ) -> Result<(), Fault> {
        let (text, calls) = (!answer.has_said(), answer.calls.is_empty());
        for item in output.iter().map(Item) {
            if (text && item.is_message()) || (calls && item.is_call()) {
                self.item(item, None, payload, answer)?;
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        call_id: Option<&str>,
        item_id: Option<&str>,
        index: Option<u64>,
        answer: &mut Growing,
    ) -> Result<usize, Fault> {
        let place = answer.calls.begin(call_id, index)?;
        let owned = |name: Option<&str>| name.map(str::to_owned);
        let (call_id, item_id) = (owned(call_id), owned(item_id));
        self.calls.push(Known { call_id, item_id, index, is_whole: false });
        Ok(place)
    }

    /// An item's id that was seen before names its call, then the index; without both it is the
    /// last call, as far as that has no names of its own.
    fn place_of_delta(&self, item_id: Option<&str>, index: Option<u64>) -> Option<usize> {
        let by_id = |call: &Known| item_id.is_some() && call.item_id.as_deref() == item_id;
        let by_index = |call: &Known| index.is_some() && call.index == index;
        let last = || {
            let call = self.calls.last()?;
            let is_free = item_id.is_none() || call.item_id.is_none();
            (index.is_none() && is_free && !call.is_whole).then_some(self.calls.len() - 1)
        };
        let calls = &self.calls;
        calls.iter().position(by_id).or_else(|| calls.iter().rposition(by_index)).or_else(last)
    }

    /// A call's own id that was seen before names it, and a new one begins a call, unless its
    /// arguments came first under the item's id or index.
    fn place_of_call(&self, item: Item<'_>, index: Option<u64>) -> Option<usize> {
        let same =
            |known: &Option<String>, id: Option<&str>| id.is_some() && known.as_deref() == id;
        let by_call_id = |call: &Known| same(&call.call_id, item.call_id());
        let by_item = |call: &Known| {
            let is_same =
                same(&call.item_id, item.id()) || (index.is_some() && call.index == index);
            call.call_id.is_none() && is_same
        };
        let nameless = |call: &Known| {
            index.is_none() && item.id().is_none() && call.call_id.is_none() && !call.is_whole
        };
        let calls = &self.calls;
        let place = calls.iter().position(by_call_id).or_else(|| calls.iter().rposition(by_item));
        place.or_else(|| calls.iter().rposition(nameless))
    }
}

impl Known {
    fn learn(&mut self, item: Item<'_>, index: Option<u64>) {
        let owned = |name: Option<&str>| name.map(str::to_owned);
        self.call_id = self.call_id.take().or_else(|| owned(item.call_id()));
        self.item_id = self.item_id.take().or_else(|| owned(item.id()));
        self.index = self.index.or(index);
    }
}

impl Spoken {
    fn note(&mut self, index: Option<u64>, id: Option<&str>) {
        self.lately = true;
        self.indexes.extend(index);
        if let Some(id) = id.filter(|id| !self.ids.contains(*id)) {
            self.ids.insert(id.to_owned());
        }
    }

    /// Whether a whole message was said already. One without names that are known is, when text
    /// came since the last one.
    fn has(&mut self, index: Option<u64>, id: Option<&str>) -> bool {
        let lately = std::mem::take(&mut self.lately);
        let by_index = index.map(|index| self.indexes.contains(&index));
        let by_id = id.map(|id| self.ids.contains(id));
        match (by_index, by_id) {
            (Some(true), _) | (_, Some(true)) => true,
            (Some(false), _) if !self.indexes.is_empty() => false,
            (_, Some(false)) if !self.ids.is_empty() => false,
            _ => lately,
        }
    }
}

/// The error that an event is.
fn reported(payload: Payload<'_>) -> Fault {
    let error = serde_json::from_str::<Value>(payload.json).unwrap_or(Value::Null);
    // A failed response has its words inside.
    let error = error.get("response").filter(|inner| is_something(inner)).unwrap_or(&error);
    Fault::provider(error_text(error))
}

fn why_incomplete(response: &Value) -> Result<Finish, Fault> {
    let details = response.get("incomplete_details");
    let reason = details.and_then(|details| details.get("reason")).and_then(Value::as_str);
    match reason {
        Some("max_output_tokens" | "max_tokens" | "length") => Ok(Finish::Cut),
        Some("content_filter") => Err(Fault::filtered()),
        _ => Err(Fault::provider("the server ended the answer before it was whole")),
    }
}
