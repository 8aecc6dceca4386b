//! Commands in a chat: answered at once, without a turn, for the sender's own conversation.

use super::{Machine, Output, Step, phrases, prompt};
use crate::store::State;

/// What a person can ask of the bridge itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// Forget the conversation so far.
    New,
    /// End the turn that runs.
    Stop,
    /// Say how things stand.
    Status,
    /// Say what commands there are.
    Help,
}

impl Command {
    /// Reads a command, which is the whole of a text: with anything beside it, it is a message.
    /// Chinese keyboards type the wide slash.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches(|c: char| c.is_whitespace() || prompt::shows_nothing(c));
        let name = text.strip_prefix(['/', '\u{ff0f}'])?;
        match name.to_ascii_lowercase().as_str() {
            "new" => Some(Self::New),
            "stop" => Some(Self::Stop),
            "status" => Some(Self::Status),
            "help" => Some(Self::Help),
            _ => None,
        }
    }
}

/// How a conversation stands when a command comes.
pub(super) struct Standing {
    /// Its turn runs.
    pub(super) is_running: bool,
    /// Its messages that wait, those of the batch under way included.
    pub(super) waiting: usize,
    /// Its refused replies that are kept.
    pub(super) held: usize,
    /// Whether the sender may use tools here.
    pub(super) tools: bool,
}

impl Machine {
    /// Does what a command says, and answers what to tell the sender.
    pub(super) fn command(
        &self,
        step: &mut Step<'_>,
        key: &str,
        command: Command,
        standing: &Standing,
    ) -> String {
        match command {
            Command::New => step.out.push(Output::ForgetConversation(key.to_owned())),
            Command::Stop if standing.is_running => {
                step.out.push(Output::CancelTurn(key.to_owned()));
            }
            Command::Stop | Command::Status | Command::Help => {}
        }
        phrases::command(command, standing)
    }

    pub(super) fn standing(&self, state: &State, key: &str, new: usize, tools: bool) -> Standing {
        let of_key = |other: &str| other == key;
        let is_running = self.turns.runs(key);
        let claims = state.claims().iter().filter(|claim| of_key(&claim.key)).count();
        // The claim of a turn that is over stays until its answer is durable.
        let in_work = usize::from(self.turns.is_unanswered(key));
        Standing {
            is_running,
            waiting: claims.saturating_sub(in_work) + new,
            held: state.held().iter().filter(|held| of_key(&held.key)).count(),
            tools,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_the_whole_text() {
        for (text, command) in [
            ("/new", Command::New),
            (" /STOP\n", Command::Stop),
            ("\u{ff0f}Status\u{3000}", Command::Status),
            ("\u{200b}/help", Command::Help),
        ] {
            assert_eq!(Command::parse(text), Some(command), "{text:?}");
        }
        for text in ["new", "/new chat", "//new", "/ new", "/newer", "say /new", "/", ""] {
            assert_eq!(Command::parse(text), None, "{text:?}");
        }
    }
}
