//! `scv plugins`: its commands, flags and help texts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::{JsonArgs, PluginDirs};

#[derive(Debug, Subcommand)]
pub(crate) enum PluginsCommand {
    /// List plugin files, what they serve, and why one does not load
    List(ListArgs),
    /// Take one plugin through every step of loading, with its code in a child process
    #[command(after_help = "Exit status: 0 it would load, 1 a step refuses it.")]
    Check(CheckArgs),
    /// Show the folders that are searched, in order
    Path(PathArgs),
    /// Put a plugin file into scv's home and trust exactly these bytes
    #[command(after_help = "\
A plugin from there runs in a process of its own, unless the configuration says
`isolation = \"in_process\"`. The file is loaded in a child process before it is added.")]
    Add(AddArgs),
    /// Take a plugin that was added out of scv's home
    Remove(NameArgs),
    /// Switch a plugin on, and lift its quarantine
    Enable(NameArgs),
    /// Switch a plugin off; its accounts stay signed in
    Disable(NameArgs),
    /// Try what every plugin must do on a built file, in a process of its own; for authors
    #[command(after_help = "\
The file's code runs, with your rights. Its platform is not asked: the cases that need one are in
the plugin's own tests. Exit status: 0 no case failed, 1 one did.")]
    Test(TestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// The built library, libscv_channel_NAME.so
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) plugins: PluginDirs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The plugin
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) plugins: PluginDirs,
}

#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// Folders that are not there, too
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) plugins: PluginDirs,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// The built library, libscv_channel_NAME.so
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// The plugin
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
