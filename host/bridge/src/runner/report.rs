//! What a run tells: health, log lines, and the errors it ends with.

use std::sync::Arc;

use scv_plugin_api::wire::{Fault, FaultKind, Identity};
use scv_protocol::{ComponentState, Refusal, RemoteTools};

use super::{RunError, RunErrorKind};
use crate::{
    AccountArgs, AccountName, AccountsError, Clock, Health,
    limits::UNCONFIRMED_ROW_COUNT,
    machine::{Machine, Note},
    store::{Applied, State, StoreError},
};

const UNCONFIRMED: &str =
    "the platform takes replies without confirming them; look into the chat whether they arrive";

/// Writes one account's health.
pub(super) struct Reporter {
    health: Arc<Health>,
    clock: Arc<dyn Clock>,
    account: AccountArgs,
    gives_receipts: bool,
    unconfirmed_in_a_row: u64,
    /// Why the last commit failed: while it does, whatever waits makes no progress.
    not_stored: Option<String>,
    /// Why there is no contact.
    no_contact: Option<String>,
    signed_out_by_send: bool,
}

impl Reporter {
    pub(super) fn new(
        health: Arc<Health>,
        clock: Arc<dyn Clock>,
        account: AccountArgs,
        gives_receipts: bool,
    ) -> Self {
        Self {
            health,
            clock,
            account,
            gives_receipts,
            unconfirmed_in_a_row: 0,
            not_stored: None,
            no_contact: None,
            signed_out_by_send: false,
        }
    }

    pub(super) fn starting(&self) {
        self.health.enter(ComponentState::Starting, self.now());
        self.health.update(|report| {
            report.error = None;
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

    /// What the store remembers of the time before this process.
    pub(super) fn remembers(&self, state: &State) {
        let last_in = state.last_key_ms().map(|ms| ms / 1_000);
        self.health.update(|report| {
            report.last_in_unix_seconds = report.last_in_unix_seconds.max(last_in);
        });
    }

    /// The session returned a batch: the platform has answered with these credentials.
    pub(super) fn contact(&mut self) {
        let now = self.now();
        self.health.enter(ComponentState::Connected, now);
        self.health.update(|report| {
            report.last_success_unix_seconds = Some(now);
            report.signed_out = false;
        });
        self.no_contact = None;
        self.show_error();
    }

    pub(super) fn lost(&mut self, fault: &Fault) {
        let is_signed_out = fault.kind == FaultKind::Auth;
        tracing::warn!(channel = %self.account.channel, account = %self.account.account, kind = ?fault.kind, error = %fault, "lost contact");
        let state = match is_signed_out {
            true => ComponentState::Failed,
            false => ComponentState::Disconnected,
        };
        self.health.enter(state, self.now());
        self.health.update(|report| report.signed_out = is_signed_out);
        self.no_contact = Some(match is_signed_out {
            true => self.signed_out().text,
            false => fault.message.clone(),
        });
        self.show_error();
    }

    /// A fault with a code of the platform is a refusal, whatever becomes of the session.
    pub(super) fn refused_with(&self, fault: &Fault) {
        if let Some(code) = fault.code.clone() {
            let refusal = Refusal { code, text: fault.message.clone() };
            self.health.update(|report| report.last_refusal = Some(refusal));
        }
    }

    /// What a person should look into first.
    fn show_error(&self) {
        let unconfirmed = self.is_often_unconfirmed().then(|| UNCONFIRMED.to_owned());
        let error = self.not_stored.clone().or_else(|| self.no_contact.clone()).or(unconfirmed);
        self.health.update(|report| report.error = error);
    }

    pub(super) fn note(&mut self, note: Note) {
        let now = self.now();
        match note {
            Note::Received => self.health.update(|r| r.last_in_unix_seconds = Some(now)),
            Note::Accepted { receipt } => self.accepted(now, receipt),
            Note::Refused { code, message, signed_out } => {
                tracing::warn!(channel = %self.account.channel, account = %self.account.account, code, "the platform refused a message");
                self.signed_out_by_send |= signed_out;
                let text = message.unwrap_or_default();
                let refusal = Refusal { code, text };
                self.health.update(|r| r.last_refusal = Some(refusal));
            }
            Note::Retrying { reason } => {
                tracing::info!(channel = %self.account.channel, account = %self.account.account, reason, "a send is tried again later");
            }
        }
    }

    fn accepted(&mut self, now: u64, receipt: bool) {
        let is_unconfirmed = self.gives_receipts && !receipt;
        self.unconfirmed_in_a_row = if is_unconfirmed { self.unconfirmed_in_a_row + 1 } else { 0 };
        self.health.update(|report| {
            report.last_out_unix_seconds = Some(now);
            report.unconfirmed += u64::from(is_unconfirmed);
        });
        self.show_error();
    }

    const fn is_often_unconfirmed(&self) -> bool {
        self.unconfirmed_in_a_row >= UNCONFIRMED_ROW_COUNT
    }

    pub(super) fn not_stored(&mut self, error: &StoreError) {
        tracing::error!(channel = %self.account.channel, account = %self.account.account, %error, "a change could not be stored");
        self.not_stored = Some(error.to_string());
        self.show_error();
    }

    pub(super) fn is_stored(&mut self) {
        self.not_stored = None;
        self.show_error();
    }

    pub(super) fn counts(&self, machine: &Machine, state: &State) {
        self.health.update(|report| {
            report.running = machine.running() as u64;
            report.waiting = machine.waiting() as u64;
            report.pending = state.pending().len() as u64;
            report.held = state.held().len() as u64;
        });
    }

    /// The account waits for another one that is the same bot.
    pub(super) fn same_bot(&self, other: &AccountName) {
        let text = format!(
            "this is the same bot as account {other}; stop or log out one of the two accounts"
        );
        tracing::warn!(
            channel = %self.account.channel,
            account = %self.account.account,
            "{text}"
        );
        self.health.enter(ComponentState::Failed, self.now());
        self.health.update(|report| report.error = Some(text));
    }

    pub(super) fn signed_out(&self) -> RunError {
        let text = format!("signed out; run `scv channels login {}`", self.account);
        RunError::new(RunErrorKind::SignedOut, text)
    }

    /// Whether a send has found the credentials refused since the last call.
    pub(super) const fn take_signed_out(&mut self) -> bool {
        std::mem::replace(&mut self.signed_out_by_send, false)
    }

    fn now(&self) -> u64 {
        self.clock.unix_ms() / 1_000
    }
}

/// A fault that a person must deal with.
pub(super) fn refused(fault: &Fault) -> RunError {
    RunError::new(RunErrorKind::Failed, &fault.message)
}

/// Whether and when a store that failed is worth another run.
pub(super) fn store_failed(error: &StoreError) -> RunError {
    let kind = match error {
        StoreError::Damaged { .. }
        | StoreError::NotOurs(_)
        | StoreError::OtherIdentity
        | StoreError::Gone => RunErrorKind::Failed,
        StoreError::Busy | StoreError::Full | StoreError::Io { .. } => RunErrorKind::Retry,
    };
    RunError::new(kind, error)
}

/// Whether and when an account whose lock was not to be had is worth another run.
pub(super) fn not_locked(error: &AccountsError) -> RunError {
    let kind = match error {
        AccountsError::NotOurs { .. } => RunErrorKind::Failed,
        _ => RunErrorKind::Retry,
    };
    RunError::new(kind, error)
}

pub(super) fn inconsistent() -> RunError {
    let text = "the bridge of this account failed inside and starts again; the log says where";
    RunError::new(RunErrorKind::Retry, text)
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
