//! The files of the workspace, read once.

use std::{fs, path::Path, str::FromStr};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

/// Not looked into: what cargo builds, and what git keeps.
const SKIPPED: [&str; 2] = ["target", ".git"];
/// The files that a check reads.
const READ: [&str; 4] = ["rs", "toml", "md", "txt"];

/// The workspace's text files and the names at its top.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Names of files and folders in the root, those skipped left out.
    pub top_level: Vec<String>,
    /// Rust, TOML, Markdown and plain text files.
    pub files: Vec<File>,
}

/// A text file.
#[derive(Debug)]
pub(super) struct File {
    /// From the root, with `/` between its parts.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl Tree {
    /// Reads everything under `root`.
    ///
    /// # Errors
    /// When a folder or file cannot be read.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        for (name, _) in entries(root)? {
            tree.top_level.push(name);
        }
        tree.walk(root, "")?;
        Ok(tree)
    }

    fn walk(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        for (name, kind) in entries(folder)? {
            let path = folder.join(&name);
            if kind.is_dir() {
                self.walk(&path, &format!("{prefix}{name}/"))?;
                continue;
            }
            let extension = path.extension().and_then(|extension| extension.to_str());
            if kind.is_file() && extension.is_some_and(|known| READ.contains(&known)) {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("{prefix}{name} cannot be read"))?;
                self.files.push(File { path: format!("{prefix}{name}"), text });
            }
        }
        Ok(())
    }

    /// Files with this extension.
    pub(super) fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        let ending = format!(".{extension}");
        self.files.iter().filter(move |file| file.path.ends_with(&ending))
    }

    /// The file at this path.
    pub(super) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// A folder's names in order, those skipped left out. Links are not followed.
fn entries(folder: &Path) -> Result<Vec<(String, fs::FileType)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !SKIPPED.contains(&name.as_str()) {
            entries.push((name, entry.file_type()?));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

/// A word of Rust code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// As it is written.
    pub text: String,
    /// From 1.
    pub line: usize,
}

/// The identifiers and keywords of Rust code, in order; comments and literals are none.
///
/// # Errors
/// When the text is no Rust.
pub(super) fn words(text: &str) -> Result<Vec<Word>, String> {
    let stream = TokenStream::from_str(text).map_err(|error| error.to_string())?;
    let mut words = Vec::new();
    collect(stream, &mut words);
    Ok(words)
}

fn collect(stream: TokenStream, words: &mut Vec<Word>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => collect(group.stream(), words),
            TokenTree::Ident(ident) => {
                words.push(Word { text: ident.to_string(), line: ident.span().start().line })
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
pub(super) fn tree_of(files: &[(&str, &str)]) -> Tree {
    Tree {
        top_level: Vec::new(),
        files: files
            .iter()
            .map(|(path, text)| File { path: (*path).into(), text: (*text).into() })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_neither_comments_nor_literals() {
        let found = words("// unsafe\nfn f() {\n    let s = \"unsafe\"; // unsafe\n}").unwrap();
        let found: Vec<_> = found.iter().map(|w| (w.text.as_str(), w.line)).collect();
        assert_eq!(found, [("fn", 2), ("f", 2), ("let", 3), ("s", 3)]);
    }

    #[test]
    fn builds_and_links_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("target/debug")).unwrap();
        fs::create_dir_all(root.path().join("room/src")).unwrap();
        fs::write(root.path().join("target/debug/old.rs"), "").unwrap();
        fs::write(root.path().join("room/src/lib.rs"), "//! A room.").unwrap();
        fs::write(root.path().join("room/src/data.bin"), [0xff]).unwrap();
        std::os::unix::fs::symlink(root.path(), root.path().join("room/loop")).unwrap();

        let tree = Tree::read(root.path()).unwrap();

        assert_eq!(tree.top_level, ["room"]);
        let paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["room/src/lib.rs"]);
    }
}
