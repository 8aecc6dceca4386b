//! `cargo xtask install`: a release build, copied to where a shell and the daemon find it.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    cargo::{self, Profile},
    place, plugins,
    workspace::Workspace,
};

/// Builds and installs into `root`, by default `~/.local`.
///
/// # Errors
/// When something does not build or cannot be written.
pub fn run(workspace: &Workspace, root: Option<PathBuf>) -> Result<()> {
    let root = match root {
        Some(root) => std::path::absolute(root)?,
        None => home()?.join(".local"),
    };
    let profile = Profile::release();
    eprintln!("xtask: building scv");
    let program = cargo::build(&workspace.root, "scv", &profile)?
        .into_iter()
        .find(|artifact| artifact.kind == "bin" && artifact.name == "scv")
        .context("the package scv built no program of that name")?;
    let libraries = plugins::libraries(workspace, &profile)?;

    let bin = root.join("bin");
    place::folder(&bin)?;
    let installed = place::file(&program.file, &bin, 0o755)?;
    // The second place that scv searches, seen from its own executable.
    let placed = plugins::place_all(&libraries, &root.join("lib/scv/plugins"))?;

    println!("installed {}", installed.display());
    for plugin in placed {
        println!("installed {}", plugin.display());
    }
    print!("{}", next_steps(&bin, env::var_os("PATH")));
    Ok(())
}

fn home() -> Result<PathBuf> {
    env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .context("HOME is not set; name a folder with --root")
}

/// What a person does now.
fn next_steps(bin: &Path, path: Option<std::ffi::OsString>) -> String {
    let on_path = path.is_some_and(|path| env::split_paths(&path).any(|folder| folder == bin));
    let mut text = String::from("\nNext:\n");
    if !on_path {
        text += &format!("  export PATH=\"{}:$PATH\"\n", bin.display());
    }
    text += "  scv run                      start the daemon; leave it running\n";
    text += "  scv channels login wechat    connect a WeChat account, from a second terminal\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_named_only_when_the_shell_does_not_know_it() {
        let bin = Path::new("/home/p/.local/bin");
        let without = next_steps(bin, Some("/usr/bin:/bin".into()));
        assert!(without.contains("export PATH=\"/home/p/.local/bin:$PATH\""));
        let with = next_steps(bin, Some("/usr/bin:/home/p/.local/bin".into()));
        assert!(!with.contains("export PATH"));
        assert!(with.contains("scv channels login wechat"));
    }
}
