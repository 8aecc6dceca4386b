//! One session.

use std::{sync::Arc, time::Duration};

use scv_plugin_abi::RawSessionBox;
use scv_plugin_api::{
    host::{BoxFuture, ChannelSession},
    wire::{Batch, CloseReply, Fault, NextBatchRequest, Outgoing, Scope, SendOutcome, encode},
};
use serde_json::Value;

use super::{
    call::{await_reply, broken, object},
    wedge::Wedge,
};
use crate::{Deadlines, sanitize};

/// One session.
pub(super) struct AdapterSession {
    session: RawSessionBox,
    next_batch: Duration,
    deadlines: Deadlines,
    wedge: Arc<Wedge>,
}

impl AdapterSession {
    pub(super) fn new(
        session: RawSessionBox,
        next_batch: Duration,
        deadlines: Deadlines,
        wedge: Arc<Wedge>,
    ) -> Self {
        Self { session, next_batch, deadlines, wedge }
    }

    async fn read(&self, ack: Option<String>) -> Result<Batch, Fault> {
        self.wedge.check()?;
        let request = encode(&NextBatchRequest { ack })?;
        let reply = self.session.next_batch(request.into());
        let batch: Batch = await_reply("next_batch", self.next_batch, reply).await?;
        batch.check().map_err(broken)?;
        Ok(batch)
    }

    async fn send_one(&self, message: Outgoing) -> Result<SendOutcome, Fault> {
        self.wedge.check()?;
        let reply = self.session.send(encode(&message)?.into());
        await_reply("send", self.deadlines.send, reply).await
    }

    async fn call_op(&self, op: &str, payload: Value) -> Result<Value, Fault> {
        self.wedge.check()?;
        let reply = self.session.call(op.into(), encode(&object(payload)?)?.into());
        await_reply("call", self.deadlines.call, reply).await
    }

    async fn end(&self, grace_ms: u32) -> Result<CloseReply, Fault> {
        let limit = Duration::from_millis(grace_ms.into()) + self.deadlines.close_margin;
        let reply = await_reply("close", limit, self.session.close(grace_ms)).await;
        self.wedge.judge("close", reply)
    }
}

impl ChannelSession for AdapterSession {
    fn next_batch(&self, ack: Option<String>) -> BoxFuture<'_, Result<Batch, Fault>> {
        Box::pin(self.read(ack))
    }

    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        Box::pin(async move {
            match self.send_one(message).await {
                Ok(outcome) => sanitize::outcome(outcome),
                Err(fault) => retry(fault),
            }
        })
    }

    fn call(&self, op: &str, payload: Value) -> BoxFuture<'_, Result<Value, Fault>> {
        let op = op.to_owned();
        Box::pin(async move { self.call_op(&op, payload).await })
    }

    fn close(&self, grace_ms: u32) -> BoxFuture<'_, Result<CloseReply, Fault>> {
        Box::pin(self.end(grace_ms))
    }
}

fn retry(fault: Fault) -> SendOutcome {
    SendOutcome::Retry { reason: fault.message, after_ms: fault.after_ms, scope: Scope::Message }
}
