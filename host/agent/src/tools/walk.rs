//! Goes through a folder and what is below it, by handles, in order, within limits.

use std::{
    ffi::{OsStr, OsString},
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, FileType};
use tokio_util::sync::CancellationToken;

use super::ignored::Ignored;
use crate::limits::{MAX_FOLDER_NAMES_COUNT, MAX_WALK_DEPTH_COUNT, WALK_MS};

/// Why a walk ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Cancelled,
    TimeOver,
    /// There is enough.
    Full,
}

/// What a walk passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
    Link,
    Other,
}

/// A name that a walk passes.
pub(super) struct Found<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: &'a OsStr,
    /// From where the walk began.
    pub(super) path: &'a Path,
    pub(super) kind: Kind,
}

/// Bounds the time of a walk.
pub(super) struct Patience {
    deadline: Instant,
    cancel: CancellationToken,
}

/// How to walk.
pub(super) struct Walk {
    pub(super) patience: Patience,
    /// 1 is the folder alone.
    pub(super) depth: usize,
    /// Whether what an ignore file names is passed by.
    pub(super) obeys_ignore_files: bool,
    /// Folders that could not be read, or not as a whole.
    pub(super) unread: usize,
}

impl Patience {
    pub(super) fn new(cancel: CancellationToken) -> Self {
        Self { deadline: Instant::now() + Duration::from_millis(WALK_MS), cancel }
    }

    pub(super) fn check(&self) -> ControlFlow<Stop> {
        if self.cancel.is_cancelled() {
            return ControlFlow::Break(Stop::Cancelled);
        }
        match Instant::now() < self.deadline {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(Stop::TimeOver),
        }
    }
}

impl Walk {
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, depth: MAX_WALK_DEPTH_COUNT, obeys_ignore_files: true, unread: 0 }
    }

    /// Shows each name to `visit`, a folder before what is in it. Links are shown and not
    /// followed.
    pub(super) fn run(
        &mut self,
        start: &Dir,
        visit: &mut dyn FnMut(&Found<'_>) -> ControlFlow<Stop>,
    ) -> ControlFlow<Stop> {
        self.folder(start, Path::new(""), 1, &mut Ignored::default(), visit)
    }

    fn folder(
        &mut self,
        folder: &Dir,
        path: &Path,
        depth: usize,
        ignored: &mut Ignored,
        visit: &mut dyn FnMut(&Found<'_>) -> ControlFlow<Stop>,
    ) -> ControlFlow<Stop> {
        let names = self.names(folder)?;
        let has_name =
            |name: &str| names.binary_search_by(|(n, _)| (**n).cmp(name.as_ref())).is_ok();
        let has_manifest = has_name("Cargo.toml");
        let has_rules = self.obeys_ignore_files && has_name(".gitignore");
        if has_rules {
            ignored.enter(folder, path);
        }
        for (name, kind) in &names {
            self.patience.check()?;
            let path = path.join(name);
            if self.obeys_ignore_files && ignored.holds(&path, *kind == Kind::Folder) {
                continue;
            }
            visit(&Found { folder, name, path: &path, kind: *kind })?;
            if *kind != Kind::Folder || depth >= self.depth || is_stored(name, has_manifest) {
                continue;
            }
            match folder.open_dir_nofollow(name) {
                Ok(below) if is_cache(&below) => {}
                Ok(below) => self.folder(&below, &path, depth + 1, ignored, visit)?,
                Err(_) => self.unread += 1,
            }
        }
        if has_rules {
            ignored.leave();
        }
        ControlFlow::Continue(())
    }

    /// Sorted by bytes.
    fn names(&mut self, folder: &Dir) -> ControlFlow<Stop, Vec<(OsString, Kind)>> {
        let Ok(entries) = folder.entries() else {
            self.unread += 1;
            return ControlFlow::Continue(Vec::new());
        };
        let mut names = Vec::new();
        for entry in entries {
            let Ok(entry) = entry else {
                self.unread += 1;
                break;
            };
            if names.len() == MAX_FOLDER_NAMES_COUNT {
                self.unread += 1;
                break;
            }
            if names.len() % 1024 == 0 {
                self.patience.check()?;
            }
            names.push((entry.file_name(), entry.file_type().map_or(Kind::Other, Kind::of)));
        }
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        ControlFlow::Continue(names)
    }
}

impl Kind {
    fn of(kind: FileType) -> Self {
        if kind.is_dir() {
            Self::Folder
        } else if kind.is_file() {
            Self::File
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

/// Folders that other programs keep their own things in, known by name.
fn is_stored(name: &OsStr, has_manifest: bool) -> bool {
    match name.to_str() {
        Some(".git" | ".hg" | ".svn" | ".jj" | "node_modules" | "__pycache__" | ".venv") => true,
        Some("target") => has_manifest,
        _ => false,
    }
}

/// Whether a program says that it can make all of this again (bford.info/cachedir, 2026-11).
fn is_cache(folder: &Dir) -> bool {
    folder.symlink_metadata("CACHEDIR.TAG").is_ok_and(|tag| tag.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tools::place::tests::{Folder, folder};

    fn walked(folder: &Folder, change: impl FnOnce(&mut Walk)) -> Vec<String> {
        let mut walk = Walk::new(Patience::new(CancellationToken::new()));
        change(&mut walk);
        let mut paths = Vec::new();
        let end = walk.run(&folder.dir, &mut |found| {
            paths.push(found.path.to_str().expect("UTF-8").to_owned());
            ControlFlow::Continue(())
        });
        assert_eq!(end, ControlFlow::Continue(()));
        assert_eq!(walk.unread, 0);
        paths
    }

    #[test]
    fn in_order_and_never_through_links() {
        let folder = folder();
        for path in ["b/z", "b/a", "a", "c/d/e"] {
            folder.put(path, "");
        }
        folder.link("..", "up");
        folder.link("c", "again");
        let all = ["a", "again", "b", "b/a", "b/z", "c", "c/d", "c/d/e", "up"];
        assert_eq!(walked(&folder, |_| {}), all);
        assert_eq!(walked(&folder, |walk| walk.depth = 1), ["a", "again", "b", "c", "up"]);
    }

    #[test]
    fn what_is_made_or_stored_is_not_entered() {
        let folder = folder();
        for path in [
            ".git/config",
            "Cargo.toml",
            "target/a.o",
            "src/target/a.rs",
            "x/y/CACHEDIR.TAG",
            "x/y/junk",
            "web/node_modules/a.js",
        ] {
            folder.put(path, "");
        }
        let all = [
            ".git",
            "Cargo.toml",
            "src",
            "src/target",
            "src/target/a.rs",
            "target",
            "web",
            "web/node_modules",
            "x",
            "x/y",
        ];
        assert_eq!(walked(&folder, |_| {}), all);
    }

    #[test]
    fn ignore_files_are_obeyed_where_they_stand() {
        let folder = folder();
        folder.put(".gitignore", "*.log\n/out\nbuild/\n!keep.log\n");
        folder.put("sub/.gitignore", "!special.log\nlocal\n");
        for path in [
            "a.log",
            "keep.log",
            "out/x",
            "sub/out/x",
            "sub/build/x",
            "sub/special.log",
            "sub/local",
            "local",
            "build",
        ] {
            folder.put(path, "");
        }
        let all = [
            ".gitignore",
            "build",
            "keep.log",
            "local",
            "sub",
            "sub/.gitignore",
            "sub/out",
            "sub/out/x",
            "sub/special.log",
        ];
        assert_eq!(walked(&folder, |_| {}), all);
        assert!(walked(&folder, |walk| walk.obeys_ignore_files = false).contains(&"a.log".into()));
    }

    #[test]
    fn ends_when_it_is_told_to() {
        let folder = folder();
        folder.put("a/b", "");
        let cancel = CancellationToken::new();
        let mut walk = Walk::new(Patience::new(cancel.clone()));
        let end = walk.run(&folder.dir, &mut |_| {
            cancel.cancel();
            ControlFlow::Continue(())
        });
        assert_eq!(end, ControlFlow::Break(Stop::Cancelled));
        let mut walk = Walk::new(Patience::new(CancellationToken::new()));
        walk.patience.deadline = Instant::now();
        let end = walk.run(&folder.dir, &mut |_| ControlFlow::Continue(()));
        assert_eq!(end, ControlFlow::Break(Stop::TimeOver));
        fs::remove_dir_all(&folder.root).expect("removed");
    }
}
