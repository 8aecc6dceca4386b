//! What an agent is told: plain values, already read and checked key by key by the caller.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use scv_http::Origin;
use scv_protocol::limits::MAX_SERVER_FRAME_BYTES;

/// A value that cannot be printed: `Debug` shows a mark.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself; keep it out of logs and errors.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Everything that an agent needs. The default answers with the `echo` provider.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// By name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// The one of `providers` that answers unless a session names another.
    pub active: String,
    /// What tools may do.
    pub tools: ToolsConfig,
    /// Requests to the model in one turn.
    pub max_steps: u32,
    /// What fits into one request.
    pub context: ContextConfig,
    /// What a session remembers.
    pub history: HistoryConfig,
    /// A frame to a client, in bytes without the newline.
    pub max_server_frame_bytes: usize,
}

impl AgentConfig {
    /// Every key of every provider.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let kinds = self.providers.values().map(|provider| &provider.kind);
        let servers = kinds.filter_map(|kind| match kind {
            ProviderKind::OpenAiCompatible(server) => Some(server),
            ProviderKind::Echo => None,
        });
        servers.flat_map(OpenAiConfig::secrets).cloned().collect()
    }
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            providers: BTreeMap::from([("echo".to_owned(), ProviderConfig::echo())]),
            active: "echo".to_owned(),
            tools: ToolsConfig::default(),
            max_steps: 128,
            context: ContextConfig::default(),
            history: HistoryConfig::default(),
            max_server_frame_bytes: MAX_SERVER_FRAME_BYTES,
        }
    }
}

/// A model and the server that it is reached at.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// The model's name, as the server knows it.
    pub model: String,
    /// How it is reached.
    pub kind: ProviderKind,
}

impl ProviderConfig {
    /// The provider that needs no network and no key.
    pub fn echo() -> Self {
        Self { model: "echo".to_owned(), kind: ProviderKind::Echo }
    }
}

/// How a model is reached.
#[derive(Debug, Clone)]
pub enum ProviderKind {
    /// Answers with the prompt itself.
    Echo,
    /// A server that speaks one of the two wire formats.
    OpenAiCompatible(OpenAiConfig),
}

/// A server that speaks one of the two wire formats.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// Which of the two.
    pub wire_api: WireApi,
    /// For example `https://api.openai.com/v1`.
    pub base_url: String,
    /// Sent as a bearer token.
    pub api_key: Option<Secret>,
    /// Sent with each request.
    pub headers: Vec<(String, Secret)>,
    /// To a connection.
    pub connect_timeout: Duration,
    /// From the request to the first event.
    pub first_event_timeout: Duration,
    /// From one event to the next; comments and pings are no events.
    pub idle_timeout: Duration,
    /// One whole request.
    pub timeout: Duration,
    /// At most 2.
    pub max_retries: u32,
    /// Removes a leading `<think>` block from answers.
    pub strip_think: bool,
    /// Fields that the server rejects.
    pub omit: Vec<OmittedField>,
}

impl OpenAiConfig {
    /// The key and the headers' values.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.api_key.iter().chain(self.headers.iter().map(|(_, value)| value))
    }
}

impl OpenAiConfig {
    /// Whether the key would cross the network unencrypted: over plain http to another machine.
    #[must_use]
    pub fn exposes_key(&self) -> bool {
        let is_open = |origin: Origin| !origin.is_https() && !origin.is_loopback();
        self.api_key.is_some() && Origin::parse(&self.base_url).is_ok_and(is_open)
    }
}

impl Default for OpenAiConfig {
    fn default() -> Self {
        Self {
            wire_api: WireApi::Responses,
            base_url: "https://api.openai.com/v1".to_owned(),
            api_key: None,
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            first_event_timeout: Duration::from_secs(300),
            idle_timeout: Duration::from_secs(120),
            timeout: Duration::from_secs(600),
            max_retries: 2,
            strip_think: true,
            omit: Vec::new(),
        }
    }
}

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireApi {
    /// `POST {base_url}/responses`.
    Responses,
    /// `POST {base_url}/chat/completions`.
    Chat,
}

/// A request field that some servers reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OmittedField {
    /// `stream_options`.
    StreamOptions,
    /// `max_tokens`; never sent.
    MaxTokens,
    /// `temperature`; never sent.
    Temperature,
}

/// What tools may do.
#[derive(Debug, Clone)]
pub struct ToolsConfig {
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// A command that names no timeout.
    pub command_timeout: Duration,
    /// The highest timeout that a call may name.
    pub max_timeout: Duration,
    /// The output of a command, a list or a search, in bytes.
    pub output_limit_bytes: usize,
    /// What one `read` gives, in bytes.
    pub max_read_bytes: usize,
    /// The largest file that `write` and `edit` make, in bytes.
    pub max_write_bytes: usize,
    /// Environment variables that no tool process sees, beside those whose name or value looks
    /// like a credential: the ones that provider keys are read from.
    pub hidden_variables: Vec<String>,
    /// On Linux: the program that runs commands, and ends them when this process was killed. One
    /// that calls [`run_keeper`](crate::run_keeper) before anything else; without it nobody does.
    pub keeper: Option<PathBuf>,
}

impl Default for ToolsConfig {
    fn default() -> Self {
        Self {
            approval_policy: ApprovalPolicy::OnRisk,
            command_timeout: Duration::from_secs(600),
            max_timeout: Duration::from_secs(14_400),
            output_limit_bytes: 65_536,
            max_read_bytes: 262_144,
            max_write_bytes: 1_048_576,
            hidden_variables: Vec::new(),
            keeper: None,
        }
    }
}

/// When a person is asked before a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalPolicy {
    /// For everything that does more than read the workspace.
    OnRisk,
    /// For every call.
    Always,
    /// Never.
    Never,
}

/// What fits into one request.
#[derive(Debug, Clone, Copy)]
pub struct ContextConfig {
    /// The model's context.
    pub max_tokens: u64,
    /// Kept free for the answer.
    pub reserve_output_tokens: u64,
    /// Kept free because the count is an estimate.
    pub safety_margin_tokens: u64,
    /// How many bytes count as one token.
    pub bytes_per_token: u64,
}

impl ContextConfig {
    /// What a request's messages may take, in bytes.
    pub(crate) fn budget_bytes(&self) -> u64 {
        self.max_tokens
            .saturating_sub(self.reserve_output_tokens)
            .saturating_sub(self.safety_margin_tokens)
            .saturating_mul(self.bytes_per_token)
    }
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            max_tokens: 128_000,
            reserve_output_tokens: 8_192,
            safety_margin_tokens: 2_048,
            bytes_per_token: 3,
        }
    }
}

/// What a session remembers.
#[derive(Debug, Clone, Copy)]
pub struct HistoryConfig {
    /// Text of all messages.
    pub max_bytes: usize,
    /// How many messages.
    pub max_messages: usize,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        Self { max_bytes: 16 * 1024 * 1024, max_messages: 10_000 }
    }
}
