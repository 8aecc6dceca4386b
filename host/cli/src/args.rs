//! The command line: every command, flag and help text.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::{channels::ChannelsCommand, plugins::PluginsCommand};

const EXAMPLES: &str = "\
Examples:
  scv exec \"what does this project do?\"     ask once, in the current folder
  scv run --workspace ~/project             serve this machine and your chat accounts
  scv channels login CHANNEL                connect a chat account by scanning a code
  scv status                                what runs, and how it is

Without a configured model, answers come from the built-in `echo` provider.";

/// Reach a coding agent from a terminal, a program, or your phone's chat.
#[derive(Debug, Parser)]
#[command(name = "scv", version, about, override_usage = "scv [OPTIONS] <COMMAND>", after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const SEE_GLOBAL: &str = "Options of every command: see `scv --help`.";

/// The command line; options that every command takes are shown in the help of the whole only.
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    // This hands the global options down.
    command.build();
    command.mut_subcommands(quiet)
}

fn quiet(command: clap::Command) -> clap::Command {
    let after = match command.get_after_help() {
        Some(text) => format!("{text}\n\n{SEE_GLOBAL}"),
        None => SEE_GLOBAL.to_owned(),
    };
    command
        .mut_args(|arg| {
            let global = arg.is_global_set();
            arg.hide(global)
        })
        .after_help(after)
        .mut_subcommands(quiet)
}

/// Parses the command line.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(hoist(words))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Folder of scv's own files [default: ~/.scv]
    #[arg(long, global = true, env = "SCV_HOME", value_name = "DIR", hide_env_values = true)]
    pub(crate) scv_home: Option<PathBuf>,
    /// Configuration file, read over the home's config.toml
    #[arg(long, global = true, env = "SCV_CONFIG", value_name = "FILE", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Provider of the configuration that answers, or `echo`
    #[arg(long, global = true, env = "SCV_PROVIDER", value_name = "NAME", hide_env_values = true)]
    pub(crate) provider: Option<String>,
    /// Model that answers
    #[arg(long, global = true, env = "SCV_MODEL", value_name = "NAME", hide_env_values = true)]
    pub(crate) model: Option<String>,
    /// API base URL of the provider
    #[arg(long, global = true, env = "SCV_BASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) base_url: Option<String>,
    /// Which tool calls need approval: all but reading, all, or none
    #[arg(long, global = true, value_name = "POLICY")]
    pub(crate) approval_policy: Option<Policy>,
    /// Whether output is coloured; NO_COLOR is obeyed
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) color: Color,
}

// No doc comments on the values: with them clap switches to its long form of help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    OnRisk,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve this machine and its chat accounts, in the foreground
    #[command(
        after_help = "Logs go to stderr; SCV_LOG sets their level (default: info). Ctrl+C stops, a second one at once."
    )]
    Run(RunArgs),
    /// Ask once and print the answer
    #[command(after_help = "\
Examples:
  scv exec \"explain src/main.rs\"
  git diff | scv exec -            the prompt from stdin
  scv exec --yes \"run the tests\"   approve every tool call

Exit status: 0 answered, 1 failed, 2 usage, 3 answered but a tool call was denied,
4 a limit was reached, 5 the provider failed, 6 --daemon and none runs, 130 cancelled.")]
    Exec(ExecArgs),
    /// Serve one program over its own pipes
    #[command(after_help = "\
Standard input and output carry the protocol of docs/protocol.md, one JSON object a line; the log
goes to stderr. The end of the input ends the server, and whatever it runs. No daemon is needed,
and none is asked.")]
    Server(ServerArgs),
    /// Show the daemon and its accounts
    #[command(after_help = "`scv channels status` tells more, also of one account alone.")]
    Status(JsonArgs),
    /// Make the daemon look at accounts, settings and plugins now
    Reload,
    /// Connect chat accounts and manage them
    #[command(subcommand)]
    Channels(ChannelsCommand),
    /// See the plugins that serve channels, and decide about them
    #[command(subcommand)]
    Plugins(PluginsCommand),
    /// Show what the running daemon has written to its log
    #[command(after_help = "\
The daemon keeps its last 5,000 lines in memory. SCV_LOG sets its level when it starts.")]
    Logs(LogsArgs),
    /// See what is configured, and where
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look for what is wrong, and say what to do about it
    #[command(after_help = "\
A line for each thing: home, modes, socket, config, provider, plugins, accounts.
Nothing is changed, and nobody outside of this machine is asked.

Exit status: 0 nothing is wrong, 1 something is.")]
    Doctor(DoctorArgs),
    /// Write completions and man pages into a folder laid out as `/usr/share`
    #[command(name = "__papers", hide = true)]
    Papers(PapersArgs),
}

/// `scv __papers`, for `cargo xtask dist`.
#[derive(Debug, Args)]
pub(crate) struct PapersArgs {
    /// The folder
    pub(crate) share: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Folder that chat messages work in, unless an account names its own [default: current folder]
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) plugins: PluginDirs,
    /// Load no plugin; chat accounts stay off
    #[arg(long)]
    pub(crate) no_plugins: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Speak the protocol on standard input and output
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PluginDirs {
    /// Folder to look for plugins in, before all others; may be given again
    #[arg(long = "plugin-dir", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// What to ask; `-`, or nothing with a pipe, reads stdin
    pub(crate) prompt: Option<String>,
    /// Approve every tool call
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Use the running daemon, or fail
    #[arg(long, conflicts_with = "private")]
    pub(crate) daemon: bool,
    /// Use a server of this command's own, even when a daemon runs
    #[arg(long)]
    pub(crate) private: bool,
    /// Print the protocol's events, one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Only what this plugin wrote, and what is about it
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin: Option<String>,
    /// Go on with new lines until Ctrl+C
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each value that is in effect in the current folder, and where it comes from
    Show(JsonArgs),
    /// Write a commented config.toml into scv's home; one that is there is left as it is
    Init,
    /// Print where the home's config.toml is
    Path,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) plugins: PluginDirs,
}

/// Lets the options of scv itself stand anywhere in `channels login CHANNEL …`, where the rest
/// belongs to the channel: moves them to before the channel's name.
fn hoist(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let login = words.windows(2).position(|pair| pair == ["channels", "login"]);
    let Some(login) = login.map(|channels| channels + 2) else {
        return words;
    };
    let own = own_options();
    let (mut moved, mut left) = (Vec::new(), Vec::new());
    let mut rest = words.split_off(login).into_iter();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy().into_owned();
        let (name, has_value) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (text.as_str(), false),
        };
        if !own.iter().any(|option| option == name) {
            left.push(word);
            continue;
        }
        moved.push(word);
        if !has_value {
            moved.extend(rest.next());
        }
    }
    words.extend(moved);
    words.extend(left);
    words
}

/// `--scv-home` and its like: all of them take a value.
fn own_options() -> Vec<String> {
    let globals = Global::augment_args(clap::Command::new("scv"));
    let own = PluginDirs::augment_args(globals);
    let names = own.get_arguments().filter_map(|option| option.get_long());
    names.map(|name| format!("--{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn options_of_scv_may_stand_behind_the_channel() {
        let hoisted = |line: &str| {
            let words = hoist(line.split(' ').map(OsString::from));
            let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
            words.join(" ")
        };
        assert_eq!(
            hoisted("scv channels login owl --ring 7 --scv-home /h --color=never --account a"),
            "scv channels login --scv-home /h --color=never owl --ring 7 --account a"
        );
        assert_eq!(hoisted("scv exec --model m"), "scv exec --model m");
        assert_eq!(hoisted("scv channels login"), "scv channels login");
    }

    /// Every help text in one file, so that a change of any is seen.
    /// `SCV_UPDATE_HELP=1 cargo test -p scv help` writes it anew.
    #[test]
    fn the_help_texts_are_those_in_the_file() {
        let mut cli = command().term_width(100);
        let mut text = String::new();
        push_help(&mut text, &mut cli);
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/help.txt");
        if std::env::var_os("SCV_UPDATE_HELP").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(file).unwrap());
    }

    fn push_help(text: &mut String, command: &mut clap::Command) {
        let help = command.render_help();
        let name = command.get_bin_name().unwrap_or("scv").to_owned();
        text.push_str(&format!("===== {name} --help\n{help}\n"));
        let children = command.get_subcommands_mut().filter(|c| c.get_name() != "help");
        children.for_each(|child| push_help(text, child));
    }
}
