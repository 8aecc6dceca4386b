//! The commands of scv: they parse, call and print. How anything works is told elsewhere.

mod args;
mod channels;
mod components;
mod config;
mod context;
mod doctor;
mod exec;
mod exit;
mod limits;
mod log;
mod logs;
mod papers;
mod plugins;
mod qr;
mod run;
mod server;
mod signals;
mod stdin;
mod stdout;
mod table;
mod terminal;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use scv_bridge::fs::FileSystem;

use args::{Cli, Command};
use context::Context;
use exit::Exit;
use log::Log;
use stdout::OutputError;
pub(crate) use stdout::say;

/// Runs the command line of this process. Accounts and their state are written through `fs`.
pub fn main_with(fs: Arc<dyn FileSystem>) -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(exit) = scv_daemon::run_keeper(std::env::args_os()) {
        return exit;
    }
    let helper = scv_plugin_host::run_helper(std::env::args_os());
    if let Some(exit) = helper.or_else(|| plugins::child(std::env::args_os())) {
        return exit;
    }
    let cli = match args::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return shown(&error).into(),
    };
    let log = log::start(&cli);
    keep_to_itself();
    // One thread: tasks that wake each other wait for no other core. What blocks (files, plugins)
    // has threads of its own.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()).into(),
    };
    let exit = runtime.block_on(dispatch(cli, &log, fs));
    // A thread that reads stdin cannot be cancelled and must not keep the process.
    runtime.shutdown_background();
    let exit = exit.and_then(|exit| stdout::check().map(|()| exit).map_err(Into::into));
    exit.unwrap_or_else(|error| failed(&error)).into()
}

/// Keys may stand in this process's environment and memory: on Linux, no other process of the
/// same user can look into them from now on, a command that the agent runs included.
fn keep_to_itself() {
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!("other programs of this user can read this process: {error}");
    }
}

async fn dispatch(cli: Cli, log: &Log, fs: Arc<dyn FileSystem>) -> anyhow::Result<Exit> {
    let context = Context::new(cli.global)?;
    match cli.command {
        Command::Run(args) => run::run(&context, args, log.ring.clone(), fs).await,
        Command::Server(_) => server::run(&context).await,
        Command::Exec(args) => exec::run(&context, args).await,
        Command::Status(args) => components::status(&context, args).await,
        Command::Reload => components::reload(&context).await,
        Command::Channels(command) => channels::run(&context, command, fs).await,
        Command::Config(command) => config::run(&context, command),
        Command::Logs(args) => logs::run(&context, args).await,
        Command::Doctor(args) => doctor::run(&context, args, fs).await,
        Command::Plugins(command) => plugins::run(&context, command).await,
        Command::Papers(args) => papers::run(&args.share),
    }
}

fn failed(error: &anyhow::Error) -> Exit {
    if error.downcast_ref().is_some_and(OutputError::is_closed) {
        return Exit::Done;
    }
    complain(&format!("error: {error:#}"));
    exit::of(error)
}

/// Shows clap's help or complaint.
pub(crate) fn shown(error: &clap::Error) -> Exit {
    let written = error.print().and_then(|()| io::stdout().flush());
    if error.use_stderr() {
        return Exit::Usage;
    }
    match written {
        Ok(()) => Exit::Done,
        Err(error) => failed(&OutputError::from(error).into()),
    }
}

/// Prints to stderr. Unlike the macro for it, this does not panic when stderr is gone.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints a question to stderr; the answer is typed behind it.
pub(crate) fn ask(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}
