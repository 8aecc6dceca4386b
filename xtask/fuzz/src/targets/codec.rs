//! What a client sends: lines in any cut, and messages that are what they say.

use scv_protocol::{
    ClientMessage,
    codec::{Line, LineDecoder},
};

use super::{Kind, about, pieces};

pub(crate) const NAME: &str = "codec";

pub(crate) const WORDS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"{",
    b"}",
    b"[[[[[[[[",
    b"\"type\":",
    b"\"request_id\":\"1\"",
    b"\"initialize\"",
    b"\"protocol_version\":3",
    b"\"daemon.control\"",
    b"\"session.start\"",
    b"\"turn.start\"",
    b"\"queue.update\"",
    b"\"queue.move\"",
    b"\"session.pause\"",
    b"null",
    b"-1",
    b"\"action\":\"channel_set\"",
    b"\"session_id\":\"s\"",
    b"\"prompt\":\"p\"",
    b"\\u0000",
    b"1e999",
];

/// Small, so that inputs pass it.
const LIMIT: usize = 512;

pub(crate) fn run(input: &[u8]) -> Kind {
    let whole = lines([input]);
    assert_eq!(lines(input.chunks(1)), whole, "by byte");
    assert_eq!(lines(pieces(input)), whole, "in pieces");
    let mut kinds = Vec::new();
    for line in &whole {
        match line {
            Line::TooLong => kinds.push("too long".to_owned()),
            Line::Complete(line) => {
                assert!(line.len() <= LIMIT, "a line past the limit");
                assert!(!line.contains(&b'\n'), "two lines in one");
                kinds.push(decode(line));
            }
        }
    }
    kinds.sort();
    kinds.dedup();
    Kind::of((about(whole.len()), kinds))
}

fn lines<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
    let mut decoder = LineDecoder::new(LIMIT);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.push(chunk, |line| lines.push(line));
    }
    lines
}

/// A message that was read is written and read again as the same.
fn decode(line: &[u8]) -> String {
    match ClientMessage::decode(line) {
        Ok(message) => {
            let written = serde_json::to_vec(&message).expect("a message is JSON");
            assert_eq!(ClientMessage::decode(&written).as_ref(), Ok(&message), "another message");
            variant(&format!("{message:?}"))
        }
        Err(error) => variant(&format!("{error:?}")),
    }
}

/// The first word of a `Debug` text: the rest is always new.
fn variant(debug: &str) -> String {
    debug.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}
