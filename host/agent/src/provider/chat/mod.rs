//! Chat Completions: `POST {base_url}/chat/completions`.

mod chunk;
mod request;

pub(super) use request::body;

use super::{
    calls::CallFault,
    decode::{Heard, Payload},
    fault::Fault,
    growing::{Finish, Growing},
};
use chunk::{Choice, Chunk};

/// What the URL ends in.
pub(super) const PATH: &str = "chat/completions";

/// Takes one event.
pub(super) fn read(payload: Payload<'_>, answer: &mut Growing) -> Result<Heard, Fault> {
    let mut repaired = String::new();
    let (chunk, payload) = payload.parse::<Chunk<'_>>(&mut repaired)?;
    if chunk.is_ping() {
        return Ok(Heard::Ping);
    }
    if chunk.is_of_responses(payload.name) {
        return Err(Fault::other_format("responses"));
    }
    take(chunk, payload, answer)?;
    Ok(Heard::Progress)
}

/// Takes a completion in one piece.
pub(super) fn read_whole(payload: Payload<'_>, answer: &mut Growing) -> Result<(), Fault> {
    let mut repaired = String::new();
    let (chunk, payload) = payload.parse::<Chunk<'_>>(&mut repaired)?;
    if chunk.is_of_responses(payload.name) {
        return Err(Fault::other_format("responses"));
    }
    answer.done = chunk.choices.is_some();
    take(chunk, payload, answer)
}

fn take(mut chunk: Chunk<'_>, payload: Payload<'_>, answer: &mut Growing) -> Result<(), Fault> {
    if let Some(words) = chunk.error() {
        return Err(Fault::provider(words));
    }
    answer.usage = chunk.usage().or(answer.usage);
    match chunk.take_choice() {
        Some(choice) => take_choice(choice, payload, answer),
        None => Ok(()),
    }
}

fn take_choice(
    mut choice: Choice<'_>,
    payload: Payload<'_>,
    answer: &mut Growing,
) -> Result<(), Fault> {
    let delta = choice.take_delta();
    // Text after the finish reason only says the same again.
    if answer.finish.is_none() {
        answer.say(&delta.content.0)?;
        answer.say(&delta.refusal.0)?;
        answer.reasoning.push_str(&delta.reasoning_content.0);
    }
    for piece in delta.tool_calls.iter().flatten() {
        let fragment = piece.fragment();
        if payload.damages(&fragment.arguments) {
            return Err(CallFault::Damaged.into());
        }
        answer.calls.add(&fragment)?;
    }
    if let Some(words) = choice.error() {
        return Err(Fault::provider(words));
    }
    match choice.finish_reason() {
        None => {}
        Some("length" | "max_tokens") => answer.finish = Some(Finish::Cut),
        Some("content_filter") => return Err(Fault::filtered()),
        Some(_) => answer.finish = answer.finish.or(Some(Finish::Ended)),
    }
    Ok(())
}
