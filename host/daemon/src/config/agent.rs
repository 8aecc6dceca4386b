//! From file values to the agent's configuration. Pure, but for the lookup of key variables.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use scv_agent::{
    Agent, AgentConfig, Secret,
    config::{
        ApprovalPolicy as AgentPolicy, ContextConfig, HistoryConfig, OmittedField, OpenAiConfig,
        ProviderConfig, ProviderKind, ToolsConfig, WireApi as AgentWireApi,
    },
};
use scv_protocol::limits::MAX_CONFIGURED_FRAME_BYTES;

use super::{
    ApprovalPolicy, ConfigError, Overrides,
    file::{self, ConfigFile, NamedProvider, Omit, ToolsTable, WireApi},
};
use crate::limits::MIN_CLIENT_FRAME_BYTES;

/// The provider that needs nothing.
const ECHO: &str = "echo";
/// The provider when none is configured but its key variable is set.
const DEFAULT_PROVIDER: &str = "openai";
/// Stays this program when its file is replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";
const DEFAULT_MODEL: &str = "gpt-4.1-mini";
/// Where a provider's key is looked for when nothing names another place.
pub(super) const DEFAULT_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// Settles which provider answers, and with what: after this no key waits for another.
pub(super) fn settle(
    file: &mut ConfigFile,
    overrides: &Overrides,
    env: impl Fn(&str) -> Option<String>,
) -> Result<(), ConfigError> {
    let has_default_key = env(DEFAULT_KEY_VARIABLE).is_some_and(|value| !value.is_empty());
    let active = active(file.provider.active.as_ref(), &file.providers, has_default_key)?;
    if !file.providers.contains_key(&active) {
        file.providers.insert(active.clone(), built_in(&active));
    }
    if let Some(chosen) = file.providers.get_mut(&active) {
        if let Some(model) = &overrides.model {
            chosen.model = Some(model.value.clone());
        }
        if let Some(url) = &overrides.base_url {
            chosen.base_url.clone_from(&url.value);
        }
    }
    for (name, provider) in &mut file.providers {
        settle_model(name, provider)?;
    }
    file.provider.active = Some(active);
    Ok(())
}

fn built_in(name: &str) -> NamedProvider {
    let kind = match name {
        ECHO => file::ProviderKind::Echo,
        _ => file::ProviderKind::OpenaiCompatible,
    };
    NamedProvider { kind, ..NamedProvider::default() }
}

fn settle_model(name: &str, provider: &mut NamedProvider) -> Result<(), ConfigError> {
    if provider.model.is_some() || provider.kind == file::ProviderKind::Echo {
        return Ok(());
    }
    // Another server would hardly know the default model.
    if provider.base_url != OpenAiConfig::default().base_url {
        return Err(wrong(format!(
            "providers.{name}.model is not set; name a model that the server of its base_url knows"
        )));
    }
    provider.model = Some(DEFAULT_MODEL.to_owned());
    Ok(())
}

/// The provider that answers: the one that was named, else the only sensible one.
fn active(
    named: Option<&String>,
    providers: &BTreeMap<String, NamedProvider>,
    has_default_key: bool,
) -> Result<String, ConfigError> {
    if let Some(name) = named {
        let known =
            providers.contains_key(name) || [ECHO, DEFAULT_PROVIDER].contains(&name.as_str());
        return known.then(|| name.clone()).ok_or_else(|| {
            wrong(format!(
                "there is no provider '{name}'; name one of {}, or add [providers.{name}] to config.toml",
                known_names(providers)
            ))
        });
    }
    match providers.keys().collect::<Vec<_>>().as_slice() {
        [] if has_default_key => Ok(DEFAULT_PROVIDER.to_owned()),
        [] => Ok(ECHO.to_owned()),
        [only] => Ok((*only).clone()),
        [..] => Err(wrong(
            "there are several [providers]; name the one that answers in provider.active",
        )),
    }
}

fn known_names(providers: &BTreeMap<String, NamedProvider>) -> String {
    let built_in = [ECHO, DEFAULT_PROVIDER];
    let names: BTreeSet<&str> = providers.keys().map(String::as_str).chain(built_in).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// The agent's configuration from settled values.
pub(super) fn config(
    file: &ConfigFile,
    env: impl Fn(&str) -> Option<String>,
) -> Result<AgentConfig, ConfigError> {
    let env = |name: &str| env(name).filter(|value| !value.is_empty());
    check_frames(file)?;
    let active = file.provider.active.clone().unwrap_or_else(|| ECHO.to_owned());
    if let Some(chosen) = file.providers.get(&active) {
        check_key_variable(&active, chosen, env)?;
    }
    let providers = file.providers.iter();
    let mut config = AgentConfig {
        providers: providers.map(|(name, made)| (name.clone(), provider(made, &env))).collect(),
        active,
        max_server_frame_bytes: file.protocol.max_server_frame_bytes,
        ..AgentConfig::default()
    };
    let variables = file.providers.values().map(|provider| provider.api_key_env.clone());
    config.tools.hidden_variables = variables.chain([DEFAULT_KEY_VARIABLE.to_owned()]).collect();
    let config = bounded(config, file)?;
    Agent::check(&config).map_err(|error| wrong(error.to_string()))?;
    Ok(config)
}

/// The configuration with these limits.
pub(super) fn bounded(base: AgentConfig, file: &ConfigFile) -> Result<AgentConfig, ConfigError> {
    Ok(AgentConfig {
        max_steps: file.agent.max_steps,
        context: ContextConfig {
            max_tokens: file.context.max_tokens,
            reserve_output_tokens: file.context.reserve_output_tokens,
            safety_margin_tokens: file.context.safety_margin_tokens,
            bytes_per_token: file.context.bytes_per_token,
        },
        history: HistoryConfig {
            max_bytes: file.session.max_history_bytes,
            max_messages: file.session.max_messages,
        },
        tools: ToolsConfig {
            hidden_variables: base.tools.hidden_variables.clone(),
            ..tools(&file.tools)?
        },
        ..base
    })
}

fn tools(table: &ToolsTable) -> Result<ToolsConfig, ConfigError> {
    let longest = table.max_timeout_seconds;
    for (key, seconds) in [
        ("tools.command_timeout_seconds", table.command_timeout_seconds),
        ("tools.agent_timeout_seconds", table.agent_timeout_seconds),
    ] {
        if seconds > longest {
            return Err(wrong(format!(
                "{key} is above tools.max_timeout_seconds; raise the second or lower the first"
            )));
        }
    }
    Ok(ToolsConfig {
        approval_policy: match table.approval_policy {
            ApprovalPolicy::OnRisk => AgentPolicy::OnRisk,
            ApprovalPolicy::Always => AgentPolicy::Always,
            ApprovalPolicy::Never => AgentPolicy::Never,
        },
        command_timeout: Duration::from_secs(table.command_timeout_seconds),
        max_timeout: Duration::from_secs(longest),
        output_limit_bytes: table.output_limit_bytes,
        max_read_bytes: table.max_read_bytes,
        max_write_bytes: table.max_write_bytes,
        hidden_variables: Vec::new(),
        keeper: Some(PathBuf::from(THIS_PROGRAM)),
    })
}

/// That a server's frame holds what must fit into it is for the agent to check.
fn check_frames(file: &ConfigFile) -> Result<(), ConfigError> {
    let protocol = &file.protocol;
    if protocol.max_client_frame_bytes < MIN_CLIENT_FRAME_BYTES {
        return Err(wrong(format!(
            "protocol.max_client_frame_bytes is below {MIN_CLIENT_FRAME_BYTES}; raise it"
        )));
    }
    for (key, bytes) in [
        ("protocol.max_client_frame_bytes", protocol.max_client_frame_bytes),
        ("protocol.max_server_frame_bytes", protocol.max_server_frame_bytes),
    ] {
        if bytes > MAX_CONFIGURED_FRAME_BYTES {
            return Err(wrong(format!("{key} is above {MAX_CONFIGURED_FRAME_BYTES}; lower it")));
        }
    }
    Ok(())
}

fn provider(provider: &NamedProvider, env: &impl Fn(&str) -> Option<String>) -> ProviderConfig {
    if provider.kind == file::ProviderKind::Echo {
        return ProviderConfig::echo();
    }
    let seconds = Duration::from_secs;
    let written = provider.api_key.as_ref().map(|key| key.expose().clone());
    let headers = provider.headers.iter();
    let server = OpenAiConfig {
        wire_api: match provider.wire_api {
            WireApi::Responses => AgentWireApi::Responses,
            WireApi::Chat => AgentWireApi::Chat,
        },
        base_url: provider.base_url.clone(),
        api_key: written.or_else(|| env(&provider.api_key_env)).map(Secret::new),
        headers: headers.map(|(name, value)| (name.clone(), Secret::new(value.expose()))).collect(),
        connect_timeout: seconds(provider.connect_timeout_seconds),
        first_event_timeout: seconds(provider.first_event_timeout_seconds),
        idle_timeout: seconds(provider.idle_timeout_seconds),
        timeout: seconds(provider.timeout_seconds),
        max_retries: provider.max_retries,
        strip_think: provider.strip_think,
        omit: provider.omit.iter().map(|field| omitted(*field)).collect(),
    };
    ProviderConfig {
        model: provider.model.clone().unwrap_or_default(),
        kind: ProviderKind::OpenAiCompatible(server),
    }
}

/// A server may need no key; but a variable that the provider which answers names must be there.
fn check_key_variable(
    name: &str,
    provider: &NamedProvider,
    env: impl Fn(&str) -> Option<String>,
) -> Result<(), ConfigError> {
    let variable = &provider.api_key_env;
    if variable == DEFAULT_KEY_VARIABLE || provider.api_key.is_some() || env(variable).is_some() {
        return Ok(());
    }
    Err(wrong(format!(
        "providers.{name}.api_key_env names the variable {variable}, which is not set; set it, or remove api_key_env"
    )))
}

const fn omitted(field: Omit) -> OmittedField {
    match field {
        Omit::StreamOptions => OmittedField::StreamOptions,
        Omit::MaxTokens => OmittedField::MaxTokens,
        Omit::Temperature => OmittedField::Temperature,
    }
}

fn wrong(problem: impl Into<String>) -> ConfigError {
    ConfigError::Value { problem: problem.into() }
}
