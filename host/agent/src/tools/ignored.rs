//! `.gitignore` files on the way of a walk, read through its handles.

use std::{ffi::OsStr, io::Read, path::Path};

use cap_std::fs::Dir;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::place::open_file;
use crate::limits::MAX_IGNORE_FILE_BYTES;

/// The rules of the folders from the start of a walk down to where it is.
#[derive(Default)]
pub(super) struct Ignored {
    rules: Vec<Gitignore>,
}

impl Ignored {
    /// Adds the rules of a folder; `path` counts from the start. Rules that make no sense are
    /// left out, as git does.
    pub(super) fn enter(&mut self, folder: &Dir, path: &Path) {
        let mut builder = GitignoreBuilder::new(path);
        for line in text(folder).lines() {
            let _ = builder.add_line(None, line);
        }
        self.rules.push(builder.build().unwrap_or_else(|_| Gitignore::empty()));
    }

    /// Drops what the last [`Ignored::enter`] added.
    pub(super) fn leave(&mut self) {
        self.rules.pop();
    }

    /// Whether the rules nearest to the path that say something of it ignore it.
    pub(super) fn holds(&self, path: &Path, is_folder: bool) -> bool {
        let verdicts = self.rules.iter().rev().map(|rules| rules.matched(path, is_folder));
        verdicts
            .into_iter()
            .find(|verdict| !verdict.is_none())
            .is_some_and(|v| Match::is_ignore(&v))
    }
}

/// What cannot be read says nothing.
fn text(folder: &Dir) -> String {
    let mut bytes = Vec::new();
    if let Ok((file, _)) = open_file(folder, OsStr::new(".gitignore")) {
        let _ = file.take(MAX_IGNORE_FILE_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
