//! Output of commands and files, bounded while it is read and made printable.

use std::collections::VecDeque;

/// Keeps the beginning and the end of a stream, each in half of the limit.
#[derive(Debug)]
pub(super) struct Capture {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
}

impl Capture {
    pub(super) const fn new(limit: usize) -> Self {
        Self { half: limit / 2, head: Vec::new(), tail: VecDeque::new(), omitted: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.half - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let kept = &rest[rest.len().saturating_sub(self.half)..];
        self.omitted += (rest.len() - kept.len()) as u64;
        let excess = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..excess);
        self.omitted += excess as u64;
        self.tail.extend(kept);
    }

    /// The text, and whether something is missing from it.
    pub(super) fn finish(mut self) -> (String, bool) {
        if self.omitted == 0 {
            self.head.extend(&self.tail);
            return cut_end(printable(&self.head), 2 * self.half);
        }
        let (head, _) = cut_end(printable(&self.head), self.half);
        let tail = cut_start(printable(self.tail.make_contiguous()), self.half);
        (format!("{head}\n[{} bytes left out]\n{tail}", self.omitted), true)
    }
}

/// Text in which JSON escapes nothing but line ends, tabs, quotes and backslashes: everything
/// else that is not text becomes U+FFFD.
pub(super) fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .chars()
        .map(|char| match char {
            '\n' | '\t' => char,
            '\r' => '\n',
            char if char.is_control() => char::REPLACEMENT_CHARACTER,
            char => char,
        })
        .collect()
}

/// A character in one line that a person must be able to trust: no line end, no control, nothing
/// that changes the direction of text.
pub(super) const fn visible(char: char) -> char {
    match char {
        '\u{0}'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => char::REPLACEMENT_CHARACTER,
        char => char,
    }
}

/// The longest start of at most `limit` bytes, and whether that is less than all.
pub(super) fn cut_end(mut text: String, limit: usize) -> (String, bool) {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = end < text.len();
    text.truncate(end);
    (text, cut)
}

fn cut_start(text: String, limit: usize) -> String {
    let mut start = text.len().saturating_sub(limit);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    if start == 0 { text } else { text[start..].to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_kept_as_it_is() {
        let mut capture = Capture::new(8);
        capture.push(b"abc");
        capture.push(b"defgh");
        assert_eq!(capture.finish(), ("abcdefgh".to_owned(), false));
    }

    #[test]
    fn beginning_and_end_are_kept() {
        let mut capture = Capture::new(8);
        capture.push(b"0123456789");
        capture.push(b"abcdef");
        let text = "0123\n[8 bytes left out]\ncdef".to_owned();
        assert_eq!(capture.finish(), (text, true));
    }

    #[test]
    fn json_inflates_none_of_it() {
        assert_eq!(printable(b"a\0b\xffc\x1b\r\nd\re\tf"), "a\u{fffd}b\u{fffd}c\u{fffd}\nd\ne\tf");
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_text_within_the_limit(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            cuts in prop::collection::vec(1_usize..40, 1..20),
            limit in 2_usize..120,
        ) {
            let mut whole = Capture::new(limit);
            whole.push(&bytes);
            let mut pieces = Capture::new(limit);
            let (mut rest, mut cuts) = (bytes.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                pieces.push(piece);
                rest = after;
            }
            let (text, truncated) = whole.finish();
            prop_assert!(text.len() <= limit + "\n[200 bytes left out]\n".len());
            prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert_eq!(pieces.finish(), (text, truncated));
        }
    }
}
