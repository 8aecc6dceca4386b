//! Events that come in several frames. Every number in a header is a stranger's: nothing is
//! allocated by one, and what does not fit is left out without ending the connection.

use std::{collections::VecDeque, time::Duration};

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::Frame;
use crate::limits::{EVENT_BYTES, NAME_BYTES, PARTIAL_EVENTS_COUNT, PARTS_COUNT, PARTS_MS};

/// The events of which something is missing.
#[derive(Default)]
pub(crate) struct Parts {
    partials: VecDeque<Partial>,
}

struct Partial {
    message_id: String,
    parts: Vec<Option<Bytes>>,
    bytes: usize,
    begun: Instant,
}

/// What a frame led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// The whole event.
    Whole(Bytes),
    /// More parts are to come.
    Waiting,
    /// The frame does not fit; why.
    Refused(&'static str),
}

impl Parts {
    /// Takes a frame of an event; its payload is moved out of it.
    pub(crate) fn add(&mut self, frame: &mut Frame, now: Instant) -> Joined {
        let limit = Duration::from_millis(PARTS_MS);
        self.partials.retain(|partial| now.duration_since(partial.begun) < limit);
        let payload = frame.payload.take().unwrap_or_default();
        if payload.len() > EVENT_BYTES {
            return Joined::Refused("an event larger than 8 MiB");
        }
        let Some((count, at)) = place(frame) else {
            return Joined::Refused("a part outside of its event");
        };
        if count == 1 {
            return Joined::Whole(payload);
        }
        match frame.header("message_id") {
            Some(id) if !id.is_empty() && id.len() <= NAME_BYTES => {
                self.put(id, count, at, payload, now)
            }
            _ => Joined::Refused("a part without the id of its event"),
        }
    }

    fn put(&mut self, id: &str, count: usize, at: usize, payload: Bytes, now: Instant) -> Joined {
        let mut partial = match self.partials.iter().position(|one| one.message_id == id) {
            Some(index) => {
                self.partials.remove(index).unwrap_or_else(|| Partial::new(id, count, now))
            }
            None => Partial::new(id, count, now),
        };
        if partial.parts.len() != count {
            self.partials.push_back(partial);
            return Joined::Refused("a part that counts its event's parts otherwise");
        }
        if partial.parts[at].is_none() {
            partial.bytes += payload.len();
            partial.parts[at] = Some(payload);
        }
        if partial.bytes > EVENT_BYTES {
            return Joined::Refused("an event larger than 8 MiB");
        }
        if let Some(whole) = partial.join() {
            return Joined::Whole(whole);
        }
        self.partials.push_back(partial);
        self.make_room();
        Joined::Waiting
    }

    /// All that is unfinished together is no more than one event may be.
    fn make_room(&mut self) {
        let bytes = |parts: &VecDeque<Partial>| parts.iter().map(|one| one.bytes).sum::<usize>();
        while self.partials.len() > PARTIAL_EVENTS_COUNT || bytes(&self.partials) > EVENT_BYTES {
            self.partials.pop_front();
        }
    }
}

impl Partial {
    fn new(message_id: &str, count: usize, begun: Instant) -> Self {
        let parts = vec![None; count];
        Self { message_id: message_id.to_owned(), parts, bytes: 0, begun }
    }

    fn join(&self) -> Option<Bytes> {
        if self.parts.iter().any(Option::is_none) {
            return None;
        }
        let mut whole = BytesMut::with_capacity(self.bytes);
        for part in self.parts.iter().flatten() {
            whole.extend_from_slice(part);
        }
        Some(whole.freeze())
    }
}

/// How many parts the event has, and which one this is; none when that cannot be. Without a
/// `sum`, or with 0, the frame is the event.
fn place(frame: &Frame) -> Option<(usize, usize)> {
    let number = |key| match frame.header(key) {
        None | Some("") => Some(0),
        Some(text) => text.parse::<usize>().ok(),
    };
    let count = number("sum")?.max(1);
    let at = if count == 1 { 0 } else { number("seq")? };
    (count <= PARTS_COUNT && at < count).then_some((count, at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::{
        Kind,
        frame::Header,
        vectors::{captured, odd},
    };

    pub(crate) fn part(id: &str, count: usize, at: usize, payload: &[u8]) -> Frame {
        let header = |key: &str, value: String| Header { key: key.to_owned(), value };
        Frame {
            method: 1,
            headers: vec![
                header("type", "event".into()),
                header("message_id", id.into()),
                header("sum", count.to_string()),
                header("seq", at.to_string()),
            ],
            payload: Some(Bytes::copy_from_slice(payload)),
            ..Frame::default()
        }
    }

    #[tokio::test]
    async fn captured_events_become_whole() {
        let mut parts = Parts::default();
        let mut whole = 0;
        for vector in captured() {
            let mut frame = Frame::read(vector.bytes).expect("a frame");
            if frame.kind() != Kind::Event || vector.name.contains("client->server") {
                continue;
            }
            match parts.add(&mut frame, Instant::now()) {
                Joined::Whole(event) => {
                    serde_json::from_slice::<serde_json::Value>(&event).expect("JSON");
                    whole += 1;
                }
                Joined::Waiting => {}
                Joined::Refused(why) => panic!("{}: {why}", vector.name),
            }
        }
        assert!(whole > 0 && parts.partials.is_empty());
    }

    #[tokio::test]
    async fn odd_parts_are_refused_without_harm() {
        for vector in odd() {
            let Some(mut frame) = Frame::read(vector.bytes) else { continue };
            if frame.kind() != Kind::Event {
                continue;
            }
            let joined = Parts::default().add(&mut frame, Instant::now());
            let refused = ["sum 2, seq 2", "sum 65", "sum 4294967296"];
            match refused.contains(&vector.name.as_str()) {
                true => assert!(matches!(joined, Joined::Refused(_)), "{}", vector.name),
                false => assert!(matches!(joined, Joined::Whole(_)), "{}: {joined:?}", vector.name),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn parts_wait_for_thirty_seconds() {
        let mut parts = Parts::default();
        assert_eq!(parts.add(&mut part("a", 2, 0, b"x"), Instant::now()), Joined::Waiting);
        tokio::time::advance(Duration::from_millis(PARTS_MS)).await;
        assert_eq!(parts.add(&mut part("a", 2, 1, b"y"), Instant::now()), Joined::Waiting);
        assert_eq!(parts.partials.len(), 1, "the first part is forgotten");
    }

    #[tokio::test]
    async fn what_is_unfinished_is_bounded() {
        let mut parts = Parts::default();
        let big = vec![0; EVENT_BYTES / 4];
        for n in 0..100 {
            parts.add(&mut part(&n.to_string(), 64, 0, &big), Instant::now());
            assert!(parts.partials.len() <= PARTIAL_EVENTS_COUNT);
            assert!(parts.partials.iter().map(|one| one.bytes).sum::<usize>() <= EVENT_BYTES);
        }
        let mut one = Parts::default();
        let joined = (0..5).map(|at| one.add(&mut part("a", 64, at, &big), Instant::now()));
        assert!(matches!(joined.last(), Some(Joined::Refused(_))));
    }

    #[tokio::test]
    async fn a_count_that_changes_is_refused_and_the_event_stays() {
        let mut parts = Parts::default();
        let now = Instant::now();
        assert_eq!(parts.add(&mut part("a", 2, 0, b"x"), now), Joined::Waiting);
        assert!(matches!(parts.add(&mut part("a", 3, 2, b"z"), now), Joined::Refused(_)));
        assert_eq!(parts.add(&mut part("a", 2, 1, b"y"), now), Joined::Whole("xy".into()));
    }

    proptest! {
        /// Any order, with repetitions: the event is whole exactly with its last missing part.
        #[test]
        fn any_order_joins(
            text in prop::collection::vec(any::<u8>(), 1..300),
            count in 2..20usize,
            shuffle in prop::collection::vec(any::<prop::sample::Index>(), 20..60),
        ) {
            let size = text.len().div_ceil(count).max(1);
            let piece = |at: usize| {
                let from = (at * size).min(text.len());
                text[from..(from + size).min(text.len())].to_vec()
            };
            let mut order: Vec<usize> = shuffle.iter().map(|index| index.index(count)).collect();
            order.extend(0..count);
            let (mut parts, mut seen) = (Parts::default(), std::collections::HashSet::new());
            let now = std::time::Instant::now().into();
            for at in order {
                seen.insert(at);
                let joined = parts.add(&mut part("a", count, at, &piece(at)), now);
                if seen.len() == count {
                    prop_assert_eq!(joined, Joined::Whole(text.clone().into()));
                    break;
                }
                prop_assert_eq!(joined, Joined::Waiting);
            }
        }
    }
}
