//! What the model can do: a closed set of tools, planned by pure code, run by the shell.

mod bash;
mod definitions;
mod edit;
mod environment;
mod family;
mod ignored;
mod lines;
mod list;
mod listen;
mod output;
mod place;
mod progress;
mod read;
mod replace;
mod search;
mod secrecy;
mod walk;
mod write;

use std::{path::PathBuf, sync::Arc};

use cap_std::fs::Dir;
use scv_protocol::{Risk, ToolError};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{ApprovalPolicy, Secret, ToolsConfig},
    limits::{MAX_REFUSAL_BYTES, MAX_SUMMARY_CHARS_COUNT},
};

pub(crate) use definitions::{Definition, definitions};
#[cfg(target_os = "linux")]
pub use family::run_keeper;
use place::FileFault;

/// Which tools a session has, and when a person is asked. Pure.
#[derive(Debug, Clone)]
pub(crate) struct Toolbox {
    pub(crate) enabled: bool,
    pub(crate) config: ToolsConfig,
}

/// A call whose arguments are understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    Read(read::ReadCall),
    Write(write::WriteCall),
    Edit(edit::EditCall),
    List(list::ListCall),
    Search(search::SearchCall),
    Bash(bash::BashCall),
}

/// What a call will do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) call: Call,
    pub(crate) risk: Risk,
    /// One line for people.
    pub(crate) summary: String,
    /// Where it will run; the workspace when absent.
    pub(crate) cwd: Option<PathBuf>,
}

/// Why a call cannot run; the model reads it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) error: ToolError,
    pub(crate) message: String,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolOutcome {
    /// What the model reads; never empty, printable, within its limit.
    pub(crate) output: String,
    pub(crate) truncated: bool,
    /// None when the call did what was asked.
    pub(crate) error: Option<ToolError>,
}

/// What running tools share in one session.
#[derive(Debug)]
pub(crate) struct Workshop {
    /// The workspace; nothing is opened but through it.
    pub(crate) dir: Dir,
    /// The same folder by name, for processes.
    pub(crate) cwd: PathBuf,
    pub(crate) config: ToolsConfig,
    /// Values that no process may inherit.
    pub(crate) secrets: Vec<Secret>,
}

impl Toolbox {
    /// What is offered to the model.
    fn definitions(&self) -> &'static [Definition] {
        if self.enabled { definitions() } else { &[] }
    }

    /// What the offer takes in a request, in bytes.
    pub(crate) fn definitions_len_bytes(&self) -> usize {
        let texts = self
            .definitions()
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.get().len());
        texts.sum()
    }

    /// Understands a call, or says why it cannot run.
    pub(crate) fn plan(&self, name: &str, arguments: &Value) -> Result<Plan, Refusal> {
        if !self.enabled {
            let text = "tools are turned off in this conversation; answer without them";
            return Err(Refusal::new(ToolError::Unavailable, text));
        }
        match name {
            "read" => read::plan(arguments),
            "write" => write::plan(arguments, &self.config),
            "edit" => edit::plan(arguments),
            "list" => list::plan(arguments),
            "search" => search::plan(arguments),
            "bash" => bash::plan(arguments, &self.config),
            _ => Err(Refusal::new(
                ToolError::UnknownTool,
                "there is no such tool; use one of those that are offered",
            )),
        }
    }

    /// Whether a person must approve.
    pub(crate) fn needs_approval(&self, risk: Risk) -> bool {
        match self.config.approval_policy {
            ApprovalPolicy::Always => true,
            ApprovalPolicy::Never => false,
            ApprovalPolicy::OnRisk => risk != Risk::ReadOnly,
        }
    }
}

/// Where a running call tells what it does. It holds one text: while nobody takes that, the call
/// keeps what it has to tell.
pub(crate) type Reporter = mpsc::Sender<String>;

/// Runs a call to its end. A cancelled one still ends what it began, in bounded time; dropping
/// the future kills it.
pub(crate) async fn run(
    call: Call,
    workshop: Arc<Workshop>,
    reporter: Reporter,
    cancel: CancellationToken,
) -> ToolOutcome {
    match call {
        Call::Read(call) => read::run(call, workshop).await,
        Call::Write(call) => write::run(call, workshop).await,
        Call::Edit(call) => edit::run(call, workshop).await,
        Call::List(call) => list::run(call, workshop, cancel).await,
        Call::Search(call) => search::run(call, workshop, cancel).await,
        Call::Bash(call) => bash::run(&call, &workshop, reporter, &cancel).await,
    }
}

/// Does a file tool's work away from the runtime.
async fn blocking(
    work: impl FnOnce() -> Result<ToolOutcome, FileFault> + Send + 'static,
) -> ToolOutcome {
    match tokio::task::spawn_blocking(work).await.unwrap_or(Err(FileFault::Io)) {
        Ok(outcome) => outcome,
        Err(fault) => ToolOutcome::failed(ToolError::Failed, fault.to_string()),
    }
}

impl Refusal {
    /// The message may hold what a model wrote.
    fn new(error: ToolError, message: impl Into<String>) -> Self {
        let message = output::printable(message.into().as_bytes());
        Self { error, message: output::cut_end(message, MAX_REFUSAL_BYTES).0 }
    }

    fn arguments(message: impl Into<String>) -> Self {
        Self::new(ToolError::InvalidArguments, message)
    }
}

impl From<Refusal> for ToolOutcome {
    fn from(refusal: Refusal) -> Self {
        Self { output: refusal.message, truncated: false, error: Some(refusal.error) }
    }
}

impl ToolOutcome {
    fn done(output: impl Into<String>) -> Self {
        Self { output: output.into(), truncated: false, error: None }
    }

    pub(crate) fn failed(error: ToolError, output: impl Into<String>) -> Self {
        Self { output: output.into(), truncated: false, error: Some(error) }
    }

    pub(crate) fn denied() -> Self {
        Self::failed(ToolError::Denied, "the person in charge denied this call; it did not run")
    }

    pub(crate) fn cancelled() -> Self {
        Self::failed(ToolError::Cancelled, "the turn was cancelled; this call did not run")
    }
}

/// Understands arguments as a shape.
fn parse<T: serde::de::DeserializeOwned>(arguments: &Value) -> Result<T, Refusal> {
    T::deserialize(arguments)
        .map_err(|error| Refusal::arguments(format!("the arguments are wrong: {error}")))
}

/// One bounded line for people, of text that a model wrote.
fn summary(verb: &str, text: &str) -> String {
    let mut chars = text.chars().map(output::visible);
    let mut line: String = chars.by_ref().take(MAX_SUMMARY_CHARS_COUNT).collect();
    if chars.next().is_some() {
        line.push('…');
    }
    format!("{verb}: {line}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn toolbox(policy: ApprovalPolicy) -> Toolbox {
        let config = ToolsConfig { approval_policy: policy, ..ToolsConfig::default() };
        Toolbox { enabled: true, config }
    }

    #[test]
    fn without_tools_none_is_offered_and_none_runs() {
        let toolbox = Toolbox { enabled: false, config: ToolsConfig::default() };
        assert!(toolbox.definitions().is_empty());
        let refusal = toolbox.plan("read", &json!({"path": "a"})).expect_err("off");
        assert_eq!(refusal.error, ToolError::Unavailable);
    }

    #[test]
    fn every_offered_tool_is_understood() {
        let toolbox = toolbox(ApprovalPolicy::OnRisk);
        for definition in toolbox.definitions() {
            let error = toolbox.plan(definition.name, &json!({"x": 1})).expect_err("wrong shape");
            assert_eq!(error.error, ToolError::InvalidArguments, "{}", definition.name);
        }
        let error = toolbox.plan("fly", &json!({})).expect_err("unknown");
        assert_eq!(error.error, ToolError::UnknownTool);
    }

    #[test]
    fn the_policy_decides_who_is_asked() {
        for (policy, reading, running) in [
            (ApprovalPolicy::OnRisk, false, true),
            (ApprovalPolicy::Always, true, true),
            (ApprovalPolicy::Never, false, false),
        ] {
            let toolbox = toolbox(policy);
            assert_eq!(toolbox.needs_approval(Risk::ReadOnly), reading);
            assert_eq!(toolbox.needs_approval(Risk::Process), running);
        }
    }

    #[test]
    fn summaries_are_one_bounded_line() {
        assert_eq!(summary("Run", "a\nb\u{202e}c"), "Run: a\u{fffd}b\u{fffd}c");
        let long = summary("Run", &"x".repeat(1000));
        assert_eq!(long.chars().count(), MAX_SUMMARY_CHARS_COUNT + "Run: …".chars().count());
    }
}
