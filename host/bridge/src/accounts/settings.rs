//! How an account is set: the JSON of the settings file and changes to it.

use std::path::PathBuf;

use scv_protocol::{RemoteTools, Senders};
use serde::{Deserialize, Serialize};

/// The settings file. A missing one means all defaults; unknown fields are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Whether the account runs.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// Where its sessions work; none: the daemon's workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    /// Who may use tools through a chat.
    #[serde(default)]
    pub remote_tools: RemoteTools,
    /// Who is answered; written only when it is not the default, because older releases refuse
    /// unknown fields.
    #[serde(default, skip_serializing_if = "is_default")]
    pub senders: Senders,
}

const fn enabled() -> bool {
    true
}

fn is_default(senders: &Senders) -> bool {
    *senders == Senders::default()
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            workspace: None,
            remote_tools: RemoteTools::None,
            senders: Senders::Everyone,
        }
    }
}

/// A change to the settings; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsChange {
    /// Whether the account runs.
    pub enabled: Option<bool>,
    /// An existing folder, absolute.
    pub workspace: Option<PathBuf>,
    /// Who may use tools through a chat.
    pub remote_tools: Option<RemoteTools>,
    /// Who is answered.
    pub senders: Option<Senders>,
}

impl Settings {
    /// What logout writes before it removes anything.
    pub(crate) fn signed_out() -> Self {
        Self { enabled: false, ..Self::default() }
    }

    pub(crate) fn with(self, change: SettingsChange) -> Self {
        Self {
            enabled: change.enabled.unwrap_or(self.enabled),
            workspace: change.workspace.or(self.workspace),
            remote_tools: change.remote_tools.unwrap_or(self.remote_tools),
            senders: change.senders.unwrap_or(self.senders),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let parse = serde_json::from_str::<Settings>;
        assert_eq!(parse("{}").unwrap(), Settings::default());
        assert_eq!(parse(r#"{"enabled":false,"workspace":null}"#).unwrap(), Settings::signed_out());
        assert!(parse(r#"{"enabled":true,"surprise":1}"#).is_err());
        let granted = parse(r#"{"enabled":true,"workspace":"/w","remote_tools":"owner"}"#).unwrap();
        assert_eq!(granted.remote_tools, RemoteTools::Owner);
    }

    #[test]
    fn senders_are_written_only_when_set() {
        let text = |s: &Settings| serde_json::to_string(s).unwrap();
        assert!(!text(&Settings::default()).contains("senders"));
        let only = Settings { senders: Senders::Owner, ..Settings::default() };
        assert!(text(&only).contains(r#""senders":"owner""#));
        assert_eq!(serde_json::from_str::<Settings>(&text(&only)).unwrap(), only);
    }

    #[test]
    fn absent_parts_of_a_change_keep_what_is_saved() {
        let saved = Settings {
            workspace: Some("/w".into()),
            remote_tools: RemoteTools::Owner,
            ..Settings::default()
        };
        let off = SettingsChange { enabled: Some(false), ..SettingsChange::default() };
        let after = saved.clone().with(off);
        assert_eq!(after, Settings { enabled: false, ..saved });
    }
}
