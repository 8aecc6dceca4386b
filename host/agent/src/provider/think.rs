//! Takes a model's visible thoughts out of its answer.

use crate::limits::MAX_HELD_BLANKS_BYTES;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Removes a leading `<think>…</think>` block from streamed text.
#[derive(Debug)]
pub(super) struct ThinkFilter {
    state: State,
    /// Text whose meaning the next text decides.
    held: String,
    removed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but blanks and a beginning of the opening tag.
    Start,
    Inside,
    /// Right after the block: blanks are still part of it.
    After,
    Text,
}

impl ThinkFilter {
    pub(super) const fn new(strip: bool) -> Self {
        let state = if strip { State::Start } else { State::Text };
        Self { state, held: String::new(), removed: !strip }
    }

    /// What may be shown now.
    pub(super) fn push(&mut self, text: &str) -> String {
        if self.state == State::Text {
            return text.to_owned();
        }
        self.held.push_str(text);
        if self.state == State::Start {
            self.start();
        }
        if self.state == State::Inside {
            self.inside();
        }
        if self.state == State::After {
            self.after();
        }
        match self.state {
            State::Text => std::mem::take(&mut self.held),
            _ => String::new(),
        }
    }

    /// What was held back and is text after all.
    pub(super) fn finish(&mut self) -> String {
        match self.state {
            State::Start | State::Text => std::mem::take(&mut self.held),
            State::Inside | State::After => String::new(),
        }
    }

    /// The message of the shown text: a lone closing tag removes what stands before it.
    pub(super) fn message(&self, text: String) -> String {
        if self.removed {
            return text;
        }
        match text.split_once(CLOSE) {
            Some((before, after)) if !before.contains(OPEN) => after.trim_start().to_owned(),
            _ => text,
        }
    }

    fn start(&mut self) {
        let text = self.held.trim_start();
        if let Some(rest) = text.strip_prefix(OPEN) {
            self.held = rest.to_owned();
            self.state = State::Inside;
            self.removed = true;
        } else if !OPEN.starts_with(text) || self.held.len() > MAX_HELD_BLANKS_BYTES {
            self.state = State::Text;
        }
    }

    fn inside(&mut self) {
        if let Some(end) = self.held.find(CLOSE) {
            self.held.drain(..end + CLOSE.len());
            self.state = State::After;
            return;
        }
        // Only what could begin the closing tag is kept: the search stays linear.
        let keep = (1..CLOSE.len()).rev().find(|n| self.held.ends_with(&CLOSE[..*n]));
        self.held.drain(..self.held.len() - keep.unwrap_or(0));
    }

    fn after(&mut self) {
        let text = self.held.trim_start();
        if !text.is_empty() {
            self.state = State::Text;
        }
        self.held = text.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(strip: bool, pieces: &[&str]) -> (String, String) {
        let mut filter = ThinkFilter::new(strip);
        let mut shown: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        shown.push_str(&filter.finish());
        (shown.clone(), filter.message(shown))
    }

    #[test]
    fn any_chunking_removes_the_leading_block() {
        for (text, shown, message) in [
            ("<think>secret</think>answer", "answer", "answer"),
            ("\n <think>a</thin></think>\n\nanswer </think>", "answer </think>", "answer </think>"),
            ("<thinker", "<thinker", "<thinker"),
            ("<thi", "<thi", "<thi"),
            ("<think>never ends", "", ""),
            ("so <think>x</think> y", "so <think>x</think> y", "so <think>x</think> y"),
            ("secret</think>\nanswer", "secret</think>\nanswer", "answer"),
            ("  plain", "  plain", "  plain"),
        ] {
            let want = (shown.to_owned(), message.to_owned());
            assert_eq!(filter(true, &[text]), want, "{text:?}");
            let chars: Vec<String> = text.chars().map(String::from).collect();
            let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
            assert_eq!(filter(true, &chars), want, "{text:?} by characters");
        }
    }

    #[test]
    fn does_nothing_when_told_so() {
        let text = "<think>a</think>b";
        assert_eq!(filter(false, &[text]), (text.to_owned(), text.to_owned()));
    }
}
