//! A server inside this process: the same connection code over a pipe instead of a socket.

use std::sync::Arc;

use scv_bridge::Dialer;
use scv_plugin_api::host::BoxFuture;
use scv_protocol::{
    ClientInfo,
    client::{Client, ClientError},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Config, DaemonError,
    connection::{self, Server},
    limits::IN_PROCESS_PIPE_BYTES,
    sessions::Sessions,
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
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Ok(Self::new(Sessions::new(config)?, info, tasks, stop))
    }

    pub(crate) fn new(
        sessions: Sessions,
        info: ClientInfo,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let server = Arc::new(Server { sessions, components: None, tasks });
        Self { server, info, stop }
    }

    /// Opens an initialized connection.
    ///
    /// # Errors
    /// Those of the handshake; [`ClientError::Closed`] once the server is stopped.
    pub async fn connect(&self) -> Result<Client, ClientError> {
        let (ours, theirs) = tokio::io::duplex(IN_PROCESS_PIPE_BYTES);
        self.serve(theirs);
        Client::handshake(ours, self.info.clone()).await
    }

    /// Serves one client over a stream of the caller's; the task ends when the client has gone,
    /// or after [`InProcess::close`].
    pub fn serve<S>(&self, stream: S) -> JoinHandle<()>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let serve = connection::serve(Arc::clone(&self.server), stream, self.stop.clone());
        self.server.tasks.spawn(serve)
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
