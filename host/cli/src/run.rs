//! `scv run`: the daemon in the foreground.

use std::sync::Arc;

use anyhow::Context as _;
use scv_bridge::fs::FileSystem;
use scv_daemon::{Daemon, DaemonOptions, LogRing};
use tokio_util::sync::CancellationToken;

use crate::{args::RunArgs, context::Context, exit::Exit, signals::Signals};

pub(crate) async fn run(
    context: &Context,
    args: RunArgs,
    logs: LogRing,
    fs: Arc<dyn FileSystem>,
) -> anyhow::Result<Exit> {
    let config = context.config()?;
    let search = context.search(&args.plugins, &config.plugins)?;
    let workspace = match args.workspace {
        Some(workspace) => workspace,
        None => std::env::current_dir().context("the current folder cannot be read")?,
    };
    let options = DaemonOptions {
        home: context.home.clone(),
        workspace,
        search,
        no_plugins: args.no_plugins,
        config,
        logs,
        fs,
    };
    let mut signals = Signals::catch()?;
    let stop = CancellationToken::new();
    let daemon = Daemon::run(options, stop.clone());
    tokio::pin!(daemon);
    tokio::select! {
        ended = &mut daemon => {
            ended?;
            return Ok(Exit::Done);
        }
        () = signals.end() => stop.cancel(),
    }
    tracing::info!("stopping; Ctrl+C again stops at once");
    tokio::select! {
        ended = &mut daemon => ended?,
        () = signals.interrupt() => return Ok(Exit::Cancelled),
    }
    Ok(Exit::Done)
}
