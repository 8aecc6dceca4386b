//! The agent: a checked configuration from which sessions are started.

use std::sync::Arc;

use scv_http::{HttpClient, HttpConfig, Origin};
use scv_protocol::{SessionStart, limits::MAX_PROMPT_BYTES};

use crate::{
    config::{AgentConfig, ProviderConfig, ProviderKind},
    limits::{FRAME_ENVELOPE_BYTES, MAX_RETRIES_COUNT, NOTE_BYTES, WORST_ESCAPE_BYTES},
    provider::Provider,
    session::{Session, SessionError, SessionOptions},
};

/// Why a configuration cannot be used. The texts name the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// `provider.active` names nothing.
    #[error("provider.active is \"{name}\", but there is no such provider; add [providers.{name}]")]
    UnknownProvider {
        /// The name.
        name: String,
    },
    /// A provider's settings are wrong.
    #[error("providers.{name}: {reason}")]
    Provider {
        /// The provider.
        name: String,
        /// One sentence.
        reason: String,
    },
    /// A limit is wrong or contradicts another.
    #[error("{0}")]
    Limit(&'static str),
    /// A proxy variable of the environment is not usable.
    #[error("{0}")]
    Proxy(scv_http::HttpError),
}

/// Starts sessions; shared by all connections.
#[derive(Debug)]
pub struct Agent {
    config: AgentConfig,
    http: HttpClient,
}

impl Agent {
    /// Checks the configuration.
    ///
    /// # Errors
    /// [`AgentError`], naming the key.
    pub fn new(config: AgentConfig) -> Result<Arc<Self>, AgentError> {
        Self::check(&config)?;
        let name = concat!("scv/", env!("CARGO_PKG_VERSION"));
        let is_remote =
            |provider: &ProviderConfig| matches!(provider.kind, ProviderKind::OpenAiCompatible(_));
        // Without a remote provider a broken proxy variable is nobody's problem.
        let proxies = match config.providers.values().any(is_remote) {
            true => HttpConfig::from_env(name),
            false => HttpConfig::default(),
        };
        let http = HttpClient::new(proxies).map_err(AgentError::Proxy)?;
        Ok(Arc::new(Self { config, http }))
    }

    /// Whether an agent can work with a configuration.
    ///
    /// # Errors
    /// [`AgentError`], naming the key.
    pub fn check(config: &AgentConfig) -> Result<(), AgentError> {
        if !config.providers.contains_key(&config.active) {
            return Err(AgentError::UnknownProvider { name: config.active.clone() });
        }
        for (name, provider) in &config.providers {
            check_provider(provider)
                .map_err(|reason| AgentError::Provider { name: name.clone(), reason })?;
        }
        check_limits(config)
    }

    /// The same agent with another configuration; both share their connections.
    ///
    /// # Errors
    /// As [`Agent::new`].
    pub fn with(&self, config: AgentConfig) -> Result<Arc<Self>, AgentError> {
        check_limits(&config)?;
        Ok(Arc::new(Self { config, http: self.http.clone() }))
    }

    /// The configuration.
    pub const fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Starts a session in `start.cwd`. Its first events, `session.started` and
    /// `queue.snapshot`, go through the outbox.
    ///
    /// # Errors
    /// [`SessionError`], to be answered with [`SessionError::event`].
    pub async fn start_session(
        &self,
        start: SessionStart,
        options: SessionOptions,
    ) -> Result<Session, SessionError> {
        let chosen = self.choose(&start)?;
        let provider = Provider::new(&chosen, &self.http);
        Session::start(&self.config, chosen.model, provider, start, options).await
    }

    /// The provider that the session asks for.
    fn choose(&self, start: &SessionStart) -> Result<ProviderConfig, SessionError> {
        let name = start.provider.as_ref().unwrap_or(&self.config.active);
        let Some(provider) = self.config.providers.get(name) else {
            return Err(SessionError::UnknownProvider);
        };
        let mut provider = provider.clone();
        if let Some(model) = &start.model {
            provider.model.clone_from(model);
        }
        if let (Some(url), ProviderKind::OpenAiCompatible(server)) =
            (&start.base_url, &mut provider.kind)
        {
            server.base_url.clone_from(url);
        }
        check_provider(&provider).map_err(SessionError::Provider)?;
        Ok(provider)
    }
}

/// One sentence about what is wrong.
fn check_provider(provider: &ProviderConfig) -> Result<(), String> {
    if provider.model.is_empty() {
        return Err("model is empty; name one that the server has".to_owned());
    }
    let ProviderKind::OpenAiCompatible(server) = &provider.kind else {
        return Ok(());
    };
    if server.base_url.contains(['?', '#']) {
        return Err(
            "base_url has a query or a fragment; leave out all from its `?` or `#` on".to_owned()
        );
    }
    if Origin::parse(&server.base_url).is_err() {
        return Err("base_url is no http or https address; write it as https://host/v1".to_owned());
    }
    if server.max_retries > MAX_RETRIES_COUNT {
        return Err(format!("max_retries is more than {MAX_RETRIES_COUNT}; lower it"));
    }
    Ok(())
}

/// A frame must hold what the other limits allow into it.
fn check_limits(config: &AgentConfig) -> Result<(), AgentError> {
    let frame = config.max_server_frame_bytes.saturating_sub(FRAME_ENVELOPE_BYTES);
    let tools = &config.tools;
    // Tool output is printable: JSON makes two bytes of one at most.
    let problem = if MAX_PROMPT_BYTES * WORST_ESCAPE_BYTES > frame {
        "protocol.max_server_frame_bytes cannot hold a prompt of 256 KiB; make it at least 2 MiB"
    } else if tools.output_limit_bytes > frame / 2 {
        "protocol.max_server_frame_bytes cannot hold tools.output_limit_bytes; lower the second"
    } else if tools.max_read_bytes > frame / 2 {
        "protocol.max_server_frame_bytes cannot hold tools.max_read_bytes; lower the second"
    } else if tools.output_limit_bytes < 4 * NOTE_BYTES || tools.max_read_bytes < 4 * NOTE_BYTES {
        "tools.output_limit_bytes and tools.max_read_bytes must be at least 512; raise them"
    } else if config.max_steps == 0 {
        "agent.max_steps is 0; a turn needs at least one step"
    } else if config.context.budget_bytes() == 0 {
        "context.reserve_output_tokens and context.safety_margin_tokens leave nothing of \
         context.max_tokens; lower them"
    } else {
        return Ok(());
    };
    Err(AgentError::Limit(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OpenAiConfig;

    fn remote(server: OpenAiConfig) -> AgentConfig {
        let kind = ProviderKind::OpenAiCompatible(server);
        let mut config = AgentConfig::default();
        config.providers.insert("remote".into(), ProviderConfig { model: "m".into(), kind });
        config
    }

    fn refusal(config: AgentConfig) -> String {
        Agent::new(config).map(drop).expect_err("refused").to_string()
    }

    #[test]
    fn the_default_answers_without_a_key() {
        assert!(Agent::new(AgentConfig::default()).is_ok());
        assert!(Agent::new(remote(OpenAiConfig::default())).is_ok());
    }

    #[test]
    fn refusals_name_the_key() {
        let text = refusal(AgentConfig { active: "x".into(), ..AgentConfig::default() });
        assert!(text.contains("provider.active"), "{text}");
        for (base_url, told) in
            [("ftp://host", "base_url is no http"), ("https://h/v1?a=b", "query")]
        {
            let base_url = base_url.to_owned();
            let text = refusal(remote(OpenAiConfig { base_url, ..OpenAiConfig::default() }));
            assert!(text.contains("providers.remote: base_url") && text.contains(told), "{text}");
        }
        let text = refusal(remote(OpenAiConfig { max_retries: 3, ..OpenAiConfig::default() }));
        assert!(text.contains("max_retries"), "{text}");
    }

    #[test]
    fn contradictory_limits_name_both_keys() {
        let mut config = AgentConfig { max_server_frame_bytes: 2 << 20, ..AgentConfig::default() };
        config.tools.max_read_bytes = 2 << 20;
        let text = refusal(config);
        assert!(text.contains("max_server_frame_bytes") && text.contains("max_read_bytes"));
    }
}
