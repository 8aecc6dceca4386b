//! The line decoder against a plain description of what it must find.

use proptest::prelude::*;
use scv_protocol::codec::{Line, LineDecoder, encode_event, line_too_long};

/// What a stream holds, said without chunks, state or limits on memory.
fn expected(stream: &[u8], limit: usize) -> Vec<Line> {
    let mut pieces: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let unfinished = pieces.pop().unwrap_or_default();
    let line = |bytes: &[u8]| match bytes.len() > limit {
        true => Line::TooLong,
        false => Line::Complete(bytes.to_vec()),
    };
    let mut lines: Vec<_> = pieces
        .into_iter()
        .map(|piece| match line(piece) {
            Line::Complete(bytes) => {
                Line::Complete(bytes.strip_suffix(b"\r").unwrap_or(&bytes).to_vec())
            }
            Line::TooLong => Line::TooLong,
        })
        .collect();
    if unfinished.len() > limit {
        lines.push(Line::TooLong);
    }
    lines
}

fn decode(chunks: &[&[u8]], limit: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut decoder = LineDecoder::new(limit);
    for chunk in chunks {
        decoder.push(chunk, |line| lines.push(line));
    }
    lines
}

/// Cuts a stream at these places, in any order and beyond its end.
fn cut<'a>(stream: &'a [u8], at: &[usize]) -> Vec<&'a [u8]> {
    let mut at: Vec<_> = at.iter().map(|place| place % (stream.len() + 1)).collect();
    at.sort_unstable();
    let mut chunks = Vec::new();
    let mut begin = 0;
    for end in at {
        chunks.push(&stream[begin..end]);
        begin = end;
    }
    chunks.push(&stream[begin..]);
    chunks
}

/// Bytes in which line ends are frequent.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r')];
    proptest::collection::vec(byte, 0..200)
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_lines(
        stream in stream(),
        limit in 0_usize..20,
        at in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        prop_assert_eq!(decode(&cut(&stream, &at), limit), expected(&stream, limit));
        let bytes: Vec<_> = stream.chunks(1).collect();
        prop_assert_eq!(decode(&bytes, limit), expected(&stream, limit));
    }
}

#[test]
fn the_end_of_the_stream_ends_its_last_line() {
    let end_after = |stream: &[u8]| {
        let (mut decoder, mut lines) = (LineDecoder::new(4), Vec::new());
        decoder.push(stream, |line| lines.push(line));
        decoder.end(|line| lines.push(line));
        lines
    };
    assert_eq!(end_after(b"last\r"), [Line::TooLong]);
    assert_eq!(end_after(b"end"), [Line::Complete(b"end".to_vec())]);
    assert_eq!(end_after(b"end\n"), [Line::Complete(b"end".to_vec())], "nothing stands behind it");
    assert_eq!(end_after(b"long one"), [Line::TooLong], "said once");
}

#[test]
fn a_line_is_refused_at_the_first_byte_too_many_and_once() {
    let mut decoder = LineDecoder::new(4);
    let mut lines = Vec::new();
    decoder.push(b"four", |line| lines.push(line));
    assert!(lines.is_empty(), "the limit itself is allowed");
    decoder.push(b"5", |line| lines.push(line));
    assert_eq!(lines, [Line::TooLong], "no newline is waited for");
    decoder.push(b"678901234567890", |line| lines.push(line));
    assert_eq!(lines, [Line::TooLong], "said once");
    decoder.push(b"\nnext\n", |line| lines.push(line));
    assert_eq!(lines[1..], [Line::Complete(b"next".to_vec())]);
}

/// 4 MiB in single bytes: were each byte to cost the line's length, this would take hours.
#[test]
fn a_byte_costs_the_same_at_the_end_of_a_long_line() {
    let length = 4 * 1024 * 1024;
    let mut decoder = LineDecoder::new(length);
    let mut lines = Vec::new();
    for _ in 0..length {
        decoder.push(b"x", |line| lines.push(line));
    }
    decoder.push(b"\n", |line| lines.push(line));
    assert_eq!(lines, [Line::Complete(vec![b'x'; length])]);
}

#[test]
fn an_event_that_is_too_large_is_not_encoded() {
    let event = line_too_long(10);
    let line = encode_event(&event, 1000).expect("it fits");
    assert_eq!(line.last(), Some(&b'\n'));
    let json = line.len() - 1;
    assert!(encode_event(&event, json).is_ok(), "the newline is not counted");
    let refused = encode_event(&event, json - 1).expect_err("one byte too many");
    assert_eq!(refused.limit, json - 1);
}
