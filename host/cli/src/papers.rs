//! `scv __papers DIR`: shell completions and man pages, for a distribution.

use std::{fs, path::Path};

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::{Shell, generate_to};

use crate::{args::Cli, exit::Exit};

/// Where each shell looks, under `share`.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Zsh, "zsh/site-functions"),
    (Shell::Fish, "fish/vendor_completions.d"),
];

/// Writes them into a folder laid out as `/usr/share` is.
pub(crate) fn run(share: &Path) -> anyhow::Result<Exit> {
    let folder = |name: &str| {
        let folder = share.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("{name} cannot be created"))?;
        anyhow::Ok(folder)
    };
    // A page for each command is enough; none for `help` of each.
    let mut command = Cli::command().disable_help_subcommand(true);
    for (shell, name) in COMPLETIONS {
        let written = generate_to(shell, &mut command, "scv", folder(name)?)?;
        if shell == Shell::Bash {
            // Bash looks for the command's own name.
            fs::rename(&written, written.with_file_name("scv"))?;
        }
    }
    clap_mangen::generate_to(command, folder("man/man1")?)?;
    Ok(Exit::Done)
}
