//! One connection with one session: starting it, and running a turn in it.

use scv_protocol::{
    ApprovalId, ClientMessage, ServerEvent, SessionId, SessionStart, TurnFailure, TurnId,
    client::{Client, ClientError},
};

use tokio_util::sync::CancellationToken;

use super::Settings;
use crate::{
    limits::MAX_ANSWER_BYTES,
    machine::{Failure, TurnEnd},
};

/// An open session.
pub(super) struct Connection {
    client: Client,
    session_id: SessionId,
    /// Approval requests are granted; only ever for the owner in a direct chat.
    tools: bool,
    turns: u64,
}

impl Connection {
    pub(super) async fn open(settings: &Settings, tools: bool) -> Result<Self, ClientError> {
        let mut client = settings.dialer.dial().await?;
        let start = SessionStart {
            request_id: "session".into(),
            cwd: settings.workspace.clone(),
            provider: None,
            model: None,
            base_url: None,
            no_tools: !tools,
        };
        client.send(&ClientMessage::SessionStart(start)).await?;
        loop {
            match client.next().await? {
                ServerEvent::SessionStarted { session_id, .. } => {
                    return Ok(Self { client, session_id, tools, turns: 0 });
                }
                ServerEvent::Error { code, message, .. } => {
                    return Err(ClientError::Refused { code, message });
                }
                _ => {}
            }
        }
    }

    /// The next event; safe to cancel.
    pub(super) async fn next(&mut self) -> Result<ServerEvent, ClientError> {
        self.client.next().await
    }

    /// Runs one turn, to its end or until it has ended because of `cancel`. An error means that
    /// the connection is of no more use.
    pub(super) async fn turn(
        &mut self,
        prompt: &str,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, ClientError> {
        // Taken when the turn's end is asked for.
        let mut running = None;
        self.turns += 1;
        let request = format!("turn-{}", self.turns);
        self.client
            .send(&ClientMessage::TurnStart {
                request_id: request.clone(),
                session_id: self.session_id.clone(),
                prompt: prompt.to_owned(),
            })
            .await?;
        let mut answer = Answer::default();
        loop {
            let event = tokio::select! {
                event = self.client.next() => event?,
                () = cancel.cancelled(), if running.is_some() => {
                    if let Some(turn_id) = running.take() {
                        self.cancel(turn_id).await?;
                    }
                    continue;
                }
            };
            match event {
                ServerEvent::TurnStarted { at, .. } if at.request_id == request => {
                    running = Some(at.turn_id);
                }
                ServerEvent::AssistantCompleted { at, content } if at.request_id == request => {
                    answer.add(&content);
                }
                ServerEvent::ApprovalRequested { at, approval_id, .. } => {
                    let approved = self.tools && at.request_id == request;
                    self.resolve(approval_id, approved).await?;
                }
                ServerEvent::TurnCompleted { at, .. } if at.request_id == request => {
                    return Ok(TurnEnd::Answer(answer.text));
                }
                ServerEvent::TurnCancelled { at, .. } if at.request_id == request => {
                    return Ok(TurnEnd::Failed(Failure::Cancelled));
                }
                ServerEvent::TurnFailed { at, code, .. } if at.request_id == request => {
                    return Ok(TurnEnd::Failed(failure(code)));
                }
                event => self.check(event, &request)?,
            }
        }
    }

    /// Asks for the end of a turn. It may have ended meanwhile: what the server says about that
    /// concerns nobody.
    async fn cancel(&mut self, turn_id: TurnId) -> Result<(), ClientError> {
        self.client
            .send(&ClientMessage::TurnCancel {
                request_id: format!("cancel-{turn_id}"),
                session_id: self.session_id.clone(),
                turn_id,
            })
            .await
    }

    /// An error about this turn, or one that ends the connection, ends the turn.
    fn check(&self, event: ServerEvent, request: &str) -> Result<(), ClientError> {
        match event {
            ServerEvent::Error { request_id, code, message, fatal, .. }
                if fatal || request_id.as_deref() == Some(request) =>
            {
                Err(ClientError::Refused { code, message })
            }
            _ => Ok(()),
        }
    }

    async fn resolve(
        &mut self,
        approval_id: ApprovalId,
        approved: bool,
    ) -> Result<(), ClientError> {
        self.client
            .send(&ClientMessage::ApprovalResolve {
                request_id: format!("approval-{approval_id}"),
                session_id: self.session_id.clone(),
                approval_id,
                approved,
            })
            .await
    }
}

/// The assistant's messages of a turn, an empty line between, with a bound on memory.
#[derive(Default)]
struct Answer {
    text: String,
}

impl Answer {
    fn add(&mut self, content: &str) {
        // More than the limit is kept, so that the machine sees that it must cut.
        if content.trim().is_empty() || self.text.len() > MAX_ANSWER_BYTES {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(content);
    }
}

const fn failure(code: TurnFailure) -> Failure {
    match code {
        TurnFailure::ProviderError => Failure::Provider,
        TurnFailure::StepLimit | TurnFailure::ToolLimit => Failure::TooManySteps,
        TurnFailure::ContextLimit | TurnFailure::HistoryLimit | TurnFailure::ResponseLimit => {
            Failure::TooLarge
        }
        TurnFailure::InternalError | TurnFailure::Unknown => Failure::Unavailable,
    }
}
