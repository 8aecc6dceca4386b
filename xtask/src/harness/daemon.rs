//! A running `scv run`.

use std::{ffi::OsString, fs::OpenOptions, path::PathBuf, process::ExitStatus, time::Duration};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use scv_protocol::{
    ClientInfo, Component, ControlCommand, DaemonStatus,
    client::{Client, ClientError, control},
};
use tokio::process::Child;

use super::{Home, until};

/// From start to an answer on the socket: far more than a busy machine needs.
const READY_WITHIN: Duration = Duration::from_secs(90);
/// From SIGTERM to the end: the daemon's own bounds are shorter.
const GONE_WITHIN: Duration = Duration::from_secs(90);

/// How to start a daemon.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// Instead of the built `scv`: a program that takes the same arguments.
    pub program: Option<PathBuf>,
    /// Behind `scv run --workspace … --plugin-dir …`.
    pub arguments: Vec<OsString>,
    /// Added to the environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// Killed when dropped. What it wrote to stderr is shown when a test fails.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    pid: Pid,
    socket: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// Starts one and waits until its socket answers a handshake.
    ///
    /// # Errors
    /// When it ends or does not answer, with what it wrote.
    pub async fn spawn(home: &Home, options: &Options) -> Result<Self> {
        let mut daemon = Self::start(home, options)?;
        let ready = daemon.ready().await;
        ready.with_context(|| format!("the daemon's log:\n{}", daemon.log()))?;
        Ok(daemon)
    }

    /// Starts one that need not come up.
    ///
    /// # Errors
    /// When the program does not start at all.
    pub fn start(home: &Home, options: &Options) -> Result<Self> {
        let log = home.log();
        let stderr = OpenOptions::new().create(true).append(true).open(&log)?;
        let program = options.program.as_deref().unwrap_or(home.program());
        let child = home
            .command(program)
            .arg("run")
            .arg("--workspace")
            .arg(home.workspace())
            .arg("--plugin-dir")
            .arg(home.plugins())
            .args(&options.arguments)
            .envs(options.environment.iter().cloned())
            .stdin(std::process::Stdio::null())
            .stdout(stderr.try_clone()?)
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok(Self {
            child,
            pid: pid.context("the daemon has no process id")?,
            socket: home.socket(),
            log,
        })
    }

    async fn ready(&mut self) -> Result<()> {
        until("the daemon answers", READY_WITHIN, async || {
            if Client::connect(&self.socket, client_info()).await.is_ok() {
                return Ok(Some(()));
            }
            match self.child.try_wait()? {
                Some(status) => bail!("the daemon ended with {status}"),
                None => Ok(None),
            }
        })
        .await
    }

    /// A new connection.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub async fn client(&self) -> Result<Client, ClientError> {
        Client::connect(&self.socket, client_info()).await
    }

    /// One `daemon.control`.
    ///
    /// # Errors
    /// The daemon's refusal, or no answer.
    pub async fn control(&self, command: ControlCommand) -> Result<DaemonStatus, ClientError> {
        control(&self.socket, client_info(), command).await
    }

    /// Waits until a component is as wanted, and gives it.
    ///
    /// # Errors
    /// When it is not within `limit`; with how it was last.
    pub async fn component(
        &self,
        id: &str,
        limit: Duration,
        mut wanted: impl FnMut(&Component) -> bool,
    ) -> Result<Component> {
        let mut last = None;
        let found = until("the component is as wanted", limit, async || {
            let status = self.control(ControlCommand::Status).await?;
            last = status.components.into_iter().find(|component| component.id == id);
            Ok(last.clone().filter(|component| wanted(component)))
        })
        .await;
        found.with_context(|| format!("component {id} was last seen as {last:?}"))
    }

    /// Ends it at once, as a crash would (SIGKILL).
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub async fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    ///
    /// # Errors
    /// When it does not end in time.
    pub async fn terminate(&mut self) -> Result<ExitStatus> {
        // Not reaped yet unless it was waited for: the id cannot be another process's.
        if self.child.id().is_some() {
            kill_process(self.pid, Signal::TERM)?;
        }
        self.ended(GONE_WITHIN).await
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// When it does not within `limit`.
    pub async fn ended(&mut self, limit: Duration) -> Result<ExitStatus> {
        match tokio::time::timeout(limit, self.child.wait()).await {
            Ok(status) => Ok(status?),
            Err(_) => bail!("the daemon still runs after {} s", limit.as_secs()),
        }
    }

    /// Its process.
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// What the daemons on this home have written.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.log());
        }
    }
}

fn client_info() -> ClientInfo {
    ClientInfo { name: "scv-harness".into(), version: env!("CARGO_PKG_VERSION").into() }
}
