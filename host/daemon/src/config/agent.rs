//! From file values to the agent's configuration. Pure, but for the lookup of key variables.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use scv_agent::{
    AgentConfig, Secret,
    config::{
        ApprovalPolicy as AgentPolicy, OmittedField, OpenAiConfig, ProviderConfig, ProviderKind,
        ToolsConfig, WireApi as AgentWireApi,
    },
};

use super::{
    ApprovalPolicy, ConfigError, Overrides,
    file::{self, ConfigFile, NamedProvider, Omit, ToolsTable, WireApi},
};

/// The provider that needs nothing.
const ECHO: &str = "echo";
/// The provider when none is configured but its key variable is set.
const DEFAULT_PROVIDER: &str = "openai";
const DEFAULT_KEY_VARIABLE: &str = "OPENAI_API_KEY";
const DEFAULT_MODEL: &str = "gpt-4.1-mini";

pub(super) fn config(
    file: ConfigFile,
    overrides: &Overrides,
    env: impl Fn(&str) -> Option<String>,
) -> Result<AgentConfig, ConfigError> {
    let env = |name: &str| env(name).filter(|value| !value.is_empty());
    let mut config = AgentConfig { tools: tools(&file, overrides)?, ..AgentConfig::default() };
    if let Some(steps) = file.agent.max_steps {
        config.max_steps = positive("agent.max_steps", steps)?;
    }
    let mut named = file.providers;
    config.active = active(
        overrides.provider.as_ref().or(file.provider.active.as_ref()),
        &named,
        env(DEFAULT_KEY_VARIABLE).is_some(),
    )?;
    if config.active == DEFAULT_PROVIDER {
        named.entry(DEFAULT_PROVIDER.to_owned()).or_default();
    }
    if let Some(chosen) = named.get_mut(&config.active) {
        chosen.model = overrides.model.clone().or(chosen.model.take());
        chosen.base_url = overrides.base_url.clone().or(chosen.base_url.take());
    }
    if let Some(chosen) = named.get(&config.active) {
        check_key_variable(&config.active, chosen, env)?;
    }
    for (name, provider) in named {
        let made = one_provider(&name, &provider, &env)?;
        config.providers.insert(name, made);
    }
    Ok(config)
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

fn one_provider(
    name: &str,
    provider: &NamedProvider,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<ProviderConfig, ConfigError> {
    if provider.kind == file::ProviderKind::Echo {
        return Ok(ProviderConfig::echo());
    }
    let server = server(name, provider, env)?;
    let model = match &provider.model {
        Some(model) => model.clone(),
        None if server.base_url == OpenAiConfig::default().base_url => DEFAULT_MODEL.to_owned(),
        // Another server would hardly know the default model.
        None => {
            return Err(wrong(format!(
                "providers.{name}.model is not set; name a model that the server of its base_url knows"
            )));
        }
    };
    Ok(ProviderConfig { model, kind: ProviderKind::OpenAiCompatible(server) })
}

fn server(
    name: &str,
    provider: &NamedProvider,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<OpenAiConfig, ConfigError> {
    let default = OpenAiConfig::default();
    let key = |key: &str| format!("providers.{name}.{key}");
    let seconds = |at: &str, value: Option<u64>, or: Duration| match value {
        Some(value) => Ok(Duration::from_secs(positive(&key(at), value)?)),
        None => Ok(or),
    };
    let written = provider.api_key.as_ref().map(|key| key.expose().clone());
    let headers = provider.headers.iter();
    Ok(OpenAiConfig {
        wire_api: match provider.wire_api {
            WireApi::Responses => AgentWireApi::Responses,
            WireApi::Chat => AgentWireApi::Chat,
        },
        base_url: provider.base_url.clone().unwrap_or(default.base_url),
        api_key: written.or_else(|| env(key_variable(provider))).map(Secret::new),
        headers: headers.map(|(name, value)| (name.clone(), Secret::new(value.expose()))).collect(),
        connect_timeout: seconds(
            "connect_timeout_seconds",
            provider.connect_timeout_seconds,
            default.connect_timeout,
        )?,
        first_event_timeout: seconds(
            "first_event_timeout_seconds",
            provider.first_event_timeout_seconds,
            default.first_event_timeout,
        )?,
        idle_timeout: seconds(
            "idle_timeout_seconds",
            provider.idle_timeout_seconds,
            default.idle_timeout,
        )?,
        timeout: seconds("timeout_seconds", provider.timeout_seconds, default.timeout)?,
        max_retries: provider.max_retries.unwrap_or(default.max_retries),
        strip_think: provider.strip_think.unwrap_or(default.strip_think),
        omit: provider.omit.iter().map(|field| omitted(*field)).collect(),
    })
}

fn key_variable(provider: &NamedProvider) -> &str {
    provider.api_key_env.as_deref().unwrap_or(DEFAULT_KEY_VARIABLE)
}

/// A server may need no key; but a variable that the provider which answers names must be there.
fn check_key_variable(
    name: &str,
    provider: &NamedProvider,
    env: impl Fn(&str) -> Option<String>,
) -> Result<(), ConfigError> {
    let variable = key_variable(provider);
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

fn tools(file: &ConfigFile, overrides: &Overrides) -> Result<ToolsConfig, ConfigError> {
    let mut tools = ToolsConfig::default();
    let ToolsTable {
        approval_policy,
        command_timeout_seconds,
        max_timeout_seconds,
        output_limit_bytes,
        max_read_bytes,
        max_write_bytes,
    } = file.tools;
    if let Some(policy) = overrides.approval_policy.or(approval_policy) {
        tools.approval_policy = match policy {
            ApprovalPolicy::OnRisk => AgentPolicy::OnRisk,
            ApprovalPolicy::Always => AgentPolicy::Always,
            ApprovalPolicy::Never => AgentPolicy::Never,
        };
    }
    if let Some(seconds) = command_timeout_seconds {
        let seconds = positive("tools.command_timeout_seconds", seconds)?;
        tools.command_timeout = Duration::from_secs(seconds);
    }
    if let Some(seconds) = max_timeout_seconds {
        let seconds = positive("tools.max_timeout_seconds", seconds)?;
        tools.max_timeout = Duration::from_secs(seconds);
    }
    if let Some(bytes) = output_limit_bytes {
        tools.output_limit_bytes = positive("tools.output_limit_bytes", bytes)?;
    }
    if let Some(bytes) = max_read_bytes {
        tools.max_read_bytes = positive("tools.max_read_bytes", bytes)?;
    }
    if let Some(bytes) = max_write_bytes {
        tools.max_write_bytes = positive("tools.max_write_bytes", bytes)?;
    }
    if tools.command_timeout > tools.max_timeout {
        return Err(wrong(
            "tools.command_timeout_seconds is above tools.max_timeout_seconds; raise the second or lower the first",
        ));
    }
    tools.hidden_variables = [DEFAULT_KEY_VARIABLE.to_owned()]
        .into_iter()
        .chain(file.providers.values().filter_map(|p| p.api_key_env.clone()))
        .collect();
    Ok(tools)
}

fn positive<T: Default + PartialEq>(key: &str, value: T) -> Result<T, ConfigError> {
    if value == T::default() {
        return Err(wrong(format!("{key} is 0 and must be more")));
    }
    Ok(value)
}

fn wrong(problem: impl Into<String>) -> ConfigError {
    ConfigError::Value { problem: problem.into() }
}
