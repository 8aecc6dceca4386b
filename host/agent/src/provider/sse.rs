//! Server-sent events as the standard has them, from any chunking, in linear time.

use memchr::memchr2;

/// The data that ends a stream.
pub(crate) const DONE: &str = "[DONE]";

/// Splits a stream into events. Fields other than `event` and `data` are not kept.
#[derive(Debug)]
pub(crate) struct SseParser {
    /// A line that has not ended.
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// Bytes of the event under way, its unfinished line not counted.
    event_bytes: usize,
    max_event_bytes: usize,
    first_line: bool,
    /// The last byte was a CR: an LF right after it belongs to it.
    after_cr: bool,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SseEvent<'a> {
    /// Empty unless an `event` field gave one.
    pub(crate) name: &'a [u8],
    /// `data` fields, joined with LF. Need not be UTF-8.
    pub(crate) data: &'a [u8],
}

/// An event is larger than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTooLarge;

impl SseParser {
    pub(crate) const fn new(max_event_bytes: usize) -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            event_bytes: 0,
            max_event_bytes,
            first_line: true,
            after_cr: false,
        }
    }

    /// Takes the next bytes and gives each event to `found`, which may fail to stop the reading.
    pub(crate) fn push<E: From<EventTooLarge>>(
        &mut self,
        mut bytes: &[u8],
        mut found: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !bytes.is_empty() && std::mem::take(&mut self.after_cr) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (head, rest) = bytes.split_at(end);
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => rest,
            };
            self.after_cr = rest == b"\r";
            self.check_size(head.len())?;
            self.end_line(head, &mut found)?;
        }
        self.check_size(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the stream. An event without its blank line is given, too: the caller decides whether
    /// it is whole.
    pub(crate) fn finish<E: From<EventTooLarge>>(
        &mut self,
        mut found: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.line.is_empty() {
            self.end_line(b"", &mut found)?;
        }
        self.dispatch(&mut found)
    }

    fn check_size(&self, more: usize) -> Result<(), EventTooLarge> {
        if self.event_bytes + self.line.len() + more > self.max_event_bytes {
            return Err(EventTooLarge);
        }
        Ok(())
    }

    fn end_line<E>(
        &mut self,
        tail: &[u8],
        found: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // Most lines come whole and are read where they are.
        if self.line.is_empty() {
            return self.read_line(tail, found);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(tail);
        let result = self.read_line(&line, found);
        line.clear();
        self.line = line;
        result
    }

    fn read_line<E>(
        &mut self,
        mut line: &[u8],
        found: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(found);
        }
        self.event_bytes += line.len();
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // A comment belongs to no event.
            b"" => self.event_bytes -= line.len(),
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(
        &mut self,
        found: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let has_data = std::mem::take(&mut self.has_data);
        let event = SseEvent { name: &self.name, data: &self.data };
        let result = if has_data { found(event) } else { Ok(()) };
        self.event_bytes = 0;
        self.name.clear();
        self.data.clear();
        result
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(chunks: &[&[u8]], limit: usize) -> Result<Vec<(String, String)>, EventTooLarge> {
        let mut parser = SseParser::new(limit);
        let mut events = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut found = |event: SseEvent<'_>| {
            events.push((text(event.name), text(event.data)));
            Ok::<_, EventTooLarge>(())
        };
        for chunk in chunks {
            parser.push(chunk, &mut found)?;
        }
        parser.finish(&mut found)?;
        Ok(events)
    }

    fn data(stream: &str) -> Vec<String> {
        let events = parse(&[stream.as_bytes()], 1000).expect("fits");
        events.into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn reads_fields_as_the_standard_says() {
        for (stream, events) in [
            ("data: a\n\ndata:b\n\n", vec!["a", "b"]),
            ("data:  a\n\n", vec![" a"]),
            ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", vec!["a", "b", "c"]),
            ("data: a\ndata: b\n\n", vec!["a\nb"]),
            (": ping\n\ndata: a\n: more\nid: 7\nretry: 1\n\n", vec!["a"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("\n\u{feff}data: a\n\n", vec![]),
            ("data\n\ndata:\n\n", vec!["", ""]),
            ("event: x\n\ndata: a\n\n", vec!["a"]),
            ("data: a", vec!["a"]),
            ("data: a\n", vec!["a"]),
            ("\r\n\r\n", vec![]),
        ] {
            assert_eq!(data(stream), events, "{stream:?}");
        }
    }

    #[test]
    fn a_name_belongs_to_one_event() {
        let events = parse(&[b"event: error\ndata: a\n\ndata: b\n\n"], 1000).expect("fits");
        let pair = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        assert_eq!(events, [pair("error", "a"), pair("", "b")]);
    }

    #[test]
    fn an_event_is_bounded_however_it_comes() {
        let line = format!("data: {}\n\n", "x".repeat(94));
        assert_eq!(parse(&[line.as_bytes(), line.as_bytes()], 100).map(|e| e.len()), Ok(2));
        assert_eq!(parse(&[line.as_bytes()], 99), Err(EventTooLarge));
        assert_eq!(parse(&[&[b'x'; 60], &[b'x'; 60]], 100), Err(EventTooLarge));
        let lines = "data: 12345\n".repeat(10);
        assert_eq!(parse(&[lines.as_bytes()], 100), Err(EventTooLarge));
        let comments = ": 123456789\n".repeat(1000);
        assert_eq!(parse(&[comments.as_bytes()], 100), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "data: a", "data:b", "data", "event: e", ": c", "\n", "\r", "\r\n", "\n\n",
                    "\u{feff}", "é", "x:",
                ]),
                0..30,
            ),
            cuts in prop::collection::vec(1_usize..7, 1..10),
        ) {
            let stream = pieces.concat();
            let whole = parse(&[stream.as_bytes()], 1000);
            let (mut rest, mut chunks) = (stream.as_bytes(), Vec::new());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, after) = rest.split_at(rest.len().min(*cut));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(parse(&chunks, 1000), whole);
        }
    }
}
