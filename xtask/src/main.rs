//! `cargo xtask`: parses the command line and calls the one command.

use std::process::ExitCode;

use clap::Parser;
use xtask::{
    abi_check, bench,
    cli::{Cli, Command},
    demo, dist, fuzz, install, new_plugin, plugins, schema, test, tidy,
    workspace::Workspace,
};

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything that was asked for is well.
fn run(cli: Cli) -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    match cli.command {
        Command::Test => test::run(&workspace),
        Command::Demo => demo::run(&workspace).map(|()| true),
        Command::Bench { rows } => bench::run(&workspace, &rows).map(|()| true),
        Command::Fuzz { name, seconds } => fuzz::run(&workspace, &name, seconds),
        Command::Tidy => tidy::run(&workspace),
        Command::Schema => schema::run(&workspace).map(|()| true),
        Command::Plugins(profile) => plugins::run(&workspace, profile.profile()).map(|()| true),
        Command::AbiCheck => abi_check::run(&workspace).map(|()| true),
        Command::Dist => dist::run(&workspace).map(|()| true),
        Command::NewPlugin { name, path } => {
            new_plugin::run(&workspace, &name, path).map(|()| true)
        }
        Command::Install { root } => install::run(&workspace, root).map(|()| true),
    }
}
