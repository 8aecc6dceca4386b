//! What is known about each plugin file, and why one was refused.

use std::{fmt, path::PathBuf};

use scv_plugin_api::wire::Manifest;
use serde::{Deserialize, Serialize};

use crate::Isolation;

/// One plugin file, as `scv plugins list` shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginReport {
    /// From the file name; the whole file name when that has another form.
    pub name: String,
    /// For people: the titles of its channels.
    pub title: String,
    /// The plugin's version; empty while unknown.
    pub version: String,
    /// The ABI it was built for; empty while unknown.
    pub abi: String,
    /// The SDK it was built with; empty while unknown.
    pub plugin_api: String,
    /// Ids and aliases of its channels.
    pub channels: Vec<String>,
    /// Read from the file without running it, where that was possible; so it is known of most
    /// plugins that are refused.
    pub manifest: Option<Manifest>,
    /// Where it is.
    pub file: PathBuf,
    /// Of the file's bytes, in hex; empty when it was not read.
    pub sha256: String,
    /// Where its code runs, or would.
    pub isolation: Isolation,
    /// How it is.
    pub state: PluginState,
    /// Where and why it was refused.
    pub refusal: Option<Refusal>,
}

/// How a plugin is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PluginState {
    /// Serving.
    Loaded,
    /// Would load.
    #[default]
    Ready,
    /// The file on disk is another one than what serves.
    Stale,
    /// Switched off.
    Disabled,
    /// In the home's folder of plugins, and nobody has added it.
    Unpinned,
    /// It brought a daemon down while it was loaded.
    Quarantined,
    /// Another plugin claims its name or its channel.
    Conflict,
    /// It did not come back from a call; only a restart helps.
    Wedged,
    /// A step refused it.
    Refused,
}

/// Why a plugin does not serve. Texts may name the file: they are for the local person only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {reason}; {fix}")]
pub struct Refusal {
    /// The step that said no.
    pub step: Step,
    /// What is wrong; with `; ` and the fix behind it, it is a whole sentence.
    pub reason: String,
    /// What to do.
    pub fix: String,
    transient: bool,
}

impl Refusal {
    /// A refusal that stays until somebody does something.
    pub fn new(step: Step, reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { step, reason: reason.into(), fix: fix.into(), transient: false }
    }

    pub(crate) fn transient(self) -> Self {
        Self { transient: true, ..self }
    }

    /// Whether the system said no, or the file was just being written: the next
    /// [`PluginHost::load_all`](crate::PluginHost::load_all) may succeed though nobody changed
    /// anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        self.transient
    }
}

/// The loader's steps, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Its place in the search path, and its file name.
    Find,
    /// Owners and modes of the file and every folder above it.
    Trust,
    /// Reading it, bounded.
    Read,
    /// Its headers and its manifest, without running it.
    Inspect,
    /// Whether a person has added exactly these bytes, switched them off, or they brought a
    /// daemon down.
    Pin,
    /// Whether another plugin has its name or its channel already.
    Conflict,
    /// The private copy.
    Copy,
    /// Loading the copy in a child first.
    Probe,
    /// Loading the copy where it serves.
    Load,
    /// Its `create`.
    Create,
    /// Later: its file changed, or it did not come back from a call.
    Serve,
}

impl Step {
    /// The word for scripts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Find => "find",
            Self::Trust => "trust",
            Self::Read => "read",
            Self::Inspect => "inspect",
            Self::Pin => "pin",
            Self::Conflict => "conflict",
            Self::Copy => "copy",
            Self::Probe => "probe",
            Self::Load => "load",
            Self::Create => "create",
            Self::Serve => "serve",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
