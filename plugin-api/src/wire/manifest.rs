//! What a plugin says about itself, readable from the file without running any of its code.

use serde::{Deserialize, Serialize};

/// The manifest of one plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always 1: marks the document.
    pub scv_plugin: u32,
    /// The ABI it was built for: `"1.0"`.
    pub abi: String,
    /// `[a-z][a-z0-9_-]{0,31}`, equal to the file name's `libscv_channel_<name>`.
    pub name: String,
    /// The plugin's own version.
    pub version: String,
    /// SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Where to read about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// Worker threads: 1 or 2.
    #[serde(default = "one_thread")]
    pub threads: u32,
    /// How it was built.
    #[serde(default)]
    pub built_with: BuiltWith,
    /// What it can do beyond 1.0; neither side uses what the other did not name.
    #[serde(default)]
    pub features: Vec<String>,
    /// Keys of `[plugins.NAME.settings]`.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// The channels it serves.
    pub channels: Vec<ChannelManifest>,
}

const fn one_thread() -> u32 {
    1
}

/// How a plugin was built; for people, never for decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltWith {
    /// Version of `scv-plugin-api`.
    #[serde(default)]
    pub plugin_api: String,
    /// Compiler.
    #[serde(default)]
    pub rustc: String,
    /// Target triple.
    #[serde(default)]
    pub target: String,
    /// `debug` or `release`.
    #[serde(default)]
    pub profile: String,
}

/// A key that a person may set for a plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The key.
    pub name: String,
    /// What it holds.
    pub kind: OptionKind,
    /// Its value when nothing is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// One sentence for people.
    #[serde(default)]
    pub help: String,
    /// Never shown once set.
    #[serde(default)]
    pub secret: bool,
}

/// One channel of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelManifest {
    /// The id: `wechat`. Names folders and commands.
    pub id: String,
    /// Other spellings that people may type.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The name that people read.
    pub title: String,
    /// What the host must keep to when it sends and waits.
    pub limits: MessageLimits,
    /// Whether `accepted` carries a receipt when the platform confirms.
    #[serde(default)]
    pub receipts: bool,
    /// Whether a message that answers nothing can be sent.
    #[serde(default)]
    pub unprompted: Unprompted,
    /// Whether it has group conversations.
    #[serde(default)]
    pub groups: bool,
    /// Whether the platform brings an unacknowledged batch again.
    #[serde(default)]
    pub replay: Replay,
    /// When a sign-in over existing credentials is allowed.
    #[serde(default)]
    pub relogin: Relogin,
    /// Options of `scv channels login`.
    #[serde(default)]
    pub login_options: Vec<LoginOption>,
    /// Where an older release kept this channel's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy: Option<Legacy>,
}

/// Numbers that belong to the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageLimits {
    /// The largest text of one message in bytes; the host splits to it.
    pub max_message_bytes: u32,
    /// Different messages that one reply handle can carry; null: any number.
    #[serde(default)]
    pub sends_per_reply: Option<u32>,
    /// The longest that `next_batch` waits, in milliseconds (at most 60,000).
    pub max_wait_ms: u32,
}

/// Where a message that answers nothing can go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unprompted {
    /// Nowhere.
    #[default]
    None,
    /// To a person.
    Direct,
    /// To a person or a group.
    Any,
    /// A value of a newer version: treated as [`Unprompted::None`].
    #[serde(other)]
    Unknown,
}

/// Whether an unacknowledged batch comes again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replay {
    /// The platform sends it again.
    Platform,
    /// It does not.
    #[default]
    None,
    /// A value of a newer version: treated as [`Replay::None`].
    #[serde(other)]
    Unknown,
}

/// What a second sign-in may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relogin {
    /// Allowed while the fingerprint stays equal.
    SameIdentity,
    /// Only after a logout; refused before a QR is drawn.
    #[default]
    LogoutFirst,
    /// A value of a newer version: treated as [`Relogin::LogoutFirst`].
    #[serde(other)]
    Unknown,
}

/// One option of the sign-in command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginOption {
    /// The flag without dashes: `login-url`.
    pub name: String,
    /// What it takes.
    pub kind: OptionKind,
    /// Its value when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// One sentence for people.
    #[serde(default)]
    pub help: String,
    /// Whether the sign-in cannot go without it.
    #[serde(default)]
    pub required: bool,
}

/// What an option or a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// A URL.
    Url,
    /// Any text.
    Text,
    /// Text that is read from a hidden prompt or stdin, never an argument.
    Secret,
    /// Present or not.
    Flag,
    /// A kind of a newer version: treated as [`OptionKind::Text`].
    #[serde(other)]
    Unknown,
}

/// Where an older release kept a channel's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Legacy {
    /// Folder under the home.
    pub home_dir: String,
    /// The earliest single credentials file under the home.
    pub single_file: String,
    /// The component id prefix that version 2 clients know.
    pub v2_prefix: String,
}
