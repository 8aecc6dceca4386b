//! What a run is given, and how it ends.

use std::{path::PathBuf, sync::Arc, time::Duration};

use scv_plugin_api::{host::ChannelTransport, wire::ChannelManifest};

use crate::{AccountName, Accounts, Clock, Desk, Dialer, Snapshot, Ticket};

/// Everything that one run of one account needs.
#[derive(Clone)]
pub struct AccountContext {
    /// The channel, from the plugin's manifest.
    pub channel: ChannelManifest,
    /// The account.
    pub account: AccountName,
    /// The plugin.
    pub transport: Arc<dyn ChannelTransport>,
    /// How conversations reach the agent.
    pub dialer: Arc<dyn Dialer>,
    /// The accounts of this home; one object in a process, so that two accounts of one bot
    /// are noticed.
    pub accounts: Arc<Accounts>,
    /// From [`Accounts::ticket`] when the account was started, and kept over all its runs: of
    /// two accounts of one bot, the one with the earlier ticket runs.
    pub ticket: Ticket,
    /// Takes requests for the account while a run is under way.
    pub desk: Arc<Desk>,
    /// Credentials and settings to run with.
    pub snapshot: Snapshot,
    /// Where sessions work: the account's workspace, or else the daemon's. Absolute.
    pub workspace: PathBuf,
    /// How long an owner's turn with tools may take; at least 30 minutes.
    pub owner_turn_limit: Duration,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

/// Why a run ended by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct RunError {
    /// What the supervisor does about it.
    pub kind: RunErrorKind,
    /// One sentence: what, and what to do where a person can do something. It may be shown
    /// anywhere.
    pub text: String,
}

/// What a supervisor does after a run that ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunErrorKind {
    /// Run it again after a backoff of 1 to 60 seconds.
    Retry,
    /// The credentials are no longer good: run it again after 30 seconds, doubling to ten
    /// minutes, and at once when the snapshot's revision changes or on reload.
    SignedOut,
    /// A person must act: run it again as after `SignedOut`, so that a repair is noticed.
    Failed,
    /// The plugin did not stop: all its accounts are failed until the daemon restarts.
    Wedged,
}

impl RunError {
    pub(crate) fn new(kind: RunErrorKind, text: impl ToString) -> Self {
        Self { kind, text: text.to_string() }
    }
}
