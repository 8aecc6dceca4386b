//! `scv plugins`: what there is, whether it would load, and what a person decides about it.

mod args;
mod change;
mod check;
mod dirs;
mod list;
mod test;

pub(crate) use args::PluginsCommand;
pub(crate) use test::child;

use crate::{context::Context, exit::Exit};

pub(crate) async fn run(context: &Context, command: PluginsCommand) -> anyhow::Result<Exit> {
    match command {
        PluginsCommand::List(args) => list::run(context, args).await,
        PluginsCommand::Check(args) => check::run(context, args).await,
        PluginsCommand::Path(args) => dirs::run(context, args),
        PluginsCommand::Add(args) => change::add(context, args).await,
        PluginsCommand::Remove(args) => change::remove(context, args).await,
        PluginsCommand::Enable(args) => change::enable(context, args).await,
        PluginsCommand::Disable(args) => change::disable(context, args).await,
        PluginsCommand::Test(args) => test::run(args).await,
    }
}
