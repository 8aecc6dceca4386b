//! A platform that repeats, reorders and renames what people write, and refuses, delays or
//! forgets what is sent.

use scv_plugin_api::wire::{Inbound, InboundKind, Scope, SendOutcome};

use super::rng::Rng;
use crate::support::platform::{direct, in_group};

#[derive(Default)]
pub(super) struct Platform {
    /// Everything that was ever delivered; a checkpoint is a place in it.
    log: Vec<Inbound>,
    written: u64,
}

impl Platform {
    /// Somebody writes something.
    pub(super) fn write(&mut self, rng: &mut Rng) {
        let (n, sender) = (self.written, format!("u{}", rng.below(4)));
        self.written += 1;
        let id = format!("m{n}");
        let text = match rng.below(20) {
            0 => "/stop",
            1 => "/new",
            2 => "/status",
            3 => " \u{200b} ",
            _ => "hello",
        };
        let message = match rng.chance(20) {
            true => in_group(&id, "g", &sender, text),
            false => direct(&id, &sender, text),
        };
        let kind = match rng.below(20) {
            0 => InboundKind::Unreadable,
            1 => InboundKind::Ignored,
            _ => InboundKind::Text,
        };
        self.log.push(Inbound { kind, dedup_key: Some(format!("k{n}")), ..message });
    }

    /// Something that was delivered comes again, perhaps as if it were another message.
    pub(super) fn repeat(&mut self, rng: &mut Rng) {
        if self.log.is_empty() {
            return;
        }
        let at = rng.below(self.log.len() as u64) as usize;
        let mut again = self.log[at].clone();
        if rng.chance(50) {
            again.id = format!("{}-again-{}", again.id, self.log.len());
        }
        self.log.push(again);
    }

    /// What is new after a place, and the place after it. What comes together comes in any order.
    pub(super) fn batch(&self, rng: &mut Rng, from: usize) -> (Vec<Inbound>, usize) {
        let until = self.log.len().min(from + 1 + rng.below(20) as usize);
        let mut messages = self.log[from..until].to_vec();
        rng.shuffle(&mut messages);
        (messages, until)
    }

    pub(super) fn is_ahead_of(&self, place: usize) -> bool {
        self.log.len() > place
    }
}

/// What a send comes to: 200 with and without a receipt, a refusal in a 200, 401, 429 with and
/// without a hint, and 408, 5xx or HTML, which are all the same to the host.
pub(super) fn outcome(rng: &mut Rng) -> SendOutcome {
    let scope = [Scope::Message, Scope::Conversation, Scope::Account][rng.below(3) as usize];
    let refused = |signed_out, pause_ms| SendOutcome::Refused {
        code: "no".into(),
        message: None,
        signed_out,
        pause_ms,
        scope,
    };
    let retry = |after_ms| SendOutcome::Retry { reason: "later".into(), after_ms, scope };
    match rng.below(16) {
        0 => refused(false, None),
        1 => refused(false, Some(5_000)),
        2 => refused(true, None),
        3 => retry(None),
        4 => retry(Some(1_000)),
        5 => retry(Some(60_000)),
        6 => SendOutcome::Accepted { receipt: None },
        _ => SendOutcome::Accepted { receipt: Some("r".into()) },
    }
}
