//! One session with one turn: sends the prompt, follows the events, decides about approvals.

use std::time::Duration;

use anyhow::bail;
use scv_protocol::{
    ApprovalId, ClientMessage, ErrorCode, ServerEvent, SessionId, SessionStart, ToolError,
    TurnFailure, TurnId, client::Client,
};
use tokio::time::Instant;

use super::screen::Screen;
use crate::{
    exit::{self, Exit},
    limits::CANCEL_WAIT_MS,
    signals::Signals,
    terminal,
};

/// What happens when a tool call needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approvals {
    /// Approve it.
    Yes,
    /// Ask the person.
    Ask,
    /// Deny it.
    No,
}

/// One turn of one command.
pub(super) struct Turn {
    pub(super) client: Client,
    pub(super) signals: Signals,
    pub(super) approvals: Approvals,
    pub(super) screen: Screen,
}

/// What the turn has become so far.
#[derive(Default)]
struct Progress {
    session: Option<SessionId>,
    turn: Option<TurnId>,
    denied: bool,
    /// The person gave up; after this the command does not wait any longer.
    cancelled: Option<Instant>,
}

enum Wake {
    Event(Box<ServerEvent>),
    Interrupt,
    TooLate,
}

impl Turn {
    pub(super) async fn run(mut self, start: SessionStart, prompt: String) -> anyhow::Result<Exit> {
        let mut progress = Progress::default();
        let mut prompt = Some(prompt);
        self.client.send(&ClientMessage::SessionStart(start)).await?;
        loop {
            let event = match self.wake(&progress).await? {
                Wake::TooLate => return Ok(Exit::Cancelled),
                Wake::Interrupt if progress.cancelled.is_some() => return Ok(Exit::Cancelled),
                Wake::Interrupt => {
                    if !self.cancel(&mut progress).await? {
                        return Ok(Exit::Cancelled);
                    }
                    continue;
                }
                Wake::Event(event) => *event,
            };
            self.screen.event(&event)?;
            if let Some(exit) = ended(&event, &progress)? {
                return Ok(exit);
            }
            match event {
                ServerEvent::SessionStarted { session_id, .. } => {
                    progress.session = Some(session_id.clone());
                    if let Some(prompt) = prompt.take() {
                        self.start_turn(session_id, prompt).await?;
                    }
                }
                ServerEvent::TurnStarted { at, .. } => progress.turn = Some(at.turn_id),
                ServerEvent::ToolCompleted { error: Some(ToolError::Denied), .. } => {
                    progress.denied = true
                }
                ServerEvent::ApprovalRequested { at, approval_id, summary, .. } => {
                    let call = (at.session_id, approval_id);
                    self.approve(&mut progress, call, &summary).await?;
                }
                _ => {}
            }
        }
    }

    async fn wake(&mut self, progress: &Progress) -> anyhow::Result<Wake> {
        let too_late = async {
            match progress.cancelled {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        Ok(tokio::select! {
            event = self.client.next() => Wake::Event(Box::new(event?)),
            () = self.signals.end() => Wake::Interrupt,
            () = too_late => Wake::TooLate,
        })
    }

    async fn start_turn(&mut self, session_id: SessionId, prompt: String) -> anyhow::Result<()> {
        let message = ClientMessage::TurnStart { request_id: "turn".into(), session_id, prompt };
        Ok(self.client.send(&message).await?)
    }

    /// Asks the server to end the turn; false when there is none yet.
    async fn cancel(&mut self, progress: &mut Progress) -> anyhow::Result<bool> {
        let (Some(session_id), Some(turn_id)) = (&progress.session, &progress.turn) else {
            return Ok(false);
        };
        let message = ClientMessage::TurnCancel {
            request_id: "cancel".into(),
            session_id: session_id.clone(),
            turn_id: turn_id.clone(),
        };
        self.client.send(&message).await?;
        progress.cancelled = Some(Instant::now() + Duration::from_millis(CANCEL_WAIT_MS));
        Ok(true)
    }

    /// Decides about one tool call. Ctrl+C instead of an answer cancels the turn.
    async fn approve(
        &mut self,
        progress: &mut Progress,
        (session_id, approval_id): (SessionId, ApprovalId),
        summary: &str,
    ) -> anyhow::Result<()> {
        let approved = match self.approvals {
            Approvals::Yes => true,
            Approvals::No => {
                self.screen.note("denied: nobody can be asked here; --yes approves every call");
                false
            }
            Approvals::Ask => {
                self.screen.ask(summary);
                tokio::select! {
                    line = terminal::line() => is_yes(line.as_deref()),
                    () = self.signals.end() => {
                        self.cancel(progress).await?;
                        return Ok(());
                    }
                }
            }
        };
        let message = ClientMessage::ApprovalResolve {
            request_id: "approval".into(),
            session_id,
            approval_id,
            approved,
        };
        Ok(self.client.send(&message).await?)
    }
}

fn is_yes(line: Option<&str>) -> bool {
    line.is_some_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The command's status, once an event ends it.
fn ended(event: &ServerEvent, progress: &Progress) -> anyhow::Result<Option<Exit>> {
    let exit = match event {
        ServerEvent::TurnCompleted { .. } if progress.denied => Exit::Denied,
        ServerEvent::TurnCompleted { .. } => Exit::Done,
        ServerEvent::TurnCancelled { .. } => Exit::Cancelled,
        ServerEvent::TurnFailed { code, message, .. } => {
            return Err(exit::refused(status_of(*code), terminal::harmless(message)));
        }
        // A turn that ended just before it was cancelled answers the cancel with an error.
        ServerEvent::Error { .. } if progress.cancelled.is_some() => Exit::Cancelled,
        // Nothing has been asked yet: what the command line names is not there.
        ServerEvent::Error { code: ErrorCode::InvalidRequest, message, .. }
            if progress.session.is_none() =>
        {
            return Err(exit::usage(terminal::harmless(message)));
        }
        ServerEvent::Error { message, .. } => bail!("{}", terminal::harmless(message)),
        _ => return Ok(None),
    };
    Ok(Some(exit))
}

const fn status_of(code: TurnFailure) -> Exit {
    match code {
        TurnFailure::ProviderError => Exit::Provider,
        TurnFailure::ContextLimit
        | TurnFailure::StepLimit
        | TurnFailure::HistoryLimit
        | TurnFailure::ResponseLimit
        | TurnFailure::ToolLimit => Exit::Limit,
        TurnFailure::InternalError | TurnFailure::Unknown => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_approves() {
        for yes in ["y", "Y", " yes "] {
            assert!(is_yes(Some(yes)), "{yes}");
        }
        for no in [None, Some(""), Some("n"), Some("yeah"), Some("y n")] {
            assert!(!is_yes(no), "{no:?}");
        }
    }

    #[test]
    fn every_failure_has_the_status_that_scripts_know() {
        assert_eq!(status_of(TurnFailure::ProviderError), Exit::Provider);
        assert_eq!(status_of(TurnFailure::StepLimit), Exit::Limit);
        assert_eq!(status_of(TurnFailure::ToolLimit), Exit::Limit);
        assert_eq!(status_of(TurnFailure::InternalError), Exit::Failed);
    }
}
