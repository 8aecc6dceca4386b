//! A session: polls what comes in, sends what goes out.

use std::sync::{Arc, Mutex as Lock, PoisonError};

use scv_http::HttpClient;
use scv_plugin_api::{
    BatchToken, Result, Session, Stop,
    wire::{Batch, Outgoing, Scope, SendOutcome},
};
use tokio::{sync::Mutex, time::Instant};

use crate::{
    credentials::Credentials,
    exchange,
    ledger::Ledger,
    outcome::read_outcome,
    pace::rest,
    reader::Reader,
    request,
    updates::{Updates, read_updates},
};

/// One account, connected.
pub struct WeChatSession {
    http: HttpClient,
    credentials: Credentials,
    stop: Stop,
    /// Locked for a whole poll; the SDK never runs two at once.
    reader: Mutex<Reader>,
    /// The account's, over all its connections.
    ledger: Arc<Lock<Ledger>>,
}

impl WeChatSession {
    /// No request yet: the first poll is the first sign of life, and it is a poll like any other,
    /// whose messages count.
    pub(crate) fn new(
        http: HttpClient,
        credentials: Credentials,
        checkpoint: Option<String>,
        stop: Stop,
        ledger: Arc<Lock<Ledger>>,
    ) -> Self {
        let reader = Mutex::new(Reader::new(checkpoint));
        Self { http, credentials, stop, reader, ledger }
    }

    fn with_ledger<R>(&self, look: impl FnOnce(&mut Ledger, Instant) -> R) -> R {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut ledger, Instant::now())
    }

    async fn poll(&self, reader: &Reader) -> Result<Option<Updates>> {
        let request = request::get_updates(&self.credentials, reader.cursor())?;
        let answer = exchange::poll(&self.http, request, reader.patience(), &self.stop).await?;
        let Some(response) = answer else { return Ok(None) };
        let retry_after = response.header("retry-after");
        let updates = read_updates(response.status, retry_after, &response.body)?;
        report_odd(&updates);
        self.with_ledger(|ledger, now| {
            updates.messages.iter().for_each(|message| ledger.heard(message, now));
        });
        Ok(Some(updates))
    }
}

impl Session for WeChatSession {
    async fn next_batch(&self, ack: Option<BatchToken>) -> Result<Batch> {
        let mut reader = self.reader.lock().await;
        reader.acknowledge(ack.as_deref());
        if let Some(part) = reader.next_part() {
            return Ok(part);
        }
        let begin = Instant::now();
        let Some(updates) = self.poll(&reader).await? else { return reader.heard_nothing() };
        let pause = reader.pause(begin.elapsed(), &updates);
        let batch = reader.received(updates);
        rest(pause, &self.stop).await;
        Ok(batch)
    }

    async fn send(&self, message: Outgoing) -> Result<SendOutcome> {
        if let Some(distance) = self.with_ledger(|ledger, now| ledger.distance(now)) {
            let after_ms = u64::try_from(distance.as_millis()).ok();
            return Ok(SendOutcome::Retry {
                reason: "pace".to_owned(),
                after_ms,
                scope: Scope::Account,
            });
        }
        let request = request::send_message(&self.credentials, &message)?;
        let response = exchange::send(&self.http, request).await;
        Ok(self.with_ledger(|ledger, now| {
            let outcome = match response {
                Ok(response) => {
                    let retry_after = response.header("retry-after");
                    let suspect = |words: &str| ledger.suspect(&message, words, now);
                    read_outcome(response.status, retry_after, &response.body, suspect)
                }
                Err(error) => SendOutcome::Retry {
                    reason: exchange::told(&error),
                    after_ms: None,
                    scope: Scope::Message,
                },
            };
            ledger.ended(&message, &outcome, now);
            outcome
        }))
    }
}

fn report_odd(updates: &Updates) {
    if updates.left_out > 0 {
        tracing::warn!(count = updates.left_out, "left out elements of a poll without an id");
    }
    if updates.ignored() > 0 {
        tracing::debug!(count = updates.ignored(), "messages that start no turn are marked seen");
    }
}
