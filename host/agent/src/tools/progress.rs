//! What a running command says, as `tool.progress` tells it: its last lines, small and seldom.
//! Pure: the caller brings the time.

use std::time::Duration;

use super::output::{cut_end, printable, visible};
use crate::limits::{
    MAX_PROGRESS_BYTES, MAX_PROGRESS_LINE_BYTES, PROGRESS_INTERVAL_MS, PROGRESS_WINDOW_BYTES,
};

/// The end of a stream since the last report. All times count from the call's start.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The last bytes of what was not reported.
    recent: Vec<u8>,
    /// Whether bytes before those are gone.
    is_cut: bool,
    has_line: bool,
    reported: Duration,
}

impl Progress {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.has_line |= bytes.iter().any(is_line_end);
        let kept = &bytes[bytes.len().saturating_sub(PROGRESS_WINDOW_BYTES)..];
        let excess = (self.recent.len() + kept.len()).saturating_sub(PROGRESS_WINDOW_BYTES);
        self.is_cut |= excess > 0 || kept.len() < bytes.len();
        self.recent.drain(..excess.min(self.recent.len()));
        self.recent.extend_from_slice(kept);
    }

    /// When there will be something to report, as far as is known now.
    pub(super) fn due(&self) -> Option<Duration> {
        self.has_line.then(|| self.reported + Duration::from_millis(PROGRESS_INTERVAL_MS))
    }

    /// The newest whole lines; none when it is not time, or when they say nothing.
    pub(super) fn take(&mut self, now: Duration) -> Option<String> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        self.reported = now;
        self.has_line = false;
        let end = self.recent.iter().rposition(is_line_end).map_or(0, |end| end + 1);
        let rest = self.recent.split_off(end);
        let lines = std::mem::replace(&mut self.recent, rest);
        let is_cut = std::mem::take(&mut self.is_cut);
        newest(&lines, is_cut)
    }
}

const fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// As many lines from the end as fit. A line whose beginning is gone counts only when there is no
/// other.
fn newest(bytes: &[u8], is_cut: bool) -> Option<String> {
    let lines = bytes.split(is_line_end).enumerate().map(|(index, line)| {
        let text: String = printable(line).trim_end().chars().map(visible).collect();
        (is_cut && index == 0, cut_end(text, MAX_PROGRESS_LINE_BYTES).0)
    });
    let mut lines: Vec<_> = lines.filter(|(_, line)| !line.is_empty()).collect();
    if lines.len() > 1 {
        lines.retain(|(is_fragment, _)| !is_fragment);
    }
    let mut first = lines.len();
    let mut length = 0;
    while first > 0 && length + lines[first - 1].1.len() < MAX_PROGRESS_BYTES {
        first -= 1;
        length += lines[first].1.len() + 1;
    }
    let kept: Vec<&str> = lines[first..].iter().map(|(_, line)| line.as_str()).collect();
    (!kept.is_empty()).then(|| kept.join("\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LATER: Duration = Duration::from_millis(PROGRESS_INTERVAL_MS);

    fn said(bytes: &[u8]) -> Option<String> {
        let mut progress = Progress::default();
        progress.push(bytes);
        progress.take(LATER)
    }

    #[test]
    fn whole_lines_are_told_and_the_rest_waits() {
        let mut progress = Progress::default();
        progress.push(b"one\ntw");
        assert_eq!(progress.due(), Some(LATER));
        assert_eq!(progress.take(LATER).as_deref(), Some("one"));
        assert_eq!(progress.due(), None, "half a line is nothing to tell");
        progress.push(b"o\n");
        assert_eq!(progress.due(), Some(2 * LATER));
        assert_eq!(progress.take(LATER), None, "not twice in half a second");
        assert_eq!(progress.take(2 * LATER).as_deref(), Some("two"));
        assert_eq!(progress.take(3 * LATER), None);
    }

    #[test]
    fn bars_blanks_and_bytes_become_lines() {
        assert_eq!(
            said(b" 10%\r 20%\r\n\n \n\x1b[1mok\xff\n").as_deref(),
            Some(" 10%\n 20%\n\u{fffd}[1mok\u{fffd}")
        );
        assert_eq!(said(b"\n \n"), None);
    }

    #[test]
    fn the_oldest_lines_go_first() {
        let lines: String = (0..100).map(|index| format!("line {index:02}\n")).collect();
        let text = said(lines.as_bytes()).expect("a text");
        assert!(text.ends_with("line 98\nline 99"), "{text}");
        assert_eq!(text.len(), 64 * "line 00\n".len() - 1);
    }

    #[test]
    fn a_long_line_is_cut() {
        let text = said(&[vec![b'x'; 5000], b"\n".to_vec()].concat()).expect("a text");
        assert_eq!(text, "x".repeat(MAX_PROGRESS_LINE_BYTES));
        let text = said(&[vec![b'x'; 5000], b"\nend\n".to_vec()].concat()).expect("a text");
        assert_eq!(text, "end");
    }

    /// The same byte many times, and an end of its line or none.
    fn run((byte, count, end): (u8, usize, u8)) -> Vec<u8> {
        let mut run = vec![byte; count];
        run.extend(match end {
            0 => Some(b'\r'),
            1 => None,
            _ => Some(b'\n'),
        });
        run
    }

    proptest! {
        #[test]
        fn any_chunking_tells_the_same_within_the_limits(
            runs in prop::collection::vec((any::<u8>(), 1_usize..300, 0_u8..4), 0..30),
            cuts in prop::collection::vec(1_usize..900, 1..20),
        ) {
            let bytes: Vec<u8> = runs.into_iter().flat_map(run).collect();
            let whole = said(&bytes);
            let mut pieces = Progress::default();
            let (mut rest, mut cuts) = (bytes.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert!(pieces.recent.len() <= PROGRESS_WINDOW_BYTES);
            if let Some(text) = &whole {
                prop_assert!(text.len() <= MAX_PROGRESS_BYTES);
                prop_assert!(text.lines().all(|line| line.len() <= MAX_PROGRESS_LINE_BYTES));
                prop_assert!(text.chars().all(|char| char == '\n' || !char.is_control()));
            }
            prop_assert_eq!(pieces.take(LATER), whole);
        }

        #[test]
        fn never_more_than_one_in_half_a_second(
            times in prop::collection::vec(0_u64..400, 1..60),
        ) {
            let mut progress = Progress::default();
            let (mut now, mut last) = (Duration::ZERO, None);
            for step in times {
                now += Duration::from_millis(step);
                progress.push(b"line\n");
                if progress.take(now).is_some() {
                    prop_assert!(last.is_none_or(|last| now - last >= LATER));
                    prop_assert!(now >= LATER);
                    last = Some(now);
                }
            }
        }
    }
}
