//! The plugin's session: connecting, polling, sending, and connecting again.

use std::{sync::Arc, time::Duration};

use scv_plugin_api::{
    host::ChannelSession,
    wire::{Batch, CloseReply, ConnectRequest, Fault, FaultKind, Outgoing, Scope, SendOutcome},
};
use tokio::{task::AbortHandle, time::sleep};

use super::{Event, Run, RunError, RunErrorKind, ids, report};
use crate::{
    Backoff,
    limits::{CLOSE_GRACE_MS, PLATFORM_PAUSE_MAX_MS},
    machine::Input,
};

/// Where the connection to the platform stands.
pub(super) struct Link {
    pub(super) session: Option<Arc<dyn ChannelSession>>,
    pub(super) connecting: Option<AbortHandle>,
    /// The wait before connecting again.
    waiting: Option<AbortHandle>,
    /// Counts what was lost, to tell a late answer of an earlier one.
    number: u64,
    retry: Backoff,
    signed_out: Backoff,
    is_signed_out: bool,
    /// Sessions whose close is awaited.
    closing: usize,
}

impl Run {
    pub(super) fn connect(&mut self) {
        let transport = Arc::clone(&self.context.transport);
        let request = ConnectRequest {
            session_id: ids::uuid(),
            channel: self.context.channel.id.clone(),
            account: self.context.account.to_string(),
            credentials: self.context.snapshot.credentials.clone(),
            checkpoint: self.state.cursor().map(str::to_owned),
        };
        let task = async move { Event::Connected(transport.connect(request).await) };
        self.link.connecting = Some(self.tasks.spawn(task));
    }

    pub(super) fn connected(
        &mut self,
        result: Result<Box<dyn ChannelSession>, Fault>,
    ) -> Result<(), RunError> {
        self.link.connecting = None;
        match result {
            Ok(session) => {
                self.link.session = Some(session.into());
                self.feed(Input::Connected);
                Ok(())
            }
            Err(fault) => self.lost(fault),
        }
    }

    pub(super) fn poll(&mut self, ack: Option<String>) {
        let number = self.link.number;
        if let Some(session) = self.link.session.clone() {
            let task = async move { Event::Polled(number, session.next_batch(ack).await) };
            self.tasks.spawn(task);
        }
    }

    /// A quiet batch is an empty one that says nothing about the platform.
    ///
    /// A late answer of an earlier session is left out: what it brings is not acknowledged,
    /// and comes again from the durable checkpoint.
    pub(super) fn polled(
        &mut self,
        number: u64,
        result: Result<Batch, Fault>,
    ) -> Result<(), Fault> {
        if number != self.link.number {
            return Ok(());
        }
        let batch = result?;
        if !batch.quiet {
            self.link.retry.reset();
            self.link.signed_out.reset();
            self.link.is_signed_out = false;
            self.reporter.contact();
        }
        self.feed(Input::Batch(batch));
        Ok(())
    }

    pub(super) fn send(&mut self, reply: String, message: Outgoing) {
        let session = self.link.session.clone();
        self.tasks.spawn(async move {
            let outcome = match session {
                Some(session) => session.send(message).await,
                None => not_connected(),
            };
            Event::SendEnded { reply, outcome }
        });
    }

    /// The session, or the try to get one, has failed: closes it and connects again later,
    /// unless a person must act first.
    pub(super) fn lost(&mut self, fault: Fault) -> Result<(), RunError> {
        self.feed(Input::Disconnected);
        self.close_session();
        self.reporter.refused_with(&fault);
        self.link.number += 1;
        self.link.is_signed_out = fault.kind == FaultKind::Auth;
        let backoff_ms = match fault.kind {
            FaultKind::Config => return Err(report::refused(&fault)),
            FaultKind::Auth => self.link.signed_out.next_ms(),
            _ => self.link.retry.next_ms(),
        };
        self.reporter.lost(&fault);
        let after_ms = fault.after_ms.unwrap_or(0).min(PLATFORM_PAUSE_MAX_MS);
        let wait_ms = backoff_ms.max(after_ms);
        let task = async move {
            sleep(Duration::from_millis(wait_ms)).await;
            Event::Reconnect
        };
        self.link.waiting = Some(self.tasks.spawn(task));
        Ok(())
    }

    /// Ends the wait before connecting again, if there is one.
    pub(super) fn reconnect(&mut self) {
        if let Some(waiting) = self.link.waiting.take() {
            waiting.abort();
            self.connect();
        }
    }

    /// Closes the session, if there is one, while its poll may still be awaited.
    pub(super) fn close_session(&mut self) {
        if let Some(session) = self.link.session.take() {
            self.link.closing += 1;
            self.tasks.spawn(async move { Event::Closed(session.close(CLOSE_GRACE_MS).await) });
        }
    }

    /// A session that did not close leaves a plugin that nothing more can be asked of.
    pub(super) fn closed(&mut self, reply: &Result<CloseReply, Fault>) -> Result<(), RunError> {
        self.link.closing -= 1;
        if matches!(reply, Ok(reply) if reply.tasks_left == 0) {
            return Ok(());
        }
        let name = &self.context.transport.manifest().name;
        let text = format!("plugin '{name}' did not stop; restart the daemon");
        Err(RunError::new(RunErrorKind::Wedged, text))
    }

    /// Signed out, the run ends once no turn runs or waits: the supervisor knows when to try
    /// again. Until then it tries by itself, so that a long turn is not cut off.
    pub(super) fn leave_if_signed_out(&self) -> Result<(), RunError> {
        if self.link.is_signed_out && !self.machine.has_turns() && self.storing.is_idle() {
            return Err(self.reporter.signed_out());
        }
        Ok(())
    }
}

impl Link {
    pub(super) const fn new() -> Self {
        Self {
            session: None,
            connecting: None,
            waiting: None,
            number: 0,
            retry: Backoff::retry(),
            signed_out: Backoff::slow(),
            is_signed_out: false,
            closing: 0,
        }
    }

    pub(super) const fn is_closing(&self) -> bool {
        self.closing > 0
    }
}

fn not_connected() -> SendOutcome {
    SendOutcome::Retry { reason: "not connected".into(), after_ms: None, scope: Scope::Message }
}
