//! Why one request failed, and whether another may go better.

use std::time::Duration;

use scv_protocol::TurnFailure;

use super::{Failure, calls::CallFault, sse::EventTooLarge};

/// Why one request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) failure: Failure,
    /// None when another request would not help.
    pub(super) retry: Option<Retry>,
}

/// Another request may help.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Retry {
    /// As the server asked.
    pub(super) after: Option<Duration>,
}

impl Fault {
    pub(super) const fn is_final(failure: Failure) -> Self {
        Self { failure, retry: None }
    }

    pub(super) const fn may_pass(failure: Failure) -> Self {
        Self { failure, retry: Some(Retry { after: None }) }
    }

    /// The server failed, in these words.
    pub(super) fn provider(words: impl Into<String>) -> Self {
        Self::is_final(Failure::new(TurnFailure::ProviderError, words))
    }

    /// There is no whole answer; the next one may be.
    pub(super) fn no_answer(words: &str) -> Self {
        Self::may_pass(Failure::new(TurnFailure::ProviderError, words))
    }

    /// The answer is too large.
    pub(super) fn limit(words: &str) -> Self {
        Self::is_final(Failure::new(TurnFailure::ResponseLimit, words))
    }

    /// An event cannot be read.
    pub(super) fn malformed() -> Self {
        Self::provider("the server sent an event that is not what its format promises")
    }

    /// What the model wrote was held back.
    pub(super) fn filtered() -> Self {
        Self::provider("the provider's content filter stopped the answer")
    }

    /// The server speaks the other format.
    pub(super) fn other_format(wire_api: &str) -> Self {
        Self::provider(format!(
            "the server answered in the other wire format; set wire_api = \"{wire_api}\" for this \
             provider"
        ))
    }

    /// Whether to ask again after `retries` retries: never when part of the answer was shown.
    pub(super) fn wants_retry(&self, retries: u32, max_retries: u32, shown: bool) -> Option<Retry> {
        self.retry.filter(|_| retries < max_retries && !shown)
    }
}

impl From<EventTooLarge> for Fault {
    fn from(_: EventTooLarge) -> Self {
        Self::limit("the server sent an event larger than 1 MiB")
    }
}

impl From<CallFault> for Fault {
    fn from(fault: CallFault) -> Self {
        match fault {
            CallFault::Limit => Self::is_final(Failure::new(
                TurnFailure::ToolLimit,
                "the model asked for more than 32 tool calls at once, or for one of more than \
                 256 KiB; nothing was run",
            )),
            CallFault::Damaged => {
                Self::provider("the model sent a tool call that is not whole; nothing was run")
            }
        }
    }
}
