//! Reading without confirming: which cursor the next poll may send, and what the host gets next.
//!
//! A poll's cursor confirms everything before it, so it goes out only after the host has made
//! the batch durable. One answer may be more than one batch: then only the last part carries the
//! new cursor. No I/O here.

use std::{collections::VecDeque, time::Duration};

use scv_plugin_api::{
    BatchToken, Result,
    limits::MAX_BATCH_MESSAGES_COUNT,
    wire::{Batch, Fault, Inbound},
};

use crate::{
    decode::encoded_bytes,
    limits::{DEFAULT_HOLD_MS, HOLD_MARGIN_MS, MAX_HOLD_MS, PART_BYTES, SILENT_POLLS_COUNT},
    pace::Pace,
    updates::Updates,
};

/// The reading side of one session.
pub(crate) struct Reader {
    /// The host has everything before this one.
    cursor: String,
    /// Handed out, not yet acknowledged.
    given: Option<Given>,
    /// The rest of the last answer, and the cursor that confirms all of it.
    parts: VecDeque<Vec<Inbound>>,
    next_cursor: String,
    /// How long the platform says that it holds a poll.
    hold_ms: u64,
    heard: bool,
    pace: Pace,
    silent_polls: u32,
    batches: u64,
}

struct Given {
    token: BatchToken,
    checkpoint: String,
}

impl Reader {
    /// Reading goes on at the last durable checkpoint.
    pub(crate) fn new(checkpoint: Option<String>) -> Self {
        let cursor = checkpoint.unwrap_or_default();
        Self {
            next_cursor: cursor.clone(),
            cursor,
            given: None,
            parts: VecDeque::new(),
            hold_ms: DEFAULT_HOLD_MS,
            heard: false,
            pace: Pace::default(),
            silent_polls: 0,
            batches: 0,
        }
    }

    /// The cursor for the next poll.
    pub(crate) fn cursor(&self) -> &str {
        &self.cursor
    }

    /// How long the next poll may take until its answer begins.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_millis(self.hold_ms.min(MAX_HOLD_MS) + HOLD_MARGIN_MS)
    }

    /// The host names the batch that is now durable; only the last one moves the cursor.
    pub(crate) fn acknowledge(&mut self, ack: Option<&str>) {
        if let Some(given) = &self.given
            && ack == Some(&given.token)
        {
            self.cursor.clone_from(&given.checkpoint);
        }
    }

    /// The next part of the last answer, if some is left.
    pub(crate) fn next_part(&mut self) -> Option<Batch> {
        let messages = self.parts.pop_front()?;
        let last = self.parts.is_empty();
        let checkpoint = if last { self.next_cursor.clone() } else { self.cursor.clone() };
        Some(self.give(messages, checkpoint))
    }

    /// How long an answer that took so long rests before it is given: none with messages does,
    /// and the first one is the session's sign of life.
    pub(crate) fn pause(&mut self, took: Duration, updates: &Updates) -> Duration {
        if !self.heard {
            return Duration::ZERO;
        }
        self.pace.after(took, !updates.messages.is_empty())
    }

    /// A poll was answered: its first part.
    pub(crate) fn received(&mut self, updates: Updates) -> Batch {
        self.heard = true;
        self.silent_polls = 0;
        self.hold_ms = updates.hold_ms.unwrap_or(DEFAULT_HOLD_MS);
        // An empty cursor would bring the history back.
        self.next_cursor =
            if updates.cursor.is_empty() { self.cursor.clone() } else { updates.cursor };
        self.parts = split(updates.messages);
        let nothing_new = self.next_cursor.clone();
        self.next_part().unwrap_or_else(|| self.give(Vec::new(), nothing_new))
    }

    /// A poll was given up without an answer. That is no contact, and no trouble yet, unless the
    /// session has never heard anything or it happens again and again, whatever hold the platform
    /// names: who is deaf must not look connected.
    pub(crate) fn heard_nothing(&mut self) -> Result<Batch> {
        self.silent_polls += 1;
        if !self.heard || self.silent_polls >= SILENT_POLLS_COUNT {
            return Err(Fault::retry("WeChat did not answer in time; it is tried again"));
        }
        Ok(Batch { quiet: true, ..self.give(Vec::new(), self.cursor.clone()) })
    }

    fn give(&mut self, messages: Vec<Inbound>, checkpoint: String) -> Batch {
        self.batches += 1;
        let token = self.batches.to_string();
        self.given = Some(Given { token: token.clone(), checkpoint: checkpoint.clone() });
        Batch { token, checkpoint, messages, quiet: false }
    }
}

/// Cuts an answer into parts that a document can hold.
fn split(messages: Vec<Inbound>) -> VecDeque<Vec<Inbound>> {
    let mut parts: VecDeque<Vec<Inbound>> = VecDeque::new();
    let mut part_bytes = 0;
    for message in messages {
        let bytes = encoded_bytes(&message) + ",".len();
        match parts.back_mut() {
            Some(part)
                if part.len() < MAX_BATCH_MESSAGES_COUNT && part_bytes + bytes <= PART_BYTES =>
            {
                part.push(message);
                part_bytes += bytes;
            }
            _ => {
                parts.push_back(vec![message]);
                part_bytes = bytes;
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use scv_plugin_api::wire::FaultKind;

    use super::*;

    fn updates(count: usize, cursor: &str) -> Updates {
        let message = |n: usize| Inbound { id: n.to_string(), ..Inbound::default() };
        let messages = (0..count).map(message).collect();
        Updates { messages, cursor: cursor.to_owned(), ..Updates::default() }
    }

    fn ack(reader: &mut Reader, batch: &Batch) {
        reader.acknowledge(Some(&batch.token));
    }

    #[test]
    fn a_cursor_goes_out_only_after_the_ack() {
        let mut reader = Reader::new(Some("b1".to_owned()));
        let batch = reader.received(updates(1, "b2"));
        assert_eq!(batch.checkpoint, "b2");
        assert_eq!(reader.cursor(), "b1");
        ack(&mut reader, &batch);
        assert_eq!(reader.cursor(), "b2");
        ack(&mut reader, &batch);
        assert_eq!(reader.cursor(), "b2", "an ack may be repeated");
    }

    #[test]
    fn no_other_ack_confirms_anything() {
        let mut reader = Reader::new(Some("b1".to_owned()));
        reader.received(updates(1, "b2"));
        for other in [None, Some("0"), Some("2")] {
            reader.acknowledge(other);
            assert_eq!(reader.cursor(), "b1", "{other:?}");
        }
    }

    #[test]
    fn an_empty_cursor_keeps_the_old_one() {
        let mut reader = Reader::new(Some("b1".to_owned()));
        let batch = reader.received(updates(1, ""));
        assert_eq!(batch.checkpoint, "b1");
    }

    #[test]
    fn silence_is_no_news_until_it_is_too_much() {
        let mut fresh = Reader::new(None);
        assert_eq!(fresh.heard_nothing().expect_err("never heard").kind, FaultKind::Retry);
        let mut reader = Reader::new(Some("b1".to_owned()));
        let first = reader.received(updates(0, "b2"));
        ack(&mut reader, &first);
        assert_silence_is_bounded(&mut reader);
        assert!(!reader.received(updates(0, "b3")).quiet, "an answer is contact");
        assert_silence_is_bounded(&mut reader);
    }

    #[test]
    fn a_hold_longer_than_our_patience_excuses_nothing() {
        let mut reader = Reader::new(None);
        reader.received(Updates { hold_ms: Some(60_000), ..Updates::default() });
        assert_silence_is_bounded(&mut reader);
    }

    fn assert_silence_is_bounded(reader: &mut Reader) {
        for _ in 1..SILENT_POLLS_COUNT {
            let batch = reader.heard_nothing().expect("no trouble yet");
            assert!(batch.quiet && batch.messages.is_empty(), "{batch:?}");
            assert_eq!(batch.checkpoint, reader.cursor());
            ack(reader, &batch);
        }
        assert_eq!(reader.heard_nothing().expect_err("deaf").kind, FaultKind::Retry);
    }

    #[test]
    fn neither_the_first_answer_nor_a_message_rests() {
        let mut reader = Reader::new(None);
        for (answer, pause_s) in [(updates(0, "a"), 0), (updates(0, "b"), 1), (updates(1, "c"), 0)]
        {
            let pause = reader.pause(Duration::ZERO, &answer);
            assert_eq!(pause, Duration::from_secs(pause_s), "{answer:?}");
            reader.received(answer);
        }
    }

    #[test]
    fn patience_is_the_hold_and_a_margin() {
        let mut reader = Reader::new(None);
        assert_eq!(reader.patience().as_millis(), 45_000);
        for (hint, patience) in [(25_000, 35_000), (1, 10_001), (u64::MAX, 50_000)] {
            reader.received(Updates { hold_ms: Some(hint), ..Updates::default() });
            assert_eq!(reader.patience().as_millis(), patience, "{hint}");
        }
    }

    #[test]
    fn parts_are_bounded_in_bytes_as_well() {
        let text = Some("x".repeat(PART_BYTES / 3));
        let message = Inbound { id: "1".into(), text, ..Inbound::default() };
        let parts = split(vec![message; 5]);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    }

    proptest! {
        /// Every message comes once and in order; only the last part moves the cursor on, and a
        /// crash before that starts again from the old one.
        #[test]
        fn parts_keep_order_and_cursor(count in 0..1200usize) {
            let mut reader = Reader::new(Some("old".to_owned()));
            let mut batch = reader.received(updates(count, "new"));
            let mut ids = Vec::new();
            loop {
                prop_assert!(batch.messages.len() <= MAX_BATCH_MESSAGES_COUNT);
                prop_assert!(batch.check().is_ok());
                ids.extend(batch.messages.iter().map(|message| message.id.clone()));
                prop_assert_eq!(reader.cursor(), "old");
                ack(&mut reader, &batch);
                match reader.next_part() {
                    Some(next) => {
                        prop_assert_eq!(&batch.checkpoint, "old");
                        batch = next;
                    }
                    None => break,
                }
            }
            prop_assert_eq!(&batch.checkpoint, "new");
            prop_assert_eq!(reader.cursor(), "new");
            prop_assert_eq!(ids, (0..count).map(|n| n.to_string()).collect::<Vec<_>>());
        }
    }
}
