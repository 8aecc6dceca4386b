//! Prompts that wait for the running turn.

use std::collections::VecDeque;

use scv_protocol::{QueueEntry, QueueId};

use crate::limits::{MAX_QUEUE_BYTES, MAX_QUEUE_ENTRIES_COUNT};

/// First is next.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    entries: VecDeque<QueueEntry>,
    bytes: usize,
}

/// Why the queue stays as it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueueFault {
    /// No such entry.
    NotFound,
    /// The entry has changed since; this is how it is.
    Conflict(QueueEntry),
    /// Too many prompts, or too much text.
    Full,
}

impl Queue {
    pub(crate) fn push(
        &mut self,
        queue_id: QueueId,
        prompt: String,
        submitter: String,
    ) -> Result<(QueueEntry, usize), QueueFault> {
        let bytes = self.bytes + prompt.len();
        if self.entries.len() == MAX_QUEUE_ENTRIES_COUNT || bytes > MAX_QUEUE_BYTES {
            return Err(QueueFault::Full);
        }
        let entry = QueueEntry { queue_id, revision: 1, prompt, submitter };
        self.bytes = bytes;
        self.entries.push_back(entry.clone());
        Ok((entry, self.entries.len() - 1))
    }

    pub(crate) fn pop(&mut self) -> Option<QueueEntry> {
        let entry = self.entries.pop_front()?;
        self.bytes -= entry.prompt.len();
        Some(entry)
    }

    pub(crate) fn update(
        &mut self,
        queue_id: &QueueId,
        revision: u64,
        prompt: String,
    ) -> Result<QueueEntry, QueueFault> {
        let index = self.find(queue_id, revision)?;
        let entry = &mut self.entries[index];
        let bytes = self.bytes - entry.prompt.len() + prompt.len();
        if bytes > MAX_QUEUE_BYTES {
            return Err(QueueFault::Full);
        }
        self.bytes = bytes;
        entry.prompt = prompt;
        entry.revision += 1;
        Ok(entry.clone())
    }

    /// Moves an entry before another one, or to the end.
    pub(crate) fn relocate(
        &mut self,
        queue_id: &QueueId,
        revision: u64,
        before: Option<&QueueId>,
    ) -> Result<(QueueEntry, usize), QueueFault> {
        let from = self.find(queue_id, revision)?;
        let to = match before {
            Some(before) => self.position(before).ok_or(QueueFault::NotFound)?,
            None => self.entries.len(),
        };
        let Some(mut entry) = self.entries.remove(from) else {
            return Err(QueueFault::NotFound);
        };
        let to = if to > from { to - 1 } else { to };
        // Before itself is where it is.
        let to = if before == Some(queue_id) { from } else { to };
        entry.revision += 1;
        self.entries.insert(to, entry.clone());
        Ok((entry, to))
    }

    pub(crate) fn remove(&mut self, queue_id: &QueueId, revision: u64) -> Result<(), QueueFault> {
        let index = self.find(queue_id, revision)?;
        if let Some(entry) = self.entries.remove(index) {
            self.bytes -= entry.prompt.len();
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn snapshot(&self) -> Vec<QueueEntry> {
        self.entries.iter().cloned().collect()
    }

    fn find(&self, queue_id: &QueueId, revision: u64) -> Result<usize, QueueFault> {
        let index = self.position(queue_id).ok_or(QueueFault::NotFound)?;
        if self.entries[index].revision != revision {
            return Err(QueueFault::Conflict(self.entries[index].clone()));
        }
        Ok(index)
    }

    fn position(&self, queue_id: &QueueId) -> Option<usize> {
        self.entries.iter().position(|entry| entry.queue_id == *queue_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> QueueId {
        QueueId::new(name)
    }

    fn queue(names: &[&str]) -> Queue {
        let mut queue = Queue::default();
        for name in names {
            queue.push(id(name), (*name).into(), "r".into()).expect("room");
        }
        queue
    }

    fn order(queue: &Queue) -> String {
        queue.entries.iter().map(|entry| entry.prompt.as_str()).collect()
    }

    #[test]
    fn moves_before_others_and_to_the_end() {
        for (moved, before, order_after, position) in [
            ("a", Some("c"), "bac", 1),
            ("a", None, "bca", 2),
            ("c", Some("a"), "cab", 0),
            ("b", Some("b"), "abc", 1),
            ("c", None, "abc", 2),
        ] {
            let mut queue = queue(&["a", "b", "c"]);
            let before = before.map(id);
            let (entry, to) = queue.relocate(&id(moved), 1, before.as_ref()).expect("moves");
            assert_eq!((entry.revision, to, order(&queue).as_str()), (2, position, order_after));
        }
    }

    #[test]
    fn a_stale_change_gets_the_current_entry() {
        let mut queue = queue(&["a"]);
        let entry = queue.update(&id("a"), 1, "new".into()).expect("current");
        assert_eq!(
            queue.update(&id("a"), 1, "old".into()),
            Err(QueueFault::Conflict(entry.clone()))
        );
        assert_eq!(queue.relocate(&id("a"), 1, None), Err(QueueFault::Conflict(entry.clone())));
        assert_eq!(queue.remove(&id("a"), 1), Err(QueueFault::Conflict(entry)));
        assert_eq!(queue.remove(&id("b"), 1), Err(QueueFault::NotFound));
        assert_eq!(queue.remove(&id("a"), 2), Ok(()));
        assert_eq!(queue.bytes, 0);
    }

    #[test]
    fn is_bounded_by_entries_and_by_text() {
        let mut full = Queue::default();
        for number in 0..MAX_QUEUE_ENTRIES_COUNT {
            full.push(id(&number.to_string()), "p".into(), "r".into()).expect("room");
        }
        assert_eq!(full.push(id("x"), "p".into(), "r".into()), Err(QueueFault::Full));
        let mut long = Queue::default();
        long.push(id("a"), "p".repeat(MAX_QUEUE_BYTES), "r".into()).expect("room");
        assert_eq!(long.push(id("b"), "p".into(), "r".into()), Err(QueueFault::Full));
        assert_eq!(
            long.update(&id("a"), 1, "p".repeat(MAX_QUEUE_BYTES + 1)),
            Err(QueueFault::Full)
        );
    }
}
