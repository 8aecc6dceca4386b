//! Models: one kind of events, whatever wire format they come over.

mod arguments;
mod calls;
mod chat;
mod decode;
mod echo;
mod fault;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod growing;
mod handover;
mod hint;
mod redact;
mod remote;
mod responses;
mod retry;
mod sse;
mod surrogates;
mod think;
mod usage;
mod words;

#[cfg(test)]
mod tests;

use std::{future::poll_fn, pin::Pin, task::Poll};

use scv_http::HttpClient;
use scv_protocol::{TurnFailure, Usage};

use crate::{
    config::{ProviderConfig, ProviderKind},
    message::{AssistantMessage, Item},
};
use handover::Handover;

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

/// A model that can be asked.
#[derive(Debug)]
pub(crate) enum Provider {
    Echo,
    Remote(remote::RemoteProvider),
}

/// What a request is made of.
pub(crate) struct Question<'a, I> {
    pub(crate) system: &'a str,
    /// Oldest first; the last is a prompt or a tool's output.
    pub(crate) items: I,
    pub(crate) offers_tools: bool,
}

/// An answer on its way. Dropping it ends the request.
pub(crate) struct Answer {
    queue: Handover,
    source: Option<AnswerFuture>,
    result: Option<Result<Response, Failure>>,
}

type AnswerFuture = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

impl Provider {
    pub(crate) fn new(config: &ProviderConfig, http: &HttpClient) -> Self {
        match &config.kind {
            ProviderKind::Echo => Self::Echo,
            ProviderKind::OpenAiCompatible(server) => {
                Self::Remote(remote::RemoteProvider::new(http.clone(), &config.model, server))
            }
        }
    }

    /// Begins an answer. The request is built here, so that the items need not outlive the call.
    pub(crate) fn ask<'a, I>(&self, question: Question<'a, I>) -> Answer
    where
        I: Iterator<Item = &'a Item> + Clone,
    {
        let queue = Handover::default();
        let deltas = queue.deltas();
        let source: AnswerFuture = match self {
            Self::Echo => Box::pin(echo::answer(echo::Plan::new(question.items), deltas)),
            Self::Remote(provider) => {
                Box::pin(remote::answer(provider.clone(), provider.body(&question), deltas))
            }
        };
        Answer { queue, source: Some(source), result: None }
    }
}

impl Answer {
    /// The next event; none follows the last one. Safe to cancel.
    pub(crate) async fn next(&mut self) -> ProviderEvent {
        while self.queue.is_empty() && self.source.is_some() {
            poll_fn(|cx| self.advance(cx)).await;
        }
        if let Some(event) = self.ready() {
            return event;
        }
        match self.result.take() {
            Some(Ok(response)) => ProviderEvent::Completed(response),
            Some(Err(failure)) => ProviderEvent::Failed(failure),
            None => std::future::pending().await,
        }
    }

    /// A delta that is there already.
    pub(crate) fn ready(&mut self) -> Option<ProviderEvent> {
        self.queue.pop().map(ProviderEvent::Delta)
    }

    /// Polls the source until there is text or a result.
    fn advance(&mut self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        let Some(source) = &mut self.source else {
            return Poll::Ready(());
        };
        if let Poll::Ready(result) = source.as_mut().poll(cx) {
            self.result = Some(result);
            self.source = None;
            return Poll::Ready(());
        }
        match self.queue.is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }
}

/// In place of text where servers refuse an empty one.
fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "(nothing)" } else { text }
}
