//! The command line of `cargo xtask`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::cargo::Profile;

/// Chores of scv.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One chore.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show scv at work: a chat account on a simulated platform, tools, a crash
    Demo,
    /// Build everything, then run every check and every test
    Test,
    /// Measure, against bare baselines
    Bench {
        /// Only these, such as `turn`; a wrong name is answered with all names
        #[arg(long, value_name = "NAME", num_args = 1..)]
        rows: Vec<String>,
    },
    /// Fuzz what reads other people's bytes: `codec`, `sse` or `calls`
    Fuzz {
        /// The target
        name: String,
        /// How long
        #[arg(long, value_name = "N", default_value_t = 60)]
        seconds: u64,
    },
    /// Check that the code keeps the rules of docs/architecture.md
    Tidy,
    /// Write the JSON Schema of each protocol version into docs/schema
    Schema,
    /// Build each plugin by itself into the `plugins` folder beside the built executable
    Plugins(ProfileArgs),
    /// Write a plugin to begin with: a crate of its own, outside of this tree
    NewPlugin {
        /// Its name: small letters, digits and `_`
        name: String,
        /// The folder to make; without it `./scv-channel-NAME`
        #[arg(long, value_name = "DIR")]
        path: Option<PathBuf>,
    },
    /// Let the frozen plugin and host of ABI 1 meet today's, and a later version's
    AbiCheck,
    /// Build, check and pack what is given to people without Rust
    Dist,
    /// Build a release and install `bin/scv` and `lib/scv/plugins`
    Install {
        /// The folder that gets `bin` and `lib`; without it `~/.local`
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
}

/// How to compile.
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// Optimised
    #[arg(long, conflicts_with = "profile")]
    release: bool,
    /// A profile of Cargo.toml, such as `dist`
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

impl ProfileArgs {
    /// The profile that was asked for, otherwise `dev`.
    pub fn profile(self) -> Profile {
        match self.profile {
            Some(name) => Profile::named(name),
            None if self.release => Profile::release(),
            None => Profile::dev(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
