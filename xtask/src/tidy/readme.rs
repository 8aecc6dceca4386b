//! The commands that README.md shows exist.

use super::{
    Problem,
    documents::blocks,
    tree::{File, Tree},
};

/// The help texts of the whole `scv` command, kept true by a test of the command's own.
const HELP: &str = "host/cli/tests/help.txt";

/// Every `cargo xtask` and `scv` command in a shell block of README.md is one that there is.
pub(super) fn check(tree: &Tree, xtask: &clap::Command) -> Vec<Problem> {
    let Some(readme) = tree.get("README.md") else {
        return Vec::new();
    };
    let help = tree.get(HELP).map_or("", |file| file.text.as_str());
    commands(readme)
        .filter_map(|(number, line)| {
            let words: Vec<_> = line.split_whitespace().collect();
            let known = match words.as_slice() {
                ["cargo", "xtask", rest @ ..] => in_xtask(xtask, rest),
                ["scv", rest @ ..] => in_help(help, rest),
                _ => true,
            };
            let text = format!("no such command: {line}");
            (!known).then(|| Problem::at_line(&readme.path, number, text))
        })
        .collect()
}

/// The lines of the shell blocks, numbered, without a comment behind them.
fn commands(readme: &File) -> impl Iterator<Item = (usize, &str)> {
    blocks(&readme.text)
        .into_iter()
        .filter(|block| block.language == "sh")
        .flat_map(|block| (block.line..).zip(block.lines))
        .map(|(number, line)| (number, line.split(" #").next().unwrap_or(line).trim()))
}

fn in_xtask(xtask: &clap::Command, words: &[&str]) -> bool {
    words.first().is_some_and(|name| xtask.find_subcommand(name).is_some())
}

/// Follows the words through the `Usage:` lines of the help texts, as far as they are commands.
fn in_help(help: &str, words: &[&str]) -> bool {
    let mut command = String::from("scv");
    for word in words {
        let longer = format!("{command} {word}");
        if usage(help, &longer).is_some() {
            command = longer;
        } else {
            break;
        }
    }
    // A usage that still wants a command means that the next word was none.
    usage(help, &command).is_some_and(|rest| !rest.contains("<COMMAND>"))
}

/// What follows this very command in its `Usage:` line.
fn usage<'a>(help: &'a str, command: &str) -> Option<&'a str> {
    help.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("Usage: ")?.strip_prefix(command)?;
        let words = rest.trim_start();
        let ends_here = words.is_empty() || words.starts_with(['[', '<', '-']);
        ends_here.then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::tree::tree_of;
    use super::*;
    use crate::cli::Cli;

    const HELP_TEXT: &str = "Usage: scv [OPTIONS] <COMMAND>\n\nUsage: scv status [OPTIONS]\n\
        Usage: scv channels [OPTIONS] <COMMAND>\nUsage: scv channels stop [OPTIONS] <CHANNEL>\n\
        Usage: scv exec [OPTIONS] [PROMPT]\n";

    fn unknown(line: &str) -> bool {
        let readme = format!("```sh\n{line}\n```\n");
        let tree = tree_of(&[("README.md", readme.as_str()), (HELP, HELP_TEXT)]);
        !check(&tree, &Cli::command()).is_empty()
    }

    #[test]
    fn commands_that_exist_are_fine() {
        for line in [
            "cargo xtask test",
            "cargo xtask install --root DIR   # somewhere else",
            "scv status --json",
            "scv channels stop chat",
            "scv exec \"say hello\"",
            "git clone somewhere",
        ] {
            assert!(!unknown(line), "{line}");
        }
    }

    #[test]
    fn commands_that_do_not_exist_are_said() {
        for line in ["cargo xtask dance", "cargo xtask", "scv", "scv dance", "scv channels dance"] {
            assert!(unknown(line), "{line}");
        }
    }

    #[test]
    fn only_shell_blocks_are_commands() {
        let tree = tree_of(&[("README.md", "scv dance\n```text\nscv dance\n```\n")]);
        assert_eq!(check(&tree, &Cli::command()), []);
    }
}
