//! A session's memory: what was said, and the part of it that goes into the next request.

use std::collections::VecDeque;

use crate::{config::HistoryConfig, message::Item};

/// All messages, oldest first. A prompt begins each turn.
#[derive(Debug, Default)]
pub(crate) struct History {
    items: VecDeque<Item>,
    bytes: usize,
    /// The first message of the next request.
    window: usize,
    window_bytes: usize,
}

/// The state before a turn. A turn that does not complete leaves nothing behind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    items: usize,
    bytes: usize,
    window: usize,
    window_bytes: usize,
}

/// Messages that left the next request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Compaction {
    pub(crate) before_bytes: usize,
    pub(crate) after_bytes: usize,
    pub(crate) removed: usize,
}

/// Messages that were forgotten.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trim {
    pub(crate) removed: usize,
    pub(crate) bytes: usize,
}

/// The running turn alone does not fit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DoesNotFit;

impl History {
    pub(crate) fn push(&mut self, item: Item) {
        self.bytes += item.len_bytes();
        self.window_bytes += item.len_bytes();
        self.items.push_back(item);
    }

    /// What goes into the next request.
    pub(crate) fn window(&self) -> impl ExactSizeIterator<Item = &Item> + Clone {
        self.items.range(self.window..)
    }

    pub(crate) fn last(&self) -> Option<&Item> {
        self.items.back()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            items: self.items.len(),
            bytes: self.bytes,
            window: self.window,
            window_bytes: self.window_bytes,
        }
    }

    /// Forgets everything since the mark.
    pub(crate) fn reset(&mut self, mark: Mark) {
        self.items.truncate(mark.items);
        self.bytes = mark.bytes;
        self.window = mark.window;
        self.window_bytes = mark.window_bytes;
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether the turn that began at the mark is within what a session may remember.
    pub(crate) fn turn_is_within(&self, mark: Mark, limits: &HistoryConfig) -> bool {
        self.bytes - mark.bytes <= limits.max_bytes
            && self.items.len() - mark.items <= limits.max_messages
    }

    /// Makes the next request fit by leaving out the oldest turns, never the one that began at
    /// the mark. Costs what is left out, not what is kept.
    pub(crate) fn fit(
        &mut self,
        budget_bytes: usize,
        mark: Mark,
    ) -> Result<Option<Compaction>, DoesNotFit> {
        let (before_bytes, before) = (self.window_bytes, self.window);
        while self.window_bytes > budget_bytes && self.window < mark.items {
            self.leave_out_one_turn(mark.items);
        }
        if self.window_bytes > budget_bytes {
            return Err(DoesNotFit);
        }
        let removed = self.window - before;
        Ok((removed > 0).then_some(Compaction {
            before_bytes,
            after_bytes: self.window_bytes,
            removed,
        }))
    }

    fn leave_out_one_turn(&mut self, end: usize) {
        loop {
            self.window_bytes -= self.items[self.window].len_bytes();
            self.window += 1;
            if self.window == end || matches!(self.items[self.window], Item::User(_)) {
                return;
            }
        }
    }

    /// Forgets the oldest turns until the rest is within the limits.
    pub(crate) fn trim(&mut self, limits: &HistoryConfig) -> Option<Trim> {
        let before = self.items.len();
        while self.bytes > limits.max_bytes || self.items.len() > limits.max_messages {
            self.forget_one_turn();
        }
        let removed = before - self.items.len();
        (removed > 0).then_some(Trim { removed, bytes: self.bytes })
    }

    fn forget_one_turn(&mut self) {
        while let Some(item) = self.items.pop_front() {
            self.bytes -= item.len_bytes();
            match self.window.checked_sub(1) {
                Some(window) => self.window = window,
                None => self.window_bytes -= item.len_bytes(),
            }
            if matches!(self.items.front(), None | Some(Item::User(_))) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::AssistantMessage;

    fn turn(history: &mut History, bytes: usize) {
        history.push(Item::User("u".repeat(bytes)));
        history.push(Item::Assistant(AssistantMessage {
            text: "a".repeat(bytes).into(),
            ..AssistantMessage::default()
        }));
    }

    #[test]
    fn a_reset_leaves_the_history_as_it_was() {
        let mut history = History::default();
        turn(&mut history, 10);
        let mark = history.mark();
        turn(&mut history, 30);
        assert!(history.fit(60, history.mark()).expect("fits").is_some());
        history.reset(mark);
        assert_eq!((history.window().len(), history.window_bytes, history.bytes), (2, 20, 20));
    }

    #[test]
    fn whole_turns_leave_the_request_and_the_running_one_never_does() {
        let mut history = History::default();
        turn(&mut history, 10);
        turn(&mut history, 10);
        let mark = history.mark();
        history.push(Item::User("now".into()));
        assert_eq!(history.fit(43, mark), Ok(None));
        let compaction = Compaction { before_bytes: 43, after_bytes: 23, removed: 2 };
        assert_eq!(history.fit(42, mark), Ok(Some(compaction)));
        assert_eq!(history.window().len(), 3);
        assert_eq!(history.fit(2, mark), Err(DoesNotFit));
        assert_eq!(history.window().len(), 1);
    }

    #[test]
    fn old_turns_are_forgotten_whole() {
        let limits = HistoryConfig { max_bytes: 50, max_messages: 10 };
        let mut history = History::default();
        for _ in 0..3 {
            turn(&mut history, 10);
        }
        assert_eq!(history.trim(&limits), Some(Trim { removed: 2, bytes: 40 }));
        assert_eq!((history.window().len(), history.window_bytes), (4, 40));
        assert_eq!(history.trim(&limits), None);
    }

    #[test]
    fn forgetting_what_a_request_left_out_changes_no_request() {
        let limits = HistoryConfig { max_bytes: 20, max_messages: 10 };
        let mut history = History::default();
        turn(&mut history, 10);
        turn(&mut history, 10);
        history.fit(20, history.mark()).expect("fits");
        assert_eq!(history.trim(&limits), Some(Trim { removed: 2, bytes: 20 }));
        assert_eq!((history.window().len(), history.window_bytes), (2, 20));
    }
}
