//! Everything that the bridge itself says in a chat: short, and telling nothing private.

use super::{
    Failure,
    commands::{Command, Standing},
};

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

pub(super) fn command(command: Command, standing: &Standing) -> String {
    match command {
        Command::New if standing.is_running => {
            format!("I stop what I was working on. {FORGOTTEN}")
        }
        Command::New => FORGOTTEN.into(),
        Command::Stop if standing.is_running => {
            format!("I stop what I was working on.{}", waiting(standing.waiting))
        }
        Command::Stop => {
            format!("I am not working on any message of yours.{}", waiting(standing.waiting))
        }
        Command::Status => status(standing),
        Command::Help => HELP.into(),
    }
}

const FORGOTTEN: &str =
    "I forget what was said before. Your next message begins a new conversation.";
const HELP: &str = "Write to me and I will answer.
/new - forget this conversation and begin a new one
/stop - stop what I am working on
/status - say how things stand
/help - show this";

fn status(standing: &Standing) -> String {
    let work = match standing.is_running {
        true => "I am working on a message of yours.",
        false => "I am not working on any message of yours.",
    };
    let held = match standing.held {
        0 => String::new(),
        1 => " An earlier reply could not be delivered; it comes with my next answer.".into(),
        n => {
            format!(" {n} earlier replies could not be delivered; they come with my next answers.")
        }
    };
    let tools = if standing.tools { "on" } else { "off" };
    format!("{work}{}{held} Tools are {tools} for you here.", waiting(standing.waiting))
}

fn waiting(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " One message waits.".into(),
        n => format!(" {n} messages wait."),
    }
}
