//! A provider's body, in both formats: the same answer however it is cut, and never half of one.

use scv_agent::{
    config::WireApi,
    fuzz::{self, Reading},
};
use serde_json::{Map, Value};

use super::{Kind, about, pieces};

pub(crate) const NAME: &str = "sse";

pub(crate) const WORDS: &[&[u8]] = &[
    b"\n\n",
    b"\r\n",
    b"\r",
    b"data: ",
    b"event: error\n",
    b": x\n",
    b"\xef\xbb\xbf",
    b"[DONE]",
    b"data: [DONE]\n\n",
    b"\"finish_reason\":\"stop\"",
    b"\"finish_reason\":\"length\"",
    b"null",
    b"\"index\":0,",
    b"\"id\":\"a\",",
    b"\"output_index\":1,",
    b"\"item_id\":\"fc_1\",",
    b"{}",
    b"\"type\":\"response.completed\"",
    b"\"type\":\"response.output_item.done\"",
    b"\"type\":\"response.output_item.added\"",
    b"\"type\":\"response.output_text.delta\"",
    b"\"type\":\"response.function_call_arguments.delta\"",
    b"\"type\":\"message\"",
    b"[]",
    b"\"type\":\"function_call\"",
    b"\"call_id\":\"c1\"",
    b"\"arguments\":\"{}\"",
    b"\\ud83d",
    b"\"name\":\"bash\"",
    b"<think>",
    b"</think>",
    b"\"error\":{\"message\":\"x\"}",
    b"\xff",
    b"\\\"",
    b"\"usage\":{\"prompt_tokens\":1}",
    b"\"response\":{\"output\":[]}",
    b"\"choices\":[{\"delta\":{}}]",
];

/// An input that is this body: the first byte says the format and how the body ends.
pub(crate) fn input(wire_api: WireApi, body: &[u8]) -> Vec<u8> {
    let first = match wire_api {
        WireApi::Chat => b'c',
        WireApi::Responses => b'r',
    };
    [&[first], body].concat()
}

pub(crate) fn run(input: &[u8]) -> Kind {
    let Some((first, body)) = input.split_first() else {
        return Kind::of(());
    };
    let wire_api = if first & 1 == 1 { WireApi::Chat } else { WireApi::Responses };
    let is_clean = first & 0x80 == 0;
    let whole = fuzz::read(wire_api, [body], is_clean);
    for (how, chunks) in [("by byte", body.chunks(1).collect()), ("in pieces", pieces(body))] {
        assert_eq!(fuzz::read(wire_api, chunks, is_clean), whole, "{how}");
    }
    check(&whole);
    let answer = whole.result.as_ref();
    let calls = answer.map_or(0, |answer| answer.calls.len());
    let is_empty = answer.is_ok_and(|answer| answer.text.is_empty());
    let words = answer.err().map(|words| own_words(words));
    Kind::of((wire_api as u8, about(whole.deltas.len()).min(4), calls.min(3), is_empty, words))
}

/// The beginning of a failure, unless a server has written it: its words are always new.
fn own_words(words: &str) -> &str {
    match words.char_indices().nth(24) {
        Some((end, _)) if words.starts_with("the ") => &words[..end],
        _ => "",
    }
}

fn check(reading: &Reading) {
    let shown = reading.deltas.concat();
    assert!(reading.deltas.iter().all(|delta| !delta.is_empty()), "an empty delta");
    assert!(shown.len() <= 1024 * 1024 + 100, "too much text");
    match &reading.result {
        Err(words) => assert!(!words.is_empty(), "a failure without words"),
        Ok(answer) => {
            assert!(!reading.may_pass);
            assert!(shown.ends_with(&answer.text), "the message is no part of what was shown");
            assert!(answer.calls.len() <= 32, "too many calls");
            for [name, arguments] in &answer.calls {
                assert!(!name.is_empty(), "a call without a name");
                let object = serde_json::from_str::<Map<String, Value>>(arguments);
                assert!(object.is_ok(), "half a call: {arguments}");
            }
        }
    }
}
