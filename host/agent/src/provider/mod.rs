//! Models: one kind of events, whatever wire format they come over.

mod chat;
mod echo;
mod redact;
mod retry;
mod sse;
mod think;

use std::pin::Pin;

use scv_http::HttpClient;
use scv_protocol::{TurnFailure, Usage};
use tokio::sync::mpsc;

use crate::{
    config::{ProviderConfig, ProviderKind, WireApi},
    limits::DELTA_QUEUE_COUNT,
    message::{AssistantMessage, Item},
    tools::Definition,
};

/// What a provider says while it answers. The last one is `Completed` or `Failed`.
#[derive(Debug)]
pub(crate) enum ProviderEvent {
    /// More text; never empty.
    Delta(String),
    Completed(Response),
    Failed(Failure),
}

/// A whole response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) message: AssistantMessage,
    /// None when the server reports none.
    pub(crate) usage: Option<Usage>,
}

/// Why a turn fails. The text may be shown: bounded, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: TurnFailure,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: TurnFailure, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The wire format is not served yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotSupported;

/// A model that can be asked.
#[derive(Debug)]
pub(crate) enum Provider {
    Echo,
    Chat(chat::ChatProvider),
}

/// What a request is made of.
pub(crate) struct Question<'a, I> {
    pub(crate) system: &'a str,
    /// Oldest first; the last is a prompt or a tool's output.
    pub(crate) items: I,
    pub(crate) tools: &'a [Definition],
}

/// An answer on its way. Dropping it ends the request.
pub(crate) struct Answer {
    deltas: mpsc::Receiver<String>,
    source: Option<AnswerFuture>,
    result: Option<Result<Response, Failure>>,
}

type AnswerFuture = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

/// Where a provider puts its text.
struct Deltas {
    sender: mpsc::Sender<String>,
    emitted: bool,
}

impl Provider {
    pub(crate) fn new(config: &ProviderConfig, http: &HttpClient) -> Result<Self, NotSupported> {
        let ProviderKind::OpenAiCompatible(server) = &config.kind else {
            return Ok(Self::Echo);
        };
        if server.wire_api != WireApi::Chat {
            return Err(NotSupported);
        }
        Ok(Self::Chat(chat::ChatProvider::new(http.clone(), &config.model, server)))
    }

    /// Begins an answer. The request is built here, so that the items need not outlive the call.
    pub(crate) fn ask<'a, I>(&self, question: Question<'a, I>) -> Answer
    where
        I: Iterator<Item = &'a Item> + Clone,
    {
        let (sender, deltas) = mpsc::channel(DELTA_QUEUE_COUNT);
        let sink = Deltas { sender, emitted: false };
        let source: AnswerFuture = match self {
            Self::Echo => Box::pin(echo::answer(echo::Plan::new(question.items), sink)),
            Self::Chat(provider) => {
                Box::pin(chat::answer(provider.clone(), provider.body(&question), sink))
            }
        };
        Answer { deltas, source: Some(source), result: None }
    }
}

impl Answer {
    /// The next event; none follows the last one. Safe to cancel.
    pub(crate) async fn next(&mut self) -> ProviderEvent {
        if let Some(source) = &mut self.source {
            tokio::select! {
                biased;
                Some(delta) = self.deltas.recv() => return ProviderEvent::Delta(delta),
                result = source => {
                    self.result = Some(result);
                    self.source = None;
                }
            }
        }
        if let Ok(delta) = self.deltas.try_recv() {
            return ProviderEvent::Delta(delta);
        }
        match self.result.take() {
            Some(Ok(response)) => ProviderEvent::Completed(response),
            Some(Err(failure)) => ProviderEvent::Failed(failure),
            None => std::future::pending().await,
        }
    }
}

impl Deltas {
    /// Hands text on. Nobody listening any more is no error: the answer is about to be dropped.
    async fn send(&mut self, text: String) {
        if !text.is_empty() {
            self.emitted = true;
            let _ = self.sender.send(text).await;
        }
    }
}
