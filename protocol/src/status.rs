//! The daemon's health.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::RemoteTools;

/// Answers every `daemon.control`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DaemonStatus {
    /// The responding server's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Every account, and what stands in the way of a channel.
    pub components: Vec<Component>,
    /// Answers the action `plugins` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Vec<PluginInfo>>,
    /// Answers the action `channel_held` only: oldest first within a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Vec<HeldReply>>,
    /// Answers the action `logs` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<LogPage>,
}

/// Some of the log lines that the daemon keeps in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogPage {
    /// The oldest first.
    pub lines: Vec<LogLine>,
    /// What to name as `after` to go on behind them.
    pub next: u64,
    /// Lines after the named one that are not kept any more.
    pub missed: u64,
}

/// One line of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogLine {
    /// From 1, in the order of writing.
    pub number: u64,
    /// When it was written.
    pub unix_ms: u64,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// The part of the program that wrote it.
    pub target: String,
    /// The plugin that wrote it, or that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// One line.
    pub text: String,
}

/// A refused reply that is kept for the next answer in its conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldReply {
    /// Names it in `drop`.
    pub id: String,
    /// Who reads it, as the platform names them.
    pub user_id: String,
    /// The group that it goes to; none: a direct chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// When it was refused.
    pub held_at_unix_seconds: u64,
    /// The text's size.
    pub bytes: u64,
    /// The text, when it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// One supervised account, or a fault of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Component {
    /// `<channel>:<account>`; version 2 clients see `clawbot:<account>` for WeChat.
    pub id: String,
    /// The channel.
    #[serde(default)]
    pub channel: String,
    /// The account.
    pub account: String,
    /// The bot, as the platform names it.
    pub bot_id: Option<String>,
    /// The owner, as the platform names it.
    pub user_id: Option<String>,
    /// Whether it is meant to run.
    pub enabled: bool,
    /// How it is.
    pub state: ComponentState,
    /// The last contact that the platform authenticated.
    pub last_success_unix_seconds: Option<u64>,
    /// Sanitized.
    pub error: Option<String>,
    /// Since the daemon started.
    pub restarts: u64,
    /// What is in effect; `owner` only with a known owner.
    #[serde(default)]
    pub remote_tools: RemoteTools,
    /// The plugin that serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// That plugin's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_version: Option<String>,
    /// `in_process` or `process`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// The person must sign in again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_out: Option<bool>,
    /// When the state began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_unix_seconds: Option<u64>,
    /// The last message that came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_in_unix_seconds: Option<u64>,
    /// The last message that the platform accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_out_unix_seconds: Option<u64>,
    /// Conversations with a turn that runs, or whose answer is not durable yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<u64>,
    /// Messages that wait for their turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// Replies not yet accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<u64>,
    /// Replies that were refused and are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// Accepted without a receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<u64>,
    /// The platform's last refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_refusal: Option<Refusal>,
    /// What to do about the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A refusal by the platform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// The platform's code.
    pub code: String,
    /// What it means.
    pub text: String,
}

/// How a component is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComponentState {
    /// Not meant to run.
    Disabled,
    /// Started, no contact yet.
    Starting,
    /// In contact.
    Connected,
    /// Lost contact, trying.
    Disconnected,
    /// Ended with an error, starts again soon.
    Backoff,
    /// Being stopped.
    Stopping,
    /// Not running.
    #[default]
    Stopped,
    /// Cannot run until a person acts.
    Failed,
    /// A state of a newer server.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

/// One plugin file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PluginInfo {
    /// From the file name.
    pub name: String,
    /// For people.
    pub title: String,
    /// The plugin's version.
    pub version: String,
    /// The ABI it was built for.
    pub abi: String,
    /// The SDK it was built with.
    pub plugin_api: String,
    /// Ids and aliases.
    pub channels: Vec<String>,
    /// Where it is.
    pub file: PathBuf,
    /// Of the file's bytes.
    pub sha256: String,
    /// `in_process` or `process`.
    pub isolation: String,
    /// How it is.
    pub state: PluginState,
    /// The loader's step that refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// One sentence what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// One sentence what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// How a plugin is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PluginState {
    /// Serving.
    Loaded,
    /// Would load; nothing is running.
    #[default]
    Ready,
    /// The file on disk is newer than what serves.
    Stale,
    /// Switched off.
    Disabled,
    /// In the home's plugin folder without a pin.
    Unpinned,
    /// Another plugin claims its channel.
    Conflict,
    /// It brought the daemon down while loading.
    Quarantined,
    /// It did not stop.
    Wedged,
    /// The loader refused it.
    Refused,
    /// A state of a newer server.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

impl fmt::Display for ComponentState {
    /// The word on the wire.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for PluginState {
    /// The word on the wire.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_shown_as_they_are_written() {
        assert_eq!(format!("{:>9}", ComponentState::Backoff), "  backoff");
        assert_eq!(PluginState::Unpinned.to_string(), "unpinned");
        assert_eq!(RemoteTools::Owner.to_string(), "owner");
    }
}
