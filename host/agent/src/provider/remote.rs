//! A model over HTTP: requests, clocks and retries around the pure decoder, whatever the format.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use scv_http::{HttpClient, HttpError, Phase, Request, ResponseStream, StreamLimits};
use scv_protocol::TurnFailure;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{
    Failure, Question, Response, chat,
    decode::{Decoder, End},
    fault::{Fault, Retry},
    handover::Deltas,
    hint, redact, responses, retry, words,
};
use crate::{
    config::{OpenAiConfig, WireApi},
    limits::{AFTER_FINISH_MS, MAX_ERROR_BODY_BYTES},
    message::Item,
};

/// A model on a server that speaks one of the two formats.
#[derive(Debug, Clone)]
pub(crate) struct RemoteProvider {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    http: HttpClient,
    url: String,
    model: String,
    server: OpenAiConfig,
}

/// Where the bytes of an answer come from.
pub(super) trait Body {
    /// The next bytes; none at the proper end. Safe to cancel.
    fn chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, HttpError>> + Send;
}

impl Body for ResponseStream {
    fn chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, HttpError>> + Send {
        Self::chunk(self)
    }
}

/// How long a body may be silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    pub(super) first_event: Instant,
    pub(super) idle: Duration,
}

impl RemoteProvider {
    pub(crate) fn new(http: HttpClient, model: &str, server: &OpenAiConfig) -> Self {
        let base = server.base_url.trim_end_matches('/');
        let path = match server.wire_api {
            WireApi::Chat => chat::PATH,
            WireApi::Responses => responses::PATH,
        };
        let inner = Inner {
            http,
            url: format!("{base}/{path}"),
            model: model.to_owned(),
            server: server.clone(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The request's body.
    pub(super) fn body<'a, I>(&self, question: &Question<'a, I>) -> Bytes
    where
        I: Iterator<Item = &'a Item> + Clone,
    {
        let Inner { model, server, .. } = &*self.inner;
        match server.wire_api {
            WireApi::Chat => chat::body(model, server, question).into(),
            WireApi::Responses => responses::body(model, question).into(),
        }
    }
}

/// Asks, and asks again while that may help and nothing of the answer was shown.
pub(super) async fn answer(
    provider: RemoteProvider,
    body: Bytes,
    mut deltas: Deltas,
) -> Result<Response, Failure> {
    let mut retries = 0;
    loop {
        let fault = match provider.inner.attempt(body.clone(), &mut deltas).await {
            Ok(response) => return Ok(response),
            Err(fault) => fault,
        };
        let max_retries = provider.inner.server.max_retries;
        let Some(retry) = fault.wants_retry(retries, max_retries, deltas.emitted) else {
            let Failure { code, message } = fault.failure;
            let message = redact::clean(&message, provider.inner.server.secrets());
            return Err(Failure { code, message });
        };
        sleep(retry::delay(retries, retry.after)).await;
        retries += 1;
    }
}

impl Inner {
    async fn attempt(&self, body: Bytes, deltas: &mut Deltas) -> Result<Response, Fault> {
        let limit = self.server.timeout;
        timeout(limit, self.exchange(body, deltas)).await.unwrap_or_else(|_| {
            let seconds = limit.as_secs();
            Err(Fault::provider(format!(
                "the answer was not whole after {seconds} seconds; raise timeout_seconds"
            )))
        })
    }

    async fn exchange(&self, body: Bytes, deltas: &mut Deltas) -> Result<Response, Fault> {
        let clocks = Clocks {
            first_event: Instant::now() + self.server.first_event_timeout,
            idle: self.server.idle_timeout,
        };
        let limits = StreamLimits {
            connect: self.server.connect_timeout,
            headers: self.server.first_event_timeout,
        };
        let response = self.http.stream(self.request(body), limits).await;
        let mut response = response.map_err(|error| transport_fault(&error))?;
        if !response.is_success() {
            return Err(self.refused(response).await);
        }
        let decoder = Decoder::new(self.server.wire_api, self.server.strip_think);
        read(&mut response, decoder, clocks, deltas).await
    }

    fn request(&self, body: Bytes) -> Request {
        let mut request = Request::post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(body);
        if let Some(key) = &self.server.api_key {
            request = request.bearer(key.expose());
        }
        for (name, value) in &self.server.headers {
            request = request.header(name, value.expose());
        }
        request
    }

    /// What an error status says.
    async fn refused(&self, response: ResponseStream) -> Fault {
        let status = response.status();
        let asked = retry::retry_after(|name| response.header(name));
        let body = timeout(self.server.idle_timeout, response.collect(MAX_ERROR_BODY_BYTES)).await;
        let body = body.ok().and_then(Result::ok).map(|response| response.body);
        let body = body.map(|body| error_body(&body)).unwrap_or_default();
        // A page is a gateway's, and says nothing about the model.
        let words = if body.is_string() { String::new() } else { words::error_text(&body) };
        let mut message = format!("the server answered with status {status}");
        if let Some(advice) = advice(status, &words, self.server.wire_api) {
            message.push_str(&format!(" ({advice})"));
        }
        if !words.is_empty() && !body.is_null() {
            message.push_str(": ");
            message.push_str(&words);
        }
        let after = asked.or_else(|| hint::read(&body));
        let retry = retry::is_retryable(status).then_some(Retry { after });
        Fault { failure: Failure::new(TurnFailure::ProviderError, message), retry }
    }
}

/// JSON if it is any, else a text.
fn error_body(body: &[u8]) -> Value {
    serde_json::from_slice(body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

/// Reads an answer to its end, whichever way that comes.
pub(super) async fn read(
    body: &mut impl Body,
    mut decoder: Decoder,
    clocks: Clocks,
    deltas: &mut Deltas,
) -> Result<Response, Fault> {
    let mut deadline = clocks.first_event;
    let end = loop {
        let bytes = match timeout_at(deadline, body.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => break End::Clean,
            Ok(Err(_)) => break End::Broken,
            // Some servers never close: the answer is whole all the same.
            Err(_) if decoder.is_finishing() => break End::Clean,
            Err(_) => return Err(silence()),
        };
        let progress = decoder.push(&bytes);
        deltas.send(decoder.take_deltas()).await;
        let progress = progress?;
        if progress.done {
            break End::Clean;
        }
        if progress.events {
            deadline = Instant::now() + patience(&decoder, clocks.idle);
        }
    };
    let response = decoder.finish(end);
    deltas.send(decoder.take_deltas()).await;
    response
}

fn patience(decoder: &Decoder, idle: Duration) -> Duration {
    match decoder.is_finishing() {
        true => idle.min(Duration::from_millis(AFTER_FINISH_MS)),
        false => idle,
    }
}

fn silence() -> Fault {
    Fault::provider(
        "the server stopped sending; try again, or raise first_event_timeout_seconds or \
         idle_timeout_seconds",
    )
}

fn transport_fault(error: &HttpError) -> Fault {
    if matches!(error, HttpError::Timeout { phase: Phase::Headers }) {
        return silence();
    }
    let failure = Failure::new(TurnFailure::ProviderError, error.to_string());
    match error.is_connection_failure() {
        true => Fault::may_pass(failure),
        false => Fault::is_final(failure),
    }
}

/// What a person can do about a status.
fn advice(status: u16, words: &str, wire_api: WireApi) -> Option<String> {
    const OMITTABLE: [&str; 3] = ["stream_options", "max_tokens", "temperature"];
    match (status, wire_api) {
        (401 | 403, _) => Some("check the provider's key".to_owned()),
        (404 | 405, WireApi::Responses) => {
            let text = "check base_url and model; a server that speaks Chat Completions only needs \
                        wire_api = \"chat\"";
            Some(text.to_owned())
        }
        (404 | 405, WireApi::Chat) => Some("check base_url and model".to_owned()),
        (400 | 422, _) => {
            let field = OMITTABLE.iter().find(|field| words.contains(**field))?;
            Some(format!("add \"{field}\" to the provider's omit list"))
        }
        _ => None,
    }
}
