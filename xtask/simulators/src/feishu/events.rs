//! Events on their way to a client: frames, acknowledgements, and the tries after a failed one.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::frame::Frame;
use super::ids::Ids;
use super::script::{Ack, Again, Offline};
use crate::limits;

/// Events and what became of them.
pub(super) struct Events {
    deliveries: Vec<Delivery>,
    pub(super) acks: Vec<Ack>,
    pub(super) offline: Offline,
    /// In how many frames an event travels.
    pub(super) parts: usize,
}

struct Delivery {
    id: String,
    payload: String,
    tries: Vec<Try>,
    acknowledged: bool,
    /// How many tries are left, and when the next one is due on the virtual clock.
    tries_left: usize,
    next_ms: u64,
}

struct Try {
    /// The header that an acknowledgement is matched by.
    delivery: String,
    frames: Vec<Frame>,
    connection: usize,
    sent: Instant,
    acknowledged: bool,
}

/// Where a try goes.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub(super) connection: usize,
    pub(super) service: i32,
}

impl Events {
    pub(super) fn new() -> Self {
        Self { deliveries: Vec::new(), acks: Vec::new(), offline: Offline::default(), parts: 1 }
    }

    /// A new event; the frames of its first try when somebody is connected.
    pub(super) fn push(
        &mut self,
        payload: String,
        now_ms: u64,
        link: Option<Link>,
        ids: &mut Ids,
    ) -> Vec<Frame> {
        let comes_again = link.is_some() || self.offline == Offline::FailedTry;
        let mut delivery = Delivery {
            id: id_of(&payload),
            payload,
            tries: Vec::new(),
            acknowledged: false,
            tries_left: if comes_again { limits::REDELIVERY_GAPS_SECONDS.len() } else { 0 },
            next_ms: now_ms,
        };
        delivery.plan_next();
        let frames = link.map(|link| delivery.attempt(link, now_ms, self.parts, ids));
        self.deliveries.push(delivery);
        frames.unwrap_or_default()
    }

    /// The frames of every try that is due: of what nobody acknowledged with 200.
    pub(super) fn due(&mut self, now_ms: u64, link: Option<Link>, ids: &mut Ids) -> Vec<Frame> {
        let parts = self.parts;
        let due = self.deliveries.iter_mut().filter(|delivery| {
            !delivery.acknowledged && delivery.tries_left > 0 && delivery.next_ms <= now_ms
        });
        due.flat_map(|delivery| {
            delivery.tries_left -= 1;
            delivery.plan_next();
            link.map(|link| delivery.attempt(link, now_ms, parts, ids)).unwrap_or_default()
        })
        .collect()
    }

    /// The payload of an event that was pushed before, as it comes again.
    pub(super) fn again(&self, id: &str, again: Again, ids: &mut Ids) -> Option<String> {
        let earlier = self.deliveries.iter().rev().find(|delivery| delivery.id == id)?;
        let mut payload: Value = serde_json::from_str(&earlier.payload).ok()?;
        if again == Again::NewIds {
            payload["header"]["event_id"] = ids.hex().into();
            payload["event"]["message"]["message_id"] = format!("om_{}", ids.hex()).into();
        }
        Some(payload.to_string())
    }

    /// Takes an acknowledgement; what is wrong with it, in words.
    pub(super) fn acknowledge(&mut self, frame: &Frame) -> Vec<String> {
        let Some(delivery) = frame.header("message_id") else {
            return vec!["an acknowledgement without message_id".to_owned()];
        };
        let tries = self.deliveries.iter_mut().flat_map(|known| {
            let (id, acknowledged) = (&known.id, &mut known.acknowledged);
            let newest = known.tries.iter_mut().find(|attempt| attempt.delivery == delivery);
            newest.map(|attempt| (id, acknowledged, attempt))
        });
        let Some((id, acknowledged, attempt)) = { tries }.next() else {
            return vec!["an acknowledgement of nothing that was delivered".to_owned()];
        };
        let payload = frame.payload.as_deref().unwrap_or_default();
        let code = serde_json::from_slice::<Value>(payload).ok();
        let code = code.and_then(|payload| payload["code"].as_i64());
        self.acks.push(Ack { id: id.clone(), code, after: attempt.sent.elapsed() });
        let mut faults = echo_faults(frame, &attempt.frames);
        if attempt.acknowledged {
            faults.push("a delivery was acknowledged twice".to_owned());
        }
        attempt.acknowledged = true;
        *acknowledged |= code == Some(200);
        faults
    }

    /// Tries on this connection that nobody has acknowledged.
    pub(super) fn open_on(&self, connection: usize) -> usize {
        let tries = self.deliveries.iter().flat_map(|delivery| &delivery.tries);
        let open = |attempt: &&Try| attempt.connection == connection && !attempt.acknowledged;
        tries.filter(open).count()
    }
}

impl Delivery {
    fn plan_next(&mut self) {
        let gaps = limits::REDELIVERY_GAPS_SECONDS;
        if let Some(gap) = gaps.get(gaps.len() - self.tries_left) {
            self.next_ms += gap * 1000;
        }
    }

    fn attempt(&mut self, link: Link, now_ms: u64, parts: usize, ids: &mut Ids) -> Vec<Frame> {
        let delivery = ids.uuid();
        let frames = frames(&self.payload, &delivery, link.service, now_ms, parts, ids);
        self.tries.push(Try {
            delivery,
            frames: frames.clone(),
            connection: link.connection,
            sent: Instant::now(),
            acknowledged: false,
        });
        frames
    }
}

/// The last part comes first: parts need not come in order.
fn frames(
    payload: &str,
    delivery: &str,
    service: i32,
    now_ms: u64,
    parts: usize,
    ids: &mut Ids,
) -> Vec<Frame> {
    let bytes = payload.as_bytes();
    let size = bytes.len().div_ceil(parts.max(1)).max(1);
    let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
    let (first, log_id, trace) = (ids.number(), ids.number(), ids.hex());
    let numbered = chunks.iter().enumerate().map(|(seq, chunk)| Frame {
        seq_id: first.wrapping_add(seq as u64),
        log_id,
        service,
        method: 1,
        headers: [
            ("timestamp", now_ms.to_string()),
            ("type", "event".to_owned()),
            ("message_id", delivery.to_owned()),
            ("sum", chunks.len().to_string()),
            ("seq", seq.to_string()),
            ("trace_id", trace.clone()),
            ("instance_id", "sim-instance".to_owned()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .to_vec(),
        payload: Some(chunk.to_vec()),
        ..Frame::default()
    });
    numbered.rev().collect()
}

/// An acknowledgement is the same frame with `biz_rt` behind the headers and another payload.
fn echo_faults(ack: &Frame, sent: &[Frame]) -> Vec<String> {
    let numbers = |frame: &Frame| (frame.seq_id, frame.log_id, frame.service, frame.method);
    let Some(original) = sent.iter().find(|frame| numbers(frame) == numbers(ack)) else {
        return vec!["an acknowledgement does not echo the numbers of its frame".to_owned()];
    };
    let mut faults = Vec::new();
    if !ack.headers.starts_with(&original.headers) {
        faults.push("an acknowledgement does not echo the headers of its frame".to_owned());
    }
    if ack.header("biz_rt").is_none_or(|time| time.parse::<u64>().is_err()) {
        faults.push("an acknowledgement has no biz_rt in milliseconds".to_owned());
    }
    faults
}

/// The message's id, or that of an event that is none.
pub(super) fn id_of(payload: &str) -> String {
    let payload: Value = serde_json::from_str(payload).unwrap_or(Value::Null);
    let message = payload["event"]["message"]["message_id"].as_str();
    message.or(payload["header"]["event_id"].as_str()).unwrap_or_default().to_owned()
}

/// The longest time in which an acknowledgement counts.
pub(super) const fn in_time() -> Duration {
    Duration::from_secs(limits::ACKNOWLEDGE_WITHIN_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Option<Link> = Some(Link { connection: 0, service: 7 });
    const PAYLOAD: &str =
        r#"{"header":{"event_id":"e"},"event":{"message":{"message_id":"om_1"}}}"#;
    const A_SECOND: u64 = 1000;

    fn acknowledgement(frame: &Frame, code: i64) -> Frame {
        let mut ack = frame.clone();
        ack.headers.push(("biz_rt".to_owned(), "1".to_owned()));
        ack.payload = Some(format!("{{\"code\":{code}}}").into_bytes());
        ack
    }

    #[test]
    fn what_nobody_acknowledges_comes_four_times_more() {
        let (mut events, mut ids) = (Events::new(), Ids::default());
        assert_eq!(events.push(PAYLOAD.to_owned(), 0, LINK, &mut ids).len(), 1);
        let mut now = 0;
        for gap in [15, 300, 3600, 21_600] {
            assert_eq!(events.due(now + (gap - 1) * A_SECOND, LINK, &mut ids), []);
            now += gap * A_SECOND;
            assert_eq!(events.due(now, LINK, &mut ids).len(), 1, "after {gap} s more");
        }
        assert_eq!(events.due(now * 10, LINK, &mut ids), []);
    }

    #[test]
    fn two_hundred_ends_it_and_five_hundred_does_not() {
        for (code, again) in [(200, 0), (500, 1)] {
            let (mut events, mut ids) = (Events::new(), Ids::default());
            let frames = events.push(PAYLOAD.to_owned(), 0, LINK, &mut ids);
            assert_eq!(events.open_on(0), 1);
            assert_eq!(events.acknowledge(&acknowledgement(&frames[0], code)), [""; 0]);
            assert_eq!((events.open_on(0), events.acks[0].code), (0, Some(code)));
            assert_eq!(events.due(20 * A_SECOND, LINK, &mut ids).len(), again);
        }
    }

    #[test]
    fn an_echo_is_exact() {
        let (mut events, mut ids) = (Events::new(), Ids::default());
        let frames = events.push(PAYLOAD.to_owned(), 0, LINK, &mut ids);
        let mut rounded = acknowledgement(&frames[0], 200);
        rounded.seq_id &= !0x3ff;
        rounded.seq_id ^= 0x400;
        assert_eq!(events.acknowledge(&rounded).len(), 1);
    }

    #[test]
    fn offline_events_are_lost_or_failed_once() {
        for (offline, again) in [(Offline::Lost, 0), (Offline::FailedTry, 1)] {
            let (mut events, mut ids) = (Events::new(), Ids::default());
            events.offline = offline;
            assert_eq!(events.push(PAYLOAD.to_owned(), 0, None, &mut ids), []);
            assert_eq!(events.due(15 * A_SECOND, LINK, &mut ids).len(), again);
        }
    }

    #[test]
    fn parts_join_by_their_numbers() {
        let (mut events, mut ids) = (Events::new(), Ids::default());
        events.parts = 4;
        let mut frames = events.push(PAYLOAD.to_owned(), 0, LINK, &mut ids);
        assert_eq!(frames.len(), 4);
        frames.sort_by_key(|frame| frame.header("seq").map(str::to_owned));
        let whole: Vec<u8> =
            frames.iter().flat_map(|frame| frame.payload.clone()).flatten().collect();
        assert_eq!(whole, PAYLOAD.as_bytes());
    }
}
