//! What a run tells: health, log lines, and the errors it ends with.

use std::sync::Arc;

use scv_plugin_api::wire::{ChannelManifest, Fault, FaultKind, Identity};
use scv_protocol::{ComponentState, Refusal, RemoteTools};

use super::{RunError, RunErrorKind};
use crate::{
    Clock, Health,
    limits::UNCONFIRMED_ROW_COUNT,
    machine::{Machine, Note},
    store::{Applied, State, StoreError},
};

/// Writes one account's health.
pub(super) struct Reporter {
    health: Arc<Health>,
    clock: Arc<dyn Clock>,
    channel: String,
    gives_receipts: bool,
    unconfirmed_in_a_row: u64,
    store_failed: bool,
    signed_out_by_send: bool,
}

impl Reporter {
    pub(super) fn new(
        health: Arc<Health>,
        clock: Arc<dyn Clock>,
        channel: &ChannelManifest,
    ) -> Self {
        Self {
            health,
            clock,
            channel: channel.id.clone(),
            gives_receipts: channel.receipts,
            unconfirmed_in_a_row: 0,
            store_failed: false,
            signed_out_by_send: false,
        }
    }

    pub(super) fn starting(&self) {
        self.health.enter(ComponentState::Starting, self.now());
        self.health.update(|report| {
            report.error = None;
            report.hint = None;
            report.signed_out = false;
        });
    }

    pub(super) fn identity(&self, identity: &Identity, tools: RemoteTools) {
        self.health.update(|report| {
            report.bot_id.clone_from(&identity.bot_id);
            report.user_id.clone_from(&identity.owner_id);
            report.remote_tools = tools;
        });
    }

    /// The session returned a batch: the platform has answered with these credentials.
    pub(super) fn contact(&self) {
        let now = self.now();
        self.health.enter(ComponentState::Connected, now);
        let keeps_error = self.store_failed || self.is_often_unconfirmed();
        self.health.update(|report| {
            report.last_success_unix_seconds = Some(now);
            report.signed_out = false;
            if !keeps_error {
                report.error = None;
                report.hint = None;
            }
        });
    }

    pub(super) fn lost(&self, fault: &Fault) {
        let is_signed_out = fault.kind == FaultKind::Auth;
        tracing::warn!(channel = self.channel, kind = ?fault.kind, error = %fault, "lost contact");
        let state = match is_signed_out {
            true => ComponentState::Failed,
            false => ComponentState::Disconnected,
        };
        self.health.enter(state, self.now());
        self.health.update(|report| {
            report.signed_out = is_signed_out;
            report.error = Some(match is_signed_out {
                true => "signed out".to_owned(),
                false => fault.message.clone(),
            });
            report.hint = is_signed_out.then(|| sign_in_hint(&self.channel));
        });
    }

    pub(super) fn note(&mut self, note: Note) {
        let now = self.now();
        match note {
            Note::Received => self.health.update(|r| r.last_in_unix_seconds = Some(now)),
            Note::Accepted { receipt } => self.accepted(now, receipt),
            Note::Refused { code, message, signed_out } => {
                tracing::warn!(channel = self.channel, code, "the platform refused a message");
                self.signed_out_by_send |= signed_out;
                let text = message.unwrap_or_default();
                let refusal = Refusal { code, text };
                self.health.update(|r| r.last_refusal = Some(refusal));
            }
            Note::Retrying { reason } => {
                tracing::info!(channel = self.channel, reason, "a send is tried again later");
            }
        }
    }

    fn accepted(&mut self, now: u64, receipt: bool) {
        let is_unconfirmed = self.gives_receipts && !receipt;
        self.unconfirmed_in_a_row = if is_unconfirmed { self.unconfirmed_in_a_row + 1 } else { 0 };
        let tells = self.is_often_unconfirmed();
        self.health.update(|report| {
            report.last_out_unix_seconds = Some(now);
            report.unconfirmed += u64::from(is_unconfirmed);
            if tells {
                report.error = Some("the platform takes replies without confirming them".into());
                report.hint = Some("look into the chat whether they arrive".into());
            }
        });
    }

    const fn is_often_unconfirmed(&self) -> bool {
        self.unconfirmed_in_a_row >= UNCONFIRMED_ROW_COUNT
    }

    pub(super) fn not_stored(&mut self, error: &StoreError) {
        tracing::error!(channel = self.channel, %error, "a change could not be stored");
        self.store_failed = true;
        self.health.update(|report| {
            report.error = Some(error.to_string());
            report.hint = Some("it goes on by itself once the disk can be written".into());
        });
    }

    pub(super) fn is_stored(&mut self) {
        if std::mem::take(&mut self.store_failed) {
            self.health.update(|report| {
                report.error = None;
                report.hint = None;
            });
        }
    }

    pub(super) fn counts(&self, machine: &Machine, state: &State) {
        self.health.update(|report| {
            report.running = machine.running() as u64;
            report.waiting = machine.waiting() as u64;
            report.pending = state.pending().len() as u64;
            report.held = state.held().len() as u64;
        });
    }

    /// Whether a send has found the credentials refused since the last call.
    pub(super) const fn take_signed_out(&mut self) -> bool {
        std::mem::replace(&mut self.signed_out_by_send, false)
    }

    fn now(&self) -> u64 {
        self.clock.unix_ms() / 1_000
    }
}

pub(super) fn signed_out(channel: &ChannelManifest) -> RunError {
    RunError::new(RunErrorKind::SignedOut, "signed out", &sign_in_hint(&channel.id))
}

fn sign_in_hint(channel: &str) -> String {
    format!("run `scv channels login {channel}`")
}

/// A fault that a person must deal with.
pub(super) fn refused(fault: &Fault) -> RunError {
    RunError::new(RunErrorKind::Failed, fault.message.clone(), "")
}

pub(super) fn not_opened(error: &StoreError) -> RunError {
    match error {
        StoreError::Damaged { .. } => RunError::new(
            RunErrorKind::Failed,
            error.to_string(),
            "restore the file from a backup, or log out and sign in again to start afresh",
        ),
        StoreError::OtherIdentity => RunError::new(
            RunErrorKind::Failed,
            error.to_string(),
            "sign in as the earlier bot and owner, or log out first to start afresh",
        ),
        _ => RunError::new(RunErrorKind::Retry, error.to_string(), "check the disk under SCV_HOME"),
    }
}

/// Whether a failed commit can never succeed in this run.
pub(super) fn is_final(error: &StoreError) -> Option<RunError> {
    match error {
        StoreError::Gone => Some(RunError::new(
            RunErrorKind::Failed,
            error.to_string(),
            "put the files back, or log out and sign in again to start afresh; then run `scv reload`",
        )),
        _ => None,
    }
}

pub(super) fn inconsistent() -> RunError {
    RunError::new(
        RunErrorKind::Retry,
        "the bridge of this account failed inside; the log says where",
        "",
    )
}

/// Says how much had to go, never what it said.
pub(super) fn log_dropped(applied: Applied) {
    if applied.held_dropped > 0 {
        tracing::warn!(count = applied.held_dropped, "held replies were given up");
    }
    if applied.keys_dropped > 0 {
        tracing::warn!(count = applied.keys_dropped, "de-duplication keys were dropped early");
    }
}
