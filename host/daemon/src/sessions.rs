//! Starts sessions, each as the file of its own folder tightens the configuration.

use std::{os::unix::ffi::OsStrExt, path::PathBuf, sync::Arc};

use scv_agent::{Agent, Session, SessionOptions};
use scv_protocol::{ErrorCode, ServerEvent, SessionStart};

use crate::{
    Config, DaemonError,
    config::{Bounds, ConfigError},
};

/// Starts sessions; its clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Sessions {
    agent: Arc<Agent>,
    bounds: Bounds,
    max_client_frame_bytes: usize,
}

impl Sessions {
    /// For this configuration.
    pub(crate) fn new(config: Config) -> Result<Self, DaemonError> {
        let agent =
            Agent::new(config.agent).map_err(|error| DaemonError::Agent(error.to_string()))?;
        let Config { bounds, max_client_frame_bytes, .. } = config;
        Ok(Self { agent, bounds, max_client_frame_bytes })
    }

    /// What holds where no folder tightens it.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// A line from a client.
    pub(crate) const fn max_client_frame_bytes(&self) -> usize {
        self.max_client_frame_bytes
    }

    /// Starts a session, or gives the answer that refuses it.
    pub(crate) async fn start(
        &self,
        start: SessionStart,
        options: SessionOptions,
    ) -> Result<Session, ServerEvent> {
        let request_id = start.request_id.clone();
        let refuse =
            |text| ServerEvent::error(Some(request_id.clone()), ErrorCode::InvalidRequest, text);
        let agent = self.agent_in(start.cwd.clone()).await.map_err(refuse)?;
        agent.start_session(start, options).await.map_err(|error| error.event(request_id))
    }

    /// The agent for sessions in a folder; the text says what is wrong in the folder's file.
    async fn agent_in(&self, folder: PathBuf) -> Result<Arc<Agent>, String> {
        if !folder.is_absolute() || folder.as_os_str().as_bytes().contains(&0) {
            // The agent refuses it. What it is relative to is nobody's folder, and none has a NUL.
            return Ok(Arc::clone(&self.agent));
        }
        let (bounds, base) = (self.bounds.clone(), self.agent.config().clone());
        let read = tokio::task::spawn_blocking(move || bounds.within(&folder, &base)).await;
        match read {
            Ok(Ok(None)) => Ok(Arc::clone(&self.agent)),
            Ok(Ok(Some(config))) => self.agent.with(config).map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(full(&error)),
            Err(_) => Err("the workspace's .scv/config.toml cannot be read; check it".to_owned()),
        }
    }
}

/// The error with what caused it.
fn full(error: &ConfigError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
