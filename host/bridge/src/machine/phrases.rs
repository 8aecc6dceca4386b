//! Everything that the bridge itself says in a chat: short, and telling nothing private.

use super::Failure;

/// Above a held reply that rides along.
pub(super) const EARLIER: &str = "[Earlier reply that could not be delivered at the time]";
/// Above the reply that carries held ones.
pub(super) const LATEST: &str = "[Reply to your latest message]";
/// At the end of an answer that was cut.
pub(super) const TRUNCATED: &str = "[reply truncated]";

pub(super) const BUSY: &str =
    "I am still working on earlier messages. Please send this one again in a little while.";
pub(super) const INTERRUPTED: &str =
    "I was interrupted before I could answer this message. Please send it again.";
pub(super) const NO_ANSWER: &str = "The agent finished without an answer in words.";
pub(super) const TOO_LONG: &str =
    "This message is too long for me. Please send it in smaller pieces.";
pub(super) const UNREADABLE: &str =
    "I can only read text here. Please write what you would like me to know.";

pub(super) const fn failure(failure: Failure) -> &'static str {
    match failure {
        Failure::TimedOut => "This took too long, so I stopped. Please try a smaller step.",
        Failure::Provider => "The model could not be reached. Please try again in a while.",
        Failure::TooLarge => "This grew too large for me to finish. Please try a smaller step.",
        Failure::TooManySteps => "This needed too many steps. Please try a smaller one.",
        Failure::Cancelled => "This was cancelled.",
        Failure::Unavailable => "I could not work on this message. Please try again in a while.",
    }
}
