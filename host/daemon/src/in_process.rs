//! A server inside this process: the same connection code over a pipe instead of a socket.

use std::sync::Arc;

use scv_agent::Agent;
use scv_bridge::Dialer;
use scv_plugin_api::host::BoxFuture;
use scv_protocol::{
    ClientInfo,
    client::{Client, ClientError},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Config, DaemonError,
    connection::{self, Server},
    limits::IN_PROCESS_PIPE_BYTES,
};

/// A server inside this process. It manages no components: `daemon.control` is `unsupported`.
pub struct InProcess {
    server: Arc<Server>,
    info: ClientInfo,
    stop: CancellationToken,
}

impl InProcess {
    /// A private server with this configuration, for one command; `info` names its client.
    ///
    /// # Errors
    /// [`DaemonError::Agent`] when the agent does not accept the configuration.
    pub fn private(config: Config, info: ClientInfo) -> Result<Self, DaemonError> {
        let agent = Agent::new(config.agent).map_err(|e| DaemonError::Agent(e.to_string()))?;
        let stop = CancellationToken::new();
        Ok(Self::new(agent, info, TaskTracker::new(), stop))
    }

    pub(crate) fn new(
        agent: Arc<Agent>,
        info: ClientInfo,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let server = Arc::new(Server { agent, components: None, tasks });
        Self { server, info, stop }
    }

    /// Opens an initialized connection.
    ///
    /// # Errors
    /// Those of the handshake; [`ClientError::Closed`] once the server is stopped.
    pub async fn connect(&self) -> Result<Client, ClientError> {
        let (ours, theirs) = tokio::io::duplex(IN_PROCESS_PIPE_BYTES);
        let serve = connection::serve(Arc::clone(&self.server), theirs, self.stop.clone());
        self.server.tasks.spawn(serve);
        Client::handshake(ours, self.info.clone()).await
    }

    /// Ends every connection and waits until their work is over.
    pub async fn close(self) {
        self.stop.cancel();
        self.server.tasks.close();
        self.server.tasks.wait().await;
    }
}

impl Dialer for InProcess {
    fn dial(&self) -> BoxFuture<'_, Result<Client, ClientError>> {
        Box::pin(self.connect())
    }
}
