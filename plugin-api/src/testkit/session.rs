//! An open session, and reading from it as a host does.

use std::{sync::Arc, time::Duration};

use scv_plugin_abi::RawSessionBox;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    answers::answer,
    limits::{GRACE_MS, OPERATION_MS},
    plugin::{Trouble, document},
    watch::Watch,
};
use crate::wire::{
    Batch, CloseReply, Inbound, InboundKind, NextBatchRequest, Outgoing, SendOutcome,
};

/// One session.
pub(super) struct Session {
    raw: RawSessionBox,
    watch: Arc<Watch>,
}

impl Session {
    pub(super) const fn new(raw: RawSessionBox, watch: Arc<Watch>) -> Self {
        Self { raw, watch }
    }

    pub(super) async fn next_batch(&self, ack: Option<&str>) -> Result<Batch, Trouble> {
        let request = NextBatchRequest { ack: ack.map(str::to_owned) };
        self.next_batch_raw(document("next_batch", &request)?).await
    }

    pub(super) async fn next_batch_raw(&self, request: Vec<u8>) -> Result<Batch, Trouble> {
        let op = "next_batch";
        let batch: Batch = answer(op, &self.watch, self.raw.next_batch(request.into())).await?;
        batch.check().map_err(|fault| Trouble::Broken { op, what: fault.message })?;
        Ok(batch)
    }

    pub(super) async fn send(&self, message: &Outgoing) -> Result<SendOutcome, Trouble> {
        self.send_raw(document("send", message)?).await
    }

    pub(super) async fn send_raw(&self, request: Vec<u8>) -> Result<SendOutcome, Trouble> {
        let outcome = answer("send", &self.watch, self.raw.send(request.into())).await?;
        self.watch.heard(format!("{outcome:?}"));
        Ok(outcome)
    }

    pub(super) async fn call_raw(&self, op: &str, payload: Vec<u8>) -> Result<Value, Trouble> {
        answer("call", &self.watch, self.raw.call(op.into(), payload.into())).await
    }

    pub(super) async fn call(&self, op: &str) -> Result<Value, Trouble> {
        self.call_raw(op, document("call", &json!({}))?).await
    }

    pub(super) async fn close(&self) -> Result<CloseReply, Trouble> {
        answer("close", &self.watch, self.raw.close(GRACE_MS)).await
    }
}

/// Reads a session as a host does: the next call acknowledges what the last one brought.
pub(super) struct Reading<'a> {
    pub(super) session: &'a Session,
    pub(super) ack: Option<String>,
    /// The last one that was not empty.
    pub(super) checkpoint: Option<String>,
}

impl<'a> Reading<'a> {
    pub(super) const fn new(session: &'a Session, checkpoint: Option<String>) -> Self {
        Self { session, ack: None, checkpoint }
    }

    pub(super) async fn next(&mut self) -> Result<Batch, Trouble> {
        let batch = self.session.next_batch(self.ack.as_deref()).await?;
        self.took(&batch);
        Ok(batch)
    }

    /// Remembers a batch as a host that has made it durable.
    pub(super) fn took(&mut self, batch: &Batch) {
        self.ack = Some(batch.token.clone());
        if !batch.checkpoint.is_empty() {
            self.checkpoint = Some(batch.checkpoint.clone());
        }
    }

    /// Reads until this many texts have come.
    pub(super) async fn texts(&mut self, count: usize) -> Result<Vec<Inbound>, Trouble> {
        let mut texts = Vec::new();
        let reading = async {
            while texts.len() < count {
                let messages = self.next().await?.messages;
                texts.extend(messages.into_iter().filter(|m| m.kind == InboundKind::Text));
            }
            Ok(())
        };
        let read = timeout(Duration::from_millis(OPERATION_MS), reading).await;
        let late = |_| Trouble::Broken {
            op: "next_batch",
            what: format!("{} of {count} messages came in time", texts.len()),
        };
        read.map_err(late)??;
        Ok(texts)
    }
}
