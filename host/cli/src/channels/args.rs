//! `scv channels`: its commands, flags and help texts.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::args::{JsonArgs, PluginDirs};

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelsCommand {
    /// Sign an account in, usually by scanning a code with your phone
    Login(LoginArgs),
    /// Switch an account on, and set what it may do
    Run(ChannelRunArgs),
    /// Switch an account off; it stays signed in
    Stop(AccountArgs),
    /// Show accounts and how they are
    Status(ChannelStatusArgs),
    /// List replies that the platform refused and that wait for the next answer
    Held(ChannelHeldArgs),
    /// Send a message to the account's owner, for scripts
    Send(ChannelSendArgs),
    /// Sign an account out and remove what is saved of it
    Logout(AccountArgs),
}

#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "CHANNEL [OPTIONS]",
    subcommand_help_heading = "Channel",
    disable_help_subcommand = true,
    override_usage = "scv channels login [--plugin-dir DIR] <CHANNEL> [--account NAME] [OPTIONS OF THE CHANNEL]",
    after_help = "`scv channels login CHANNEL --help` shows what that channel takes; `scv plugins list` shows the channels."
)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) plugins: PluginDirs,
    #[command(subcommand)]
    pub(crate) channel: Option<ChannelAndOptions>,
}

/// The channel and everything after it: its plugin knows which options there are.
#[derive(Debug, Subcommand)]
pub(crate) enum ChannelAndOptions {
    #[command(external_subcommand)]
    Words(Vec<OsString>),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AccountArgs {
    /// The channel
    pub(crate) channel: String,
    #[command(flatten)]
    pub(crate) account: AccountArg,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AccountArg {
    /// Which account of the channel
    #[arg(long = "account", value_name = "NAME", default_value = "default", value_parser = account_name)]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ChannelRunArgs {
    #[command(flatten)]
    pub(crate) account: AccountArgs,
    /// Folder that its messages work in; unchanged when absent
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<PathBuf>,
    /// Who may use tools: nobody, or the account's owner in a direct chat; unchanged when absent
    #[arg(long, value_name = "WHO")]
    pub(crate) remote_tools: Option<RemoteTools>,
    /// Who is answered; unchanged when absent
    #[arg(long, value_name = "WHO")]
    pub(crate) senders: Option<Senders>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RemoteTools {
    None,
    Owner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Senders {
    Everyone,
    Owner,
}

#[derive(Debug, Args)]
pub(crate) struct ChannelStatusArgs {
    /// Only this channel
    pub(crate) channel: Option<String>,
    /// Only accounts of this name
    #[arg(long, value_name = "NAME", value_parser = account_name)]
    pub(crate) account: Option<String>,
    /// Show it again whenever it changes, until Ctrl+C
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) plugins: PluginDirs,
}

#[derive(Debug, Args)]
pub(crate) struct ChannelHeldArgs {
    #[command(flatten)]
    pub(crate) account: AccountArgs,
    /// Print their texts, too
    #[arg(long)]
    pub(crate) show: bool,
    /// Give a reply up, by its id, or `all`; may be given again
    #[arg(long, value_name = "ID")]
    pub(crate) drop: Vec<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChannelSendArgs {
    #[command(flatten)]
    pub(crate) account: AccountArgs,
    /// What to say, at most 64 KiB; `-` reads stdin
    pub(crate) text: String,
}

fn account_name(text: &str) -> Result<String, String> {
    match text.parse::<scv_bridge::AccountName>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
