//! `scv channels`: accounts, through the daemon where it is needed.

mod account;
mod args;
mod held;
mod known;
mod login;
mod send;
mod set;
mod status;

use std::sync::Arc;

use scv_bridge::{Accounts, Home, fs::FileSystem};

use crate::{context::Context, exit::Exit};
pub(crate) use args::ChannelsCommand;

pub(crate) async fn run(
    context: &Context,
    command: ChannelsCommand,
    fs: Arc<dyn FileSystem>,
) -> anyhow::Result<Exit> {
    let accounts = &Accounts::new(Home::new(context.home.clone()), fs);
    match command {
        ChannelsCommand::Login(args) => login::run(context, args, accounts).await,
        ChannelsCommand::Run(args) => set::run(context, args, accounts).await,
        ChannelsCommand::Stop(args) => set::stop(context, args, accounts).await,
        ChannelsCommand::Status(args) => status::run(context, args, accounts).await,
        ChannelsCommand::Held(args) => held::run(context, args, accounts).await,
        ChannelsCommand::Send(args) => send::run(context, args, accounts).await,
        ChannelsCommand::Logout(args) => set::logout(context, args, accounts).await,
    }
}
