//! The daemon from start to end: home, lock, socket, connections, components, and their end.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use scv_agent::Agent;
use scv_bridge::{Accounts, Home, fs::FileSystem};
use scv_plugin_host::{PluginHost, SearchPath};
use scv_protocol::ClientInfo;
use tokio::net::UnixStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Config, DaemonError, InProcess, LogRing,
    components::{Components, Parts},
    connection::{self, Server},
    door::Door,
    home::prepare_home,
    limits::{
        ACCEPT_PAUSE_MS, CONNECTIONS_STOP_MS, OWNER_TURN_MARGIN_SECONDS, OWNER_TURN_MIN_SECONDS,
        SOCKET_CHECK_MS,
    },
    lock::InstanceLock,
    plugins::plugin_options,
    sessions::Sessions,
    socket::Socket,
};

/// What a daemon is started with.
pub struct DaemonOptions {
    /// `$SCV_HOME`, absolute.
    pub home: PathBuf,
    /// For accounts that name no workspace.
    pub workspace: PathBuf,
    /// Checked configuration.
    pub config: Config,
    /// Where plugins are looked for.
    pub search: SearchPath,
    /// Load none: every account stays off.
    pub no_plugins: bool,
    /// The last lines of this process's log: a layer of its subscriber.
    pub logs: LogRing,
    /// What accounts and their state are written through.
    pub fs: Arc<dyn FileSystem>,
}

/// The daemon.
pub struct Daemon {
    socket: Socket,
    server: Arc<Server>,
    components: Arc<Components>,
    tasks: TaskTracker,
    /// Ends connections; accounts end before, because theirs are among them.
    hang_up: CancellationToken,
}

/// Why the accepting loop woke up.
enum Wake {
    Client(io::Result<UnixStream>),
    Tick,
    Stop,
}

impl Daemon {
    /// Serves until `shutdown` fires, then stops everything within a bounded time and removes
    /// the socket.
    ///
    /// # Errors
    /// [`DaemonError`] when it cannot start.
    pub async fn run(
        options: DaemonOptions,
        shutdown: CancellationToken,
    ) -> Result<(), DaemonError> {
        let mut daemon = Self::start(options).await?;
        let watch = Arc::clone(&daemon.components).watch(shutdown.clone());
        let watch = daemon.tasks.spawn(watch);
        daemon.accept(&shutdown).await;
        // Its last pass must not start what is about to be stopped.
        let _ = watch.await;
        daemon.stop().await;
        Ok(())
    }

    async fn start(options: DaemonOptions) -> Result<Self, DaemonError> {
        let workspace = options.workspace;
        let workspace = match workspace.canonicalize() {
            Ok(folder) if folder.is_dir() => folder,
            _ => return Err(DaemonError::Workspace { path: workspace }),
        };
        let max_timeout = options.config.agent.tools.max_timeout;
        let plugins = options.config.plugins.clone();
        let sessions = Sessions::new(options.config)?;
        let home = options.home;
        prepare_home(&home)?;
        let lock = InstanceLock::acquire(&home).await?;
        let socket = Socket::bind(&home, lock)?;

        let (tasks, hang_up) = (TaskTracker::new(), CancellationToken::new());
        let bridge =
            ClientInfo { name: "scv-bridge".into(), version: env!("CARGO_PKG_VERSION").into() };
        let dialer = InProcess::new(sessions.clone(), bridge, tasks.clone(), hang_up.clone());
        let plugins = plugin_options(&home, options.search, &plugins);
        let components = Components::new(Parts {
            accounts: Arc::new(Accounts::new(Home::new(home.clone()), options.fs)),
            plugins: PluginHost::new(plugins),
            no_plugins: options.no_plugins,
            dialer: Arc::new(dialer),
            workspace: workspace.clone(),
            owner_turn_limit: owner_turn_limit(max_timeout),
            logs: options.logs,
            tasks: tasks.clone(),
        });
        let server = Arc::new(Server {
            sessions,
            components: Some(Arc::clone(&components)),
            tasks: tasks.clone(),
        });
        tell_ready(&home, &workspace, server.sessions.agent());
        Ok(Self { socket, server, components, tasks, hang_up })
    }

    /// Takes clients until `shutdown`.
    async fn accept(&mut self, shutdown: &CancellationToken) {
        let mut door = Door::new();
        let mut tick = tokio::time::interval(Duration::from_millis(SOCKET_CHECK_MS));
        loop {
            let wake = tokio::select! {
                accepted = self.socket.accept() => Wake::Client(accepted),
                _ = tick.tick() => Wake::Tick,
                () = shutdown.cancelled() => Wake::Stop,
            };
            match wake {
                Wake::Client(Ok(stream)) => self.serve(stream, &mut door),
                Wake::Client(Err(error)) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                }
                Wake::Tick => self.socket.keep(),
                Wake::Stop => return,
            }
        }
    }

    fn serve(&self, stream: UnixStream, door: &mut Door) {
        let Some((stream, place)) = door.admit(stream) else {
            return;
        };
        let serve = connection::serve(Arc::clone(&self.server), stream, self.hang_up.clone());
        self.tasks.spawn(async move {
            serve.await;
            drop(place);
        });
    }

    /// Accounts, plugins, connections, and then the socket and the lock.
    async fn stop(self) {
        self.components.shutdown().await;
        self.hang_up.cancel();
        self.tasks.close();
        let limit = Duration::from_millis(CONNECTIONS_STOP_MS);
        if tokio::time::timeout(limit, self.tasks.wait()).await.is_err() {
            tracing::warn!(left = self.tasks.len(), "some connections did not end in time");
        }
        drop(self.socket);
        tracing::info!("stopped");
    }
}

fn tell_ready(home: &Path, workspace: &Path, agent: &Agent) {
    let config = agent.config();
    tracing::info!(
        pid = std::process::id(),
        home = %home.display(),
        workspace = %workspace.display(),
        provider = config.active,
        model = config.providers.get(&config.active).map(|provider| &provider.model),
        "scv {} is ready",
        env!("CARGO_PKG_VERSION")
    );
}

fn owner_turn_limit(max_timeout: Duration) -> Duration {
    let margin = Duration::from_secs(OWNER_TURN_MARGIN_SECONDS);
    (max_timeout + margin).max(Duration::from_secs(OWNER_TURN_MIN_SECONDS))
}
