//! `cargo xtask new-plugin`: a crate outside of this tree, with a channel that works.
//!
//! `template/` is a whole plugin named Parrot; what is written is that with another name.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::workspace::Workspace;

/// Where each file of the template goes.
const FILES: [(&str, &str); 8] = [
    ("Cargo.toml", include_str!("template/Cargo.toml")),
    ("manifest.json", include_str!("template/manifest.json")),
    ("README.md", include_str!("template/README.md")),
    (".gitignore", include_str!("template/.gitignore")),
    (".github/workflows/ci.yml", include_str!("template/.github/workflows/ci.yml")),
    ("src/lib.rs", include_str!("template/src/lib.rs")),
    ("src/platform.rs", include_str!("template/src/platform.rs")),
    ("tests/conformance.rs", include_str!("template/tests/conformance.rs")),
];

/// The longest name that the boundary allows.
const MAX_NAME: usize = 32;

/// Writes the crate and says what to do next.
///
/// # Errors
/// When the name has another form or is taken, or the folder is in this tree, or not empty.
pub fn run(workspace: &Workspace, name: &str, path: Option<PathBuf>) -> Result<()> {
    let folder = path.unwrap_or_else(|| PathBuf::from(format!("scv-channel-{name}")));
    let folder = std::path::absolute(folder)?;
    create(workspace, name, &folder)?;
    print!("{}", next_steps(name, &folder));
    Ok(())
}

/// Writes the crate into a folder that is new or empty.
///
/// # Errors
/// As [`run`].
pub fn create(workspace: &Workspace, name: &str, folder: &Path) -> Result<()> {
    check_name(name)?;
    ensure!(
        !bundled(&workspace.root)?.contains(name),
        "scv has a plugin or a channel '{name}' already; choose another name"
    );
    ensure!(
        !is_within(folder, &workspace.root),
        "{} is inside of scv's own tree; name a folder outside of it with --path",
        folder.display()
    );
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} is not empty; name another folder with --path", folder.display());
    }
    let plugin_api = workspace.root.join("plugin-api");
    let plugin_api = plugin_api.to_str().context("the path of this tree is not UTF-8")?;
    for (file, text) in FILES {
        write(&folder.join(file), &filled(text, name, plugin_api))?;
    }
    // The versions that this tree is tested with; cargo removes what is not needed.
    let lock = workspace.root.join("Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock"))
        .with_context(|| format!("{} cannot be copied", lock.display()))?;
    Ok(())
}

/// As the boundary wants it, but for `-`, which cargo would make a `_` in the file's name.
fn check_name(name: &str) -> Result<()> {
    let letter = |c: char| c.is_ascii_lowercase();
    let tail = |c: char| letter(c) || c.is_ascii_digit() || c == '_';
    ensure!(
        name.len() <= MAX_NAME && name.starts_with(letter) && name.chars().all(tail),
        "'{name}' is no plugin name; use at most {MAX_NAME} small letters, digits and `_`, a letter first"
    );
    Ok(())
}

/// The names of this tree's own plugins and of their channels.
fn bundled(root: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for plugin in fs::read_dir(root.join("plugins"))? {
        let Ok(text) = fs::read(plugin?.path().join("manifest.json")) else {
            continue;
        };
        let manifest: Manifest = serde_json::from_slice(&text)?;
        let channels = manifest.channels.into_iter();
        names.extend(channels.flat_map(|channel| channel.aliases.into_iter().chain([channel.id])));
        names.insert(manifest.name);
    }
    Ok(names)
}

/// What of a manifest is a name.
#[derive(Deserialize)]
struct Manifest {
    name: String,
    channels: Vec<Channel>,
}

#[derive(Deserialize)]
struct Channel {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
}

/// Whether a folder, which need not be there yet, is in this one, whatever links it is named by.
fn is_within(folder: &Path, root: &Path) -> bool {
    let there = folder.ancestors().find_map(|above| above.canonicalize().ok());
    there.is_some_and(|there| root.canonicalize().is_ok_and(|root| there.starts_with(root)))
}

fn filled(text: &str, name: &str, plugin_api: &str) -> String {
    let text = text.replace("PLUGIN_API", plugin_api);
    let package =
        text.replace("scv-channel-parrot", &format!("scv-channel-{}", name.replace('_', "-")));
    package.replace("parrot", name).replace("Parrot", &type_name(name))
}

/// `two_words` as `TwoWords`.
fn type_name(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    };
    name.split('_').map(word).collect()
}

fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().context("a file has a folder")?;
    fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be created", folder.display()))?;
    fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

fn next_steps(name: &str, folder: &Path) -> String {
    format!(
        "wrote {folder}\n\nNext:\n  cd {folder}\n  cargo test                 \
         what every plugin must do, tried against a fake platform\n  cargo build --release\n  \
         scv plugins add target/release/libscv_channel_{name}.so\n  scv channels login {name}\n",
        folder = folder.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_form() {
        for good in ["a", "two_words", "irc2"] {
            check_name(good).unwrap();
        }
        for bad in ["", "Two", "my-chat", "2", "_a", "../x", &"a".repeat(33)] {
            let error = check_name(bad).unwrap_err().to_string();
            assert!(error.contains("; use"), "{error}");
        }
    }

    #[test]
    fn every_place_of_the_name_is_filled() {
        for (file, text) in FILES {
            let text = filled(text, "two_words", "/tree/plugin-api");
            assert!(
                !text.to_lowercase().contains("parrot") && !text.contains("PLUGIN_API"),
                "{file}"
            );
        }
        let cargo = filled(FILES[0].1, "two_words", "/tree/plugin-api");
        assert!(cargo.contains("name = \"scv-channel-two-words\""), "{cargo}");
        let lib = filled(FILES[5].1, "two_words", "/tree/plugin-api");
        assert!(lib.contains("export_channel!(TwoWords, "), "{lib}");
    }

    /// A tree with one plugin, and a folder beside it.
    fn tree(dir: &Path) -> (Workspace, PathBuf) {
        let plugin = dir.join("tree/plugins/owl");
        fs::create_dir_all(&plugin).unwrap();
        let manifest = r#"{"name":"owl","channels":[{"id":"owl","aliases":["uhu"]}]}"#;
        fs::write(plugin.join("manifest.json"), manifest).unwrap();
        let root = dir.join("tree");
        (Workspace { root, target: "/t".into(), packages: vec![] }, dir.join("beside"))
    }

    fn refusal(workspace: &Workspace, name: &str, folder: &Path) -> String {
        create(workspace, name, folder).unwrap_err().to_string()
    }

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (workspace, folder) = tree(dir.path());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("mine"), "").unwrap();
        let error = refusal(&workspace, "chat", &folder);
        assert!(error.contains("not empty; "), "{error}");
    }

    #[test]
    fn a_name_that_scv_has_and_a_folder_in_its_tree_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (workspace, folder) = tree(dir.path());
        for name in ["owl", "uhu"] {
            let error = refusal(&workspace, name, &folder);
            assert!(error.contains("already; "), "{error}");
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(workspace.root.join("plugins"), &link).unwrap();
        for inside in [workspace.root.join("new"), link.join("deep/new")] {
            let error = refusal(&workspace, "chat", &inside);
            assert!(error.contains("own tree; ") && !inside.exists(), "{error}");
        }
        assert!(!folder.exists());
    }
}
