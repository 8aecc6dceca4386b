//! What was sent and heard lately. The platform has one code for everything that it does not
//! want to send; this is enough to name the likely cause, and to slow down after a burst.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use scv_plugin_api::wire::{Inbound, InboundKind, Outgoing, SendOutcome};
use tokio::time::Instant;

use crate::limits::{
    BURST_COUNT, BURST_MS, BURST_PAUSE_MS, CHATS_COUNT, LONG_TEXT_CHARS_COUNT, MINUTE_COUNT,
    MINUTE_MS, PACED_GAP_MS, PACED_MS, RATE_LIMIT_PAUSE_MS, SENDS_BUDGET_COUNT, WINDOW_MS,
};

/// The sends of one account, and when people last wrote.
#[derive(Default)]
pub(crate) struct Ledger {
    /// When messages were accepted, within the last minute.
    sends: VecDeque<Instant>,
    chats: HashMap<String, Chat>,
    /// Refusals of bursts, with nothing accepted since.
    bursts: u32,
    /// Until then, messages keep a distance.
    paced_until: Option<Instant>,
}

/// One person's chat.
struct Chat {
    heard: Instant,
    sends_since: u32,
}

/// Why the platform probably did not send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Too many messages in a short time. Tries during the penalty make it longer, so the whole
    /// account waits.
    Burst { pause_ms: u64 },
    /// Too many messages since the person last wrote.
    Budget,
    /// More text than others saw being taken.
    Length,
    /// The person wrote too long ago.
    Window,
    /// The person has not written since the plugin was loaded.
    Unheard,
    /// Nothing stands out.
    Unknown,
}

impl Ledger {
    /// Somebody wrote: from now on the platform takes some messages for them.
    pub(crate) fn heard(&mut self, message: &Inbound, now: Instant) {
        if message.kind == InboundKind::Ignored {
            return;
        }
        if self.chats.len() >= CHATS_COUNT && !self.chats.contains_key(&message.sender) {
            let oldest = self.chats.iter().min_by_key(|(_, chat)| chat.heard);
            let oldest = oldest.map(|(sender, _)| sender.clone());
            oldest.map(|sender| self.chats.remove(&sender));
        }
        self.chats.insert(message.sender.clone(), Chat { heard: now, sends_since: 0 });
    }

    /// How long the next message has to wait; none when it may go out.
    pub(crate) fn distance(&self, now: Instant) -> Option<Duration> {
        self.paced_until.filter(|until| now < *until)?;
        let next = *self.sends.back()? + Duration::from_millis(PACED_GAP_MS);
        (now < next).then(|| next - now)
    }

    /// Why a message was not sent, as far as the platform's words and what came before tell.
    pub(crate) fn suspect(&self, message: &Outgoing, words: &str, now: Instant) -> Cause {
        let chat = self.chats.get(&message.recipient.user);
        if words.contains("rate limit") {
            return Cause::Burst { pause_ms: self.burst_pause_ms().max(RATE_LIMIT_PAUSE_MS) };
        }
        if chat.is_some_and(|chat| chat.sends_since >= SENDS_BUDGET_COUNT) {
            return Cause::Budget;
        }
        // These words are said about one message, not about the account.
        if self.is_burst(now) && !words.contains("prepare failed") {
            return Cause::Burst { pause_ms: self.burst_pause_ms() };
        }
        if message.text.chars().count() > LONG_TEXT_CHARS_COUNT {
            return Cause::Length;
        }
        match chat {
            None => Cause::Unheard,
            Some(chat) if now - chat.heard > Duration::from_millis(WINDOW_MS) => Cause::Window,
            Some(_) => Cause::Unknown,
        }
    }

    /// What became of a message.
    pub(crate) fn ended(&mut self, message: &Outgoing, outcome: &SendOutcome, now: Instant) {
        match outcome {
            SendOutcome::Accepted { .. } => {
                self.bursts = 0;
                self.sends.push_back(now);
                while self.in_last(MINUTE_MS, now) < self.sends.len() {
                    self.sends.pop_front();
                }
                if let Some(chat) = self.chats.get_mut(&message.recipient.user) {
                    chat.sends_since += 1;
                }
            }
            SendOutcome::Refused { pause_ms: Some(pause_ms), .. } => {
                self.bursts += 1;
                self.paced_until = Some(now + Duration::from_millis(pause_ms + PACED_MS));
            }
            SendOutcome::Refused { .. } | SendOutcome::Retry { .. } => {}
        }
    }

    fn is_burst(&self, now: Instant) -> bool {
        self.in_last(BURST_MS, now) >= BURST_COUNT || self.in_last(MINUTE_MS, now) >= MINUTE_COUNT
    }

    fn in_last(&self, span_ms: u64, now: Instant) -> usize {
        let span = Duration::from_millis(span_ms);
        self.sends.iter().rev().take_while(|at| now - **at <= span).count()
    }

    fn burst_pause_ms(&self) -> u64 {
        BURST_PAUSE_MS.saturating_mul(1 << self.bursts.min(16)).min(PACED_MS)
    }
}

impl Cause {
    /// For people, in status and log.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Burst { .. } => "too many messages in a short time, so sending pauses",
            Self::Budget => "probably too many messages since the person last wrote",
            Self::Length => "probably longer than WeChat takes now",
            Self::Window => "probably too long since the person last wrote",
            Self::Unheard => "probably the person has not written lately",
            Self::Unknown => "WeChat names no cause; the person writing again usually helps",
        }
    }
}

#[cfg(test)]
mod tests {
    use scv_plugin_api::wire::{Recipient, Scope};

    use super::*;

    fn message(text: &str) -> Outgoing {
        let recipient = Recipient { user: "u".to_owned(), group: None };
        Outgoing { client_id: "c".to_owned(), text: text.to_owned(), reply: None, recipient }
    }

    fn heard(ledger: &mut Ledger, sender: &str, now: Instant) {
        let kind = InboundKind::Text;
        let sender = sender.to_owned();
        ledger.heard(&Inbound { kind, sender, ..Inbound::default() }, now);
    }

    fn accept(ledger: &mut Ledger, now: Instant) {
        ledger.ended(&message("x"), &SendOutcome::Accepted { receipt: None }, now);
    }

    fn refuse(ledger: &mut Ledger, pause_ms: u64, now: Instant) {
        let refused = SendOutcome::Refused {
            code: "-2".to_owned(),
            message: None,
            signed_out: false,
            pause_ms: Some(pause_ms),
            scope: Scope::Account,
        };
        ledger.ended(&message("x"), &refused, now);
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn each_cause_has_its_signs() {
        let now = Instant::now();
        let mut ledger = Ledger::default();
        assert_eq!(ledger.suspect(&message("x"), "", now), Cause::Unheard);
        heard(&mut ledger, "u", now);
        assert_eq!(ledger.suspect(&message("x"), "", now), Cause::Unknown);
        assert_eq!(ledger.suspect(&message(&"好".repeat(6000)), "", now), Cause::Length);
        assert_eq!(ledger.suspect(&message("x"), "", now + 25 * HOUR), Cause::Window);
        let limited = ledger.suspect(&message("x"), "rate limited", now);
        assert_eq!(limited, Cause::Burst { pause_ms: RATE_LIMIT_PAUSE_MS });
        for n in 0..10 {
            accept(&mut ledger, now + n * HOUR);
        }
        assert_eq!(ledger.suspect(&message("x"), "", now + 10 * HOUR), Cause::Budget);
        heard(&mut ledger, "u", now + 10 * HOUR);
        assert_eq!(ledger.suspect(&message("x"), "", now + 10 * HOUR), Cause::Unknown);
    }

    /// Case `send-burst`: the third within a second.
    #[tokio::test(start_paused = true)]
    async fn a_burst_pauses_longer_each_time_and_then_messages_keep_a_distance() {
        let now = Instant::now();
        let mut ledger = Ledger::default();
        accept(&mut ledger, now);
        assert_eq!(ledger.suspect(&message("x"), "", now), Cause::Unheard, "two are no burst");
        accept(&mut ledger, now);
        assert_eq!(ledger.suspect(&message("x"), "prepare failed", now), Cause::Unheard);
        for pause_ms in [BURST_PAUSE_MS, 2 * BURST_PAUSE_MS, 4 * BURST_PAUSE_MS] {
            assert_eq!(ledger.suspect(&message("x"), "", now), Cause::Burst { pause_ms });
            assert_eq!(ledger.distance(now + Duration::from_millis(PACED_GAP_MS)), None);
            refuse(&mut ledger, pause_ms, now);
        }
        let later = now + HOUR / 60;
        accept(&mut ledger, later);
        assert_eq!(ledger.distance(later), Some(Duration::from_millis(PACED_GAP_MS)));
        assert_eq!(ledger.distance(later + Duration::from_millis(PACED_GAP_MS)), None);
        let healed = now + HOUR;
        accept(&mut ledger, healed);
        assert_eq!(ledger.distance(healed), None, "the penalty is over");
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_grow_without_end() {
        let now = Instant::now();
        let mut ledger = Ledger::default();
        for n in 0..2 * CHATS_COUNT {
            heard(&mut ledger, &n.to_string(), now + Duration::from_secs(n as u64));
            accept(&mut ledger, now + Duration::from_secs(n as u64));
        }
        assert_eq!(ledger.chats.len(), CHATS_COUNT);
        assert!(ledger.chats.contains_key(&(2 * CHATS_COUNT - 1).to_string()));
        assert!(ledger.sends.len() <= 61, "{}", ledger.sends.len());
    }
}
