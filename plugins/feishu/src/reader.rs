//! What the host gets next, and what may be acknowledged to the platform once it has it. No I/O.

use std::collections::VecDeque;

use scv_plugin_api::{
    BatchToken,
    limits::MAX_BATCH_MESSAGES_COUNT,
    wire::{Batch, Inbound},
};
use tokio::time::Instant;

use crate::{checkpoint::Checkpoint, limits::BATCH_BYTES, message::encoded_bytes, wire::Frame};

/// An event that is acknowledged when its message is durable.
#[derive(Debug)]
pub(crate) struct Receipt {
    pub(crate) frame: Frame,
    pub(crate) received: Instant,
}

/// The reading side of one session.
pub(crate) struct Reader {
    pub(crate) checkpoint: Checkpoint,
    /// Made, not handed out.
    parts: VecDeque<Part>,
    /// Handed out, not acknowledged.
    given: Option<(BatchToken, Vec<Receipt>)>,
    /// The text that the host has, or will have with the last part.
    stored: String,
    batches: u64,
}

#[derive(Default)]
struct Part {
    messages: Vec<Inbound>,
    receipts: Vec<Receipt>,
    bytes: usize,
    checkpoint: String,
}

impl Reader {
    /// Reading goes on at the last durable checkpoint.
    pub(crate) fn new(checkpoint: Checkpoint) -> Self {
        let stored = checkpoint.write();
        Self { checkpoint, parts: VecDeque::new(), given: None, stored, batches: 0 }
    }

    /// The host names the batch that is now durable: its events, once.
    pub(crate) fn acknowledge(&mut self, ack: Option<&str>) -> Vec<Receipt> {
        match self.given.take_if(|(token, _)| ack == Some(token)) {
            Some((_, receipts)) => receipts,
            None => Vec::new(),
        }
    }

    /// A message is to be handed over, and the checkpoint stands after it.
    pub(crate) fn push(&mut self, message: Inbound, receipt: Option<Receipt>) {
        let bytes = encoded_bytes(&message) + ",".len();
        let fits = |part: &Part| {
            part.messages.len() < MAX_BATCH_MESSAGES_COUNT && part.bytes + bytes <= BATCH_BYTES
        };
        if !self.parts.back().is_some_and(fits) {
            self.parts.push_back(Part { checkpoint: self.stored.clone(), ..Part::default() });
        }
        if let Some(part) = self.parts.back_mut() {
            part.messages.push(message);
            part.receipts.extend(receipt);
            part.bytes += bytes;
        }
    }

    /// All that was pushed belongs together: the last part stores how far reading came. Without
    /// any part that alone is worth a batch, if it changed.
    pub(crate) fn seal(&mut self) {
        let checkpoint = self.checkpoint.write();
        match self.parts.back_mut() {
            Some(part) => part.checkpoint.clone_from(&checkpoint),
            None if checkpoint == self.stored => {}
            None => {
                let checkpoint = checkpoint.clone();
                self.parts.push_back(Part { checkpoint, ..Part::default() });
            }
        }
        self.stored = checkpoint;
    }

    /// The next part, if some is left.
    pub(crate) fn next_part(&mut self) -> Option<Batch> {
        self.parts.pop_front().map(|part| self.give(part))
    }

    /// Nothing came; the connection lives.
    pub(crate) fn nothing(&mut self) -> Batch {
        self.give(Part { checkpoint: self.stored.clone(), ..Part::default() })
    }

    fn give(&mut self, part: Part) -> Batch {
        self.batches += 1;
        let token = self.batches.to_string();
        self.given = Some((token.clone(), part.receipts));
        Batch { token, checkpoint: part.checkpoint, messages: part.messages, quiet: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(n: usize) -> Inbound {
        Inbound { id: format!("om_{n}"), ..Inbound::default() }
    }

    fn receipt() -> Option<Receipt> {
        Some(Receipt { frame: Frame::default(), received: Instant::now() })
    }

    fn reader() -> Reader {
        Reader::new(Checkpoint::default())
    }

    #[tokio::test]
    async fn events_are_acknowledged_once_and_with_their_batch_only() {
        let mut reader = reader();
        reader.push(message(1), receipt());
        reader.seal();
        let batch = reader.next_part().expect("a batch");
        for other in [None, Some("0"), Some("2")] {
            assert!(reader.acknowledge(other).is_empty(), "{other:?}");
        }
        assert_eq!(reader.acknowledge(Some(&batch.token)).len(), 1);
        assert!(reader.acknowledge(Some(&batch.token)).is_empty(), "an ack may be repeated");
    }

    #[tokio::test]
    async fn parts_keep_order_limits_and_checkpoint() {
        let mut reader = reader();
        for n in 0..600 {
            reader.checkpoint.received("oc_1", false, Some(1_000 + n as u64), u64::MAX);
            reader.push(message(n), receipt());
        }
        reader.seal();
        let (mut ids, mut checkpoints, mut receipts) = (Vec::new(), Vec::new(), 0);
        while let Some(batch) = reader.next_part() {
            assert!(batch.check().is_ok());
            ids.extend(batch.messages.iter().map(|message| message.id.clone()));
            receipts += reader.acknowledge(Some(&batch.token)).len();
            checkpoints.push(batch.checkpoint);
        }
        assert_eq!(ids, (0..600).map(|n| format!("om_{n}")).collect::<Vec<_>>());
        assert_eq!((receipts, checkpoints.len()), (600, 3));
        assert_eq!(checkpoints[..2], ["", ""], "only the last part moves on");
        assert!(checkpoints[2].contains("1599"), "{}", checkpoints[2]);
    }

    #[test]
    fn parts_are_bounded_in_bytes_as_well() {
        let mut reader = reader();
        let text = Some("x".repeat(BATCH_BYTES / 3));
        (0..5).for_each(|n| reader.push(Inbound { text: text.clone(), ..message(n) }, None));
        reader.seal();
        let sizes = std::iter::from_fn(|| reader.next_part()).map(|batch| batch.messages.len());
        assert_eq!(sizes.collect::<Vec<_>>(), [2, 2, 1]);
    }

    #[test]
    fn a_checkpoint_alone_is_a_batch_only_when_it_changed() {
        let mut reader = reader();
        reader.seal();
        assert!(reader.next_part().is_none());
        reader.checkpoint.received("oc_1", false, Some(5), 9);
        reader.seal();
        let batch = reader.next_part().expect("a batch");
        assert!(batch.messages.is_empty() && !batch.checkpoint.is_empty());
        assert_eq!(reader.nothing().checkpoint, batch.checkpoint);
    }
}
