//! Single `scv` commands.

use std::{ffi::OsStr, net::SocketAddr, process::Stdio, time::Duration};

use anyhow::{Context, Result, bail};
use scv_simulators::{Feishu, Ilink};
use tokio::{io::AsyncWriteExt, process::Command};

use super::Home;

/// No command that a test waits for takes longer.
const DONE_WITHIN: Duration = Duration::from_secs(60);

/// Runs commands on one home.
#[derive(Debug)]
pub struct Scv<'a> {
    home: &'a Home,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit status; none when a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Output {
    /// Itself when the command succeeded.
    ///
    /// # Errors
    /// With all that it wrote when it did not.
    pub fn success(self) -> Result<Self> {
        match self.code {
            Some(0) => Ok(self),
            code => bail!("status {code:?}\n{}\n{}", self.stdout, self.stderr),
        }
    }
}

impl<'a> Scv<'a> {
    /// Commands on this home.
    pub const fn on(home: &'a Home) -> Self {
        Self { home }
    }

    /// A command that has not been started: no input, both outputs caught.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.home.command(self.home.program());
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end, a minute at most.
    ///
    /// # Errors
    /// When it does not start or does not end; a failure of the command itself is an [`Output`].
    pub async fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Output> {
        self.run_with_input(arguments, "").await
    }

    /// The same, and it reads this text from a pipe.
    ///
    /// # Errors
    /// As [`Scv::run`].
    pub async fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &str,
    ) -> Result<Output> {
        Self::finish(self.command(arguments), input).await
    }

    /// Runs a command of [`Scv::command`] in the same way.
    ///
    /// # Errors
    /// As [`Scv::run`].
    pub async fn finish(mut command: Command, input: &str) -> Result<Output> {
        if !input.is_empty() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().context("scv does not start")?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that asks less than it is told has ended its side; that is no failure.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = tokio::time::timeout(DONE_WITHIN, child.wait_with_output())
            .await
            .with_context(|| format!("no end after {} s", DONE_WITHIN.as_secs()))??;
        Ok(Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Signs an account in at the simulated WeChat: its owner approves at once.
    ///
    /// # Errors
    /// When the sign-in fails; with all that it wrote.
    pub async fn login_wechat(&self, ilink: &Ilink, account: &str) -> Result<Output> {
        ilink.approve();
        let platform = ilink.base_url();
        let mut command = self.login("wechat", account);
        command.args(["--login-url", &platform]);
        Self::finish(command, "").await?.success()
    }

    /// Signs an account in at the simulated Feishu: its owner approves at once.
    ///
    /// # Errors
    /// When the sign-in fails; with all that it wrote.
    pub async fn login_feishu(&self, feishu: &Feishu, account: &str) -> Result<Output> {
        feishu.approve();
        let mut command = self.login("feishu", account);
        command.envs(feishu.environment());
        Self::finish(command, "").await?.success()
    }

    /// Signs an account in at the webhook channel: it will listen at this address.
    ///
    /// # Errors
    /// When the sign-in fails; with all that it wrote.
    pub async fn login_webhook(&self, listen: SocketAddr, account: &str) -> Result<Output> {
        let mut command = self.login("webhook", account);
        command.args(["--listen", &listen.to_string()]);
        Self::finish(command, "a secret of this test\n").await?.success()
    }

    fn login(&self, channel: &str, account: &str) -> Command {
        let mut command = self.command(["channels", "login", "--plugin-dir"]);
        command.arg(self.home.plugins()).args([channel, "--account", account]);
        command
    }
}
