//! The commands of scv: they parse, call and print. How anything works is told elsewhere.

mod args;
mod channels;
mod components;
mod context;
mod exec;
mod exit;
mod limits;
mod plugins;
mod qr;
mod run;
mod signals;
mod table;
mod terminal;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use clap::Parser;
use scv_bridge::fs::FileSystem;
use scv_protocol::ControlCommand;
use tracing_subscriber::EnvFilter;

use args::{Cli, Command};
use context::Context;
use exit::Exit;

/// Runs the command line of this process. Accounts and their state are written through `fs`.
pub fn main_with(fs: Arc<dyn FileSystem>) -> ExitCode {
    let cli = match Cli::try_parse_from(args::hoist(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(shown(&error)),
    };
    log(&cli);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(limits::WORKER_THREADS_COUNT)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()).into(),
    };
    let exit = runtime.block_on(dispatch(cli, fs));
    // A thread that reads stdin cannot be cancelled and must not keep the process.
    runtime.shutdown_background();
    exit.unwrap_or_else(|error| failed(&error)).into()
}

async fn dispatch(cli: Cli, fs: Arc<dyn FileSystem>) -> anyhow::Result<Exit> {
    let context = Context::new(cli.global)?;
    match cli.command {
        Command::Run(args) => run::run(&context, args, fs).await,
        Command::Exec(args) => exec::run(&context, args).await,
        Command::Status(args) => components::status(&context, args).await,
        Command::Reload => {
            let status = context.demand(ControlCommand::Reload).await?;
            components::print(&status);
            Ok(Exit::Done)
        }
        Command::Channels(command) => channels::run(&context, command, fs).await,
        Command::Plugins(command) => plugins::run(&context, command).await,
    }
}

fn failed(error: &anyhow::Error) -> Exit {
    eprintln!("error: {error:#}");
    exit::of(error)
}

/// Shows clap's help or complaint; 0 for help that was asked for, else 2.
fn shown(error: &clap::Error) -> u8 {
    // Nobody reads it when it cannot be written.
    let _ = error.print();
    u8::from(error.use_stderr()) * 2
}

/// Logs go to stderr: all that matters from a daemon, only trouble from other commands.
fn log(cli: &Cli) {
    let default = match cli.command {
        Command::Run(_) => "info",
        _ => "warn",
    };
    let filter = EnvFilter::builder()
        .with_env_var("SCV_LOG")
        .try_from_env()
        .unwrap_or_else(|_| EnvFilter::new(default));
    // A second subscriber in one process, as in a test, is not an error worth ending for.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(terminal::stderr_colour(cli.global.color))
        .try_init();
}

/// Prints to stdout; whoever closed it does not want to read on.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}
