//! Where a plugin's code runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a plugin's code runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In this process: a crash of the plugin ends it.
    #[default]
    InProcess,
    /// In a child process of its own: a crash ends that plugin's accounts for a moment.
    Process,
}

impl Isolation {
    /// The word for files and scripts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in_process",
            Self::Process => "process",
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
