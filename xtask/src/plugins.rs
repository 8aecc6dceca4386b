//! `cargo xtask plugins`: each plugin built by itself, into the folder that the daemon searches.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{
    cargo::{self, Profile},
    place,
    workspace::{Package, Workspace},
};

/// Builds every plugin and says where each went.
///
/// # Errors
/// When one does not build or cannot be placed.
pub fn run(workspace: &Workspace, profile: Profile) -> Result<()> {
    for file in build(workspace, &profile)? {
        println!("{}", file.display());
    }
    Ok(())
}

/// Builds every plugin into the folder `plugins` beside the profile's executables.
///
/// # Errors
/// When one does not build or cannot be placed.
pub fn build(workspace: &Workspace, profile: &Profile) -> Result<Vec<PathBuf>> {
    let libraries = libraries(workspace, profile)?;
    let mut placed = Vec::new();
    for library in libraries {
        let beside =
            library.parent().with_context(|| format!("{} has no folder", library.display()))?;
        placed.extend(place_all(&[&library], &beside.join("plugins"))?);
    }
    Ok(placed)
}

/// Builds every plugin and gives the libraries where cargo left them.
///
/// # Errors
/// When one does not build.
pub fn libraries(workspace: &Workspace, profile: &Profile) -> Result<Vec<PathBuf>> {
    let mut libraries = Vec::new();
    for package in packages(workspace) {
        eprintln!("xtask: building the plugin {}", package.name);
        let built = cargo::build_library(&workspace.root, &package.name, profile)?;
        let library = built
            .into_iter()
            .find(|artifact| artifact.kind == "cdylib")
            .with_context(|| format!("{} built no shared library", package.name))?;
        libraries.push(library.file);
    }
    Ok(libraries)
}

/// Copies libraries into a folder of plugins.
///
/// # Errors
/// When one cannot be placed.
pub fn place_all(libraries: &[impl AsRef<Path>], folder: &Path) -> Result<Vec<PathBuf>> {
    place::plugin_folder(folder)?;
    libraries.iter().map(|library| place::file(library.as_ref(), folder, 0o644)).collect()
}

/// The packages under `plugins/` that build a shared library.
fn packages(workspace: &Workspace) -> impl Iterator<Item = &Package> {
    workspace.packages.iter().filter(|package| {
        workspace.folder(package).starts_with("plugins/") && package.builds("cdylib")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_libraries_under_plugins_are_plugins() {
        let workspace: Workspace = serde_json::from_str(
            r#"{"workspace_root":"/w","target_directory":"/w/target","packages":[
                {"name":"scv-channel-chat","manifest_path":"/w/plugins/chat/Cargo.toml","dependencies":[],"targets":[{"name":"scv_channel_chat","kind":["cdylib","rlib"]}]},
                {"name":"chat-words","manifest_path":"/w/plugins/words/Cargo.toml","dependencies":[],"targets":[{"name":"chat_words","kind":["lib"]}]},
                {"name":"fixture","manifest_path":"/w/host/plugins/fixture/Cargo.toml","dependencies":[],"targets":[{"name":"fixture","kind":["cdylib"]}]}
            ]}"#,
        )
        .unwrap();
        let names: Vec<_> = packages(&workspace).map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["scv-channel-chat"]);
    }
}
