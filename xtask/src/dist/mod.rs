//! `cargo xtask dist`: what is given to people who have no Rust, checked before it is packed.
//!
//! `bin/scv`, `lib/scv/plugins`, shell completions, man pages, licences, and a list of SHA-256
//! sums, in one archive. It fails when something needs a newer glibc than the floor, when a
//! plugin is too large, or when what was packed does not run with an empty environment.

mod archive;
mod licences;
mod limits;
mod needs;
mod sums;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo::{self, Profile},
    place, plugins,
    workspace::Workspace,
};
use needs::Glibc;

/// Builds, checks, packs, and tries what was packed.
///
/// # Errors
/// When something does not build, or a check fails; the text says which.
pub fn run(workspace: &Workspace) -> Result<()> {
    let name = format!("scv-{}-{}-linux", env!("CARGO_PKG_VERSION"), env::consts::ARCH);
    let dist = workspace.target.join("dist-archive");
    let folder = dist.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).context("the folder of an earlier run cannot be removed")?;
    }
    let binaries = binaries(workspace, &folder)?;
    check(&binaries)?;
    papers(&folder)?;
    place::file(&workspace.root.join("LICENSE"), &folder, 0o644)?;
    place::file(&workspace.root.join("README.md"), &folder, 0o644)?;
    fs::write(folder.join("THIRD-PARTY-LICENSES.txt"), licences::collect(workspace)?)?;
    sums::write(&folder)?;
    let archive = archive::pack(&dist, &name)?;
    archive::try_out(&archive, &name)?;
    println!("{}", archive.display());
    Ok(())
}

/// The program and the plugins, each from its own cargo call, where an installation has them.
fn binaries(workspace: &Workspace, folder: &Path) -> Result<Vec<PathBuf>> {
    let profile = Profile::dist();
    eprintln!("xtask: building scv");
    let program = cargo::build(&workspace.root, "scv", &profile)?
        .into_iter()
        .find(|artifact| artifact.kind == "bin" && artifact.name == "scv")
        .context("the package scv built no program of that name")?;
    let libraries = plugins::libraries(workspace, &profile)?;
    let bin = folder.join("bin");
    place::folder(&bin)?;
    let mut all = vec![place::file(&program.file, &bin, 0o755)?];
    all.extend(plugins::place_all(&libraries, &folder.join("lib/scv/plugins"))?);
    Ok(all)
}

/// Prints size and glibc of each file; all must keep the limits.
fn check(binaries: &[PathBuf]) -> Result<()> {
    let mut wrong = Vec::new();
    for file in binaries {
        let bytes = fs::read(file)?;
        let glibc = needs::glibc(&bytes).with_context(|| file.display().to_string())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        println!("{name}: {} bytes, needs glibc {glibc}", bytes.len());
        if glibc > Glibc::FLOOR {
            wrong.push(format!("{name} needs glibc {glibc}, over the floor {}", Glibc::FLOOR));
        }
        if name.ends_with(".so") && bytes.len() > limits::MAX_PLUGIN_BYTES {
            let (size, limit) = (bytes.len(), limits::MAX_PLUGIN_BYTES);
            wrong.push(format!("{name} has {size} bytes, over the limit {limit}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    Ok(())
}

/// The program writes its own completions and man pages.
fn papers(folder: &Path) -> Result<()> {
    let share = folder.join("share");
    let status = Command::new(folder.join("bin/scv"))
        .args(["__papers".as_ref(), share.as_os_str()])
        .status()
        .context("the built scv does not start")?;
    ensure!(status.success(), "scv __papers: {status}");
    Ok(())
}
