//! The licences of everything that is linked into what is given away.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{cargo::cargo, workspace::Workspace};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    /// None for what lies in this tree.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// None for a normal dependency, which is the one that is linked.
    kind: Option<String>,
}

/// One text: a line for each package, then each licence text with the packages that bring it.
pub(super) fn collect(workspace: &Workspace) -> Result<String> {
    let metadata = metadata(workspace)?;
    let linked = linked(&metadata);
    let mut packages: Vec<&Package> = metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some() && linked.contains(package.id.as_str()))
        .collect();
    packages.sort_by_key(|package| (&package.name, &package.version));
    let mut text = String::from("scv is linked with these packages:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its text below");
        writeln!(text, "{name}: {licence}")?;
        for licence in texts_of(&package.manifest_path)? {
            texts.entry(licence).or_default().push(name.clone());
        }
    }
    for (licence, names) in texts {
        let rule = "-".repeat(80);
        writeln!(text, "\n{rule}\n{}\n{rule}\n\n{}", names.join(", "), licence.trim_end())?;
    }
    Ok(text)
}

fn metadata(workspace: &Workspace) -> Result<Metadata> {
    let output = cargo(&workspace.root)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform"])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .output()
        .context("cargo does not start")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed: {}", stderr.trim());
    serde_json::from_slice(&output.stdout).context("cargo metadata has another shape")
}

/// Ids of what the program and the plugins are linked with. Features of the whole workspace:
/// a package too many does no harm here.
fn linked(metadata: &Metadata) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let roots = metadata.packages.iter().filter(|package| {
        let given = package.name == "scv" || package.name.starts_with("scv-channel-");
        package.source.is_none() && given && package.name != "scv-channel-fixture"
    });
    let mut open: Vec<&str> = roots.map(|package| package.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let edges = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        let normal = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
        open.extend(normal.map(|edge| edge.pkg.as_str()));
    }
    seen
}

/// The texts that lie beside a package's Cargo.toml.
fn texts_of(manifest: &Path) -> Result<Vec<String>> {
    let folder = manifest.parent().context("a manifest has a folder")?;
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file() && is_licence(path))
        .collect();
    files.sort();
    files.iter().map(|file| Ok(String::from_utf8_lossy(&fs::read(file)?).into_owned())).collect()
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"]
        .iter()
        .any(|word| name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_linked_counts() {
        let metadata: Metadata = serde_json::from_str(
            r#"{"packages":[
                {"id":"scv","name":"scv","version":"1","license":null,"manifest_path":"/w/Cargo.toml","source":null},
                {"id":"a","name":"a","version":"1","license":"MIT","manifest_path":"/a/Cargo.toml","source":"x"}
            ],"resolve":{"nodes":[
                {"id":"scv","deps":[{"pkg":"a","dep_kinds":[{"kind":null}]},{"pkg":"dev","dep_kinds":[{"kind":"dev"}]}]},
                {"id":"a","deps":[{"pkg":"b","dep_kinds":[{"kind":"build"},{"kind":null}]}]},
                {"id":"b","deps":[]},
                {"id":"dev","deps":[]}
            ]}}"#,
        )
        .unwrap();
        assert_eq!(linked(&metadata), BTreeSet::from(["a", "b", "scv"]));
    }

    #[test]
    fn licence_files_have_many_names() {
        for name in ["LICENSE", "LICENSE-MIT", "license.txt", "COPYING", "NOTICE"] {
            assert!(is_licence(Path::new(name)), "{name}");
        }
        assert!(!is_licence(Path::new("README.md")));
    }
}
