//! Where a path of the model leads: a folder's handle and a name in it, never outside of the
//! workspace.
//!
//! Links are followed once, by the workspace's handle, which refuses what leads out. The real path
//! is then walked part by part without following links, so that nobody can exchange a part between
//! the look and the use.

use std::{
    ffi::OsStr,
    io,
    path::{Component, Path, PathBuf},
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt};
use rustix::{fs::OFlags, io::Errno};

use super::{Refusal, Workshop, secrecy};
use crate::limits::{MAX_PATH_BYTES, MAX_PATH_PARTS_COUNT};

/// Why a tool did not get at a file or folder, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FileFault {
    #[error("there is no such file or folder; check the path")]
    NotFound,
    #[error("the path leads out of the workspace; choose one inside")]
    Outside,
    #[error("the file or folder may not be accessed; check its permissions or choose another")]
    Denied,
    #[error("this is no regular file; name a file")]
    NotAFile,
    #[error("this is no folder, or a part of the path is none; check the path")]
    NotAFolder,
    #[error("the path leads to a file that may hold secrets; ask for it by its own name")]
    HiddenSecret,
    #[error("the path holds a link that leads nowhere; remove the link or choose another path")]
    DeadLink,
    #[error("the file was changed by somebody else; read it again")]
    Changed,
    #[error("the file's content is not the one that expected_sha256 names; read it again")]
    Unexpected,
    #[error("the file would be, or is, larger than {0} bytes; change it with a command")]
    TooLarge(usize),
    #[error("the file ends before line {0}; choose a smaller offset")]
    PastEnd(u64),
    #[error("the first line is too far into the file; use a command to find the part you need")]
    TooFar,
    #[error("{0}")]
    NoMatch(String),
    #[error("the file or folder could not be used; try again or choose another")]
    Io,
}

impl From<io::Error> for FileFault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            // The handle's own refusal carries no number of the system.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::Outside,
            io::ErrorKind::PermissionDenied => Self::Denied,
            io::ErrorKind::IsADirectory => Self::NotAFile,
            io::ErrorKind::NotADirectory => Self::NotAFolder,
            _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Self::NotAFolder,
            _ => Self::Io,
        }
    }
}

/// A file or folder of the workspace, which need not exist.
#[derive(Debug)]
pub(super) struct Place<'a> {
    root: &'a Dir,
    /// Relative to the workspace, without links; empty for the workspace itself.
    real: PathBuf,
}

/// What can be said of a path before anybody is asked.
pub(super) fn check(path: &Path) -> Result<(), Refusal> {
    let length = path.as_os_str().len();
    if length == 0 || length > MAX_PATH_BYTES {
        return Err(Refusal::arguments("the path is empty or too long; name one file or folder"));
    }
    if path.components().count() > MAX_PATH_PARTS_COUNT {
        return Err(Refusal::arguments("the path has too many parts; name a shorter one"));
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(Refusal::arguments("the path holds a NUL; name one file or folder"));
    }
    Ok(())
}

/// Opens a folder of the workspace away from the runtime.
pub(super) async fn open_folder(workshop: &Workshop, path: PathBuf) -> Result<Dir, FileFault> {
    let root = workshop.dir.try_clone()?;
    let workspace = workshop.cwd.clone();
    let open = move || Place::of(&root, &workspace, &path)?.open_folder();
    tokio::task::spawn_blocking(open).await.unwrap_or(Err(FileFault::Io))
}

impl<'a> Place<'a> {
    /// Follows links, and refuses a harmless name for a file that may hold secrets: what may be
    /// done without asking was judged by the name.
    pub(super) fn of(root: &'a Dir, workspace: &Path, path: &Path) -> Result<Self, FileFault> {
        // An absolute path below the workspace is made relative to it; others stay as they are
        // and are refused by the handle.
        let named = path.strip_prefix(workspace).unwrap_or(path);
        let named = if named.as_os_str().is_empty() { Path::new(".") } else { named };
        let real = resolve(root, named)?;
        if secrecy::is_secret_path(&real) && !secrecy::is_secret_path(named) {
            return Err(FileFault::HiddenSecret);
        }
        Ok(Self { root, real })
    }

    /// The name in its folder.
    pub(super) fn name(&self) -> Result<&OsStr, FileFault> {
        self.real.file_name().ok_or(FileFault::NotAFile)
    }

    /// The folder that it is in.
    pub(super) fn parent(&self) -> Result<Dir, FileFault> {
        walk(self.root, self.real.parent().unwrap_or(Path::new("")), false)
    }

    /// The folder that it is in, made if need be.
    pub(super) fn make_parent(&self) -> Result<Dir, FileFault> {
        walk(self.root, self.real.parent().unwrap_or(Path::new("")), true)
    }

    pub(super) fn open_folder(&self) -> Result<Dir, FileFault> {
        walk(self.root, &self.real, false)
    }

    /// Opens a regular file for reading.
    pub(super) fn open_file(&self) -> Result<(File, Metadata), FileFault> {
        if self.real.as_os_str().is_empty() {
            return Err(FileFault::NotAFile);
        }
        open_file(&self.parent()?, self.name()?)
    }
}

/// Opens a regular file of this folder for reading; follows no link.
pub(super) fn open_file(folder: &Dir, name: &OsStr) -> Result<(File, Metadata), FileFault> {
    let mut options = OpenOptions::new();
    // A FIFO would hold an open without this until somebody writes.
    options
        .read(true)
        .follow(FollowSymlinks::No)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = folder.open_with(name, &options)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileFault::NotAFile);
    }
    Ok((file, metadata))
}

/// The path with all links followed; parts at its end may be missing.
fn resolve(root: &Dir, path: &Path) -> Result<PathBuf, FileFault> {
    let mut missing = Vec::new();
    let mut rest = path;
    loop {
        match root.canonicalize(rest) {
            Ok(real) => {
                let parts = real.components().filter(|part| *part != Component::CurDir);
                let real: PathBuf = parts.collect();
                return Ok(missing.iter().rev().fold(real, |real, name| real.join(name)));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Err(_) => {}
        }
        if root.symlink_metadata(rest).is_ok() {
            return Err(FileFault::DeadLink);
        }
        let Some(Component::Normal(name)) = rest.components().next_back() else {
            return Err(FileFault::NotFound);
        };
        missing.push(name);
        rest = match rest.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
    }
}

/// Goes to a folder without following links.
fn walk(root: &Dir, path: &Path, make: bool) -> Result<Dir, FileFault> {
    let mut folder = root.try_clone()?;
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(FileFault::Outside);
        };
        folder = match folder.open_dir_nofollow(name) {
            Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
                folder.create_dir(name)?;
                folder.open_dir_nofollow(name)?
            }
            opened => opened?,
        };
    }
    Ok(folder)
}

#[cfg(test)]
pub(super) mod tests {
    use std::{fs, os::unix::fs::symlink};

    use cap_std::ambient_authority;

    use super::*;

    /// A workspace `work` beside a file `outside`.
    pub(in crate::tools) struct Folder {
        pub(in crate::tools) temp: tempfile::TempDir,
        pub(in crate::tools) root: PathBuf,
        pub(in crate::tools) dir: Dir,
    }

    pub(in crate::tools) fn folder() -> Folder {
        let temp = tempfile::tempdir().expect("a folder");
        let root = temp.path().canonicalize().expect("a path").join("work");
        fs::create_dir(&root).expect("a folder");
        fs::write(temp.path().join("outside"), "outside").expect("a file");
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).expect("opens");
        Folder { temp, root, dir }
    }

    impl Folder {
        pub(in crate::tools) fn place(&self, path: &str) -> Result<Place<'_>, FileFault> {
            Place::of(&self.dir, &self.root, Path::new(path))
        }

        pub(in crate::tools) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, content).expect("a file");
        }

        pub(in crate::tools) fn get(&self, path: &str) -> String {
            fs::read_to_string(self.root.join(path)).expect("a file")
        }

        pub(in crate::tools) fn link(&self, to: impl AsRef<Path>, path: &str) {
            symlink(to, self.root.join(path)).expect("a link");
        }
    }

    #[test]
    fn paths_become_real_ones() {
        let folder = folder();
        folder.put("a/b/c.txt", "");
        folder.link("a/b", "short");
        let absolute = folder.root.join("a/b/c.txt");
        for (path, real) in [
            (".", ""),
            ("a/./b/../b/c.txt", "a/b/c.txt"),
            ("short/c.txt", "a/b/c.txt"),
            ("short/new/file", "a/b/new/file"),
            ("new", "new"),
            (absolute.to_str().expect("UTF-8"), "a/b/c.txt"),
            (folder.root.to_str().expect("UTF-8"), ""),
        ] {
            assert_eq!(folder.place(path).expect(path).real, Path::new(real), "{path}");
        }
    }

    #[test]
    fn nothing_leads_out_of_the_workspace() {
        let folder = folder();
        folder.put("sub/x", "");
        folder.link("../outside", "link");
        folder.link(folder.temp.path(), "up");
        folder.link("link", "twice");
        folder.link("../../outside", "sub/out");
        for path in [
            "..",
            "../outside",
            "../new",
            "link",
            "twice",
            "up",
            "up/outside",
            "up/new",
            "sub/out",
            "sub/../../outside",
            "/etc/passwd",
            "/etc/no-such-file",
            "/",
        ] {
            assert_eq!(folder.place(path).map(drop), Err(FileFault::Outside), "{path}");
        }
        for path in ["no/../../outside", "no/.."] {
            let fault = folder.place(path).map(drop).expect_err("refused");
            assert!(matches!(fault, FileFault::NotFound | FileFault::Outside), "{path}: {fault}");
        }
    }

    #[test]
    fn a_part_that_is_exchanged_for_a_link_is_not_followed() {
        let folder = folder();
        folder.put("sub/file", "inside");
        folder.put("other/file", "other");
        let place = folder.place("sub/file").expect("a place");
        fs::rename(folder.root.join("sub"), folder.root.join("away")).expect("renamed");
        for to in ["other", "..", "/etc"] {
            folder.link(to, "sub");
            assert_eq!(place.open_file().map(drop), Err(FileFault::NotAFolder), "{to}");
            assert_eq!(place.make_parent().map(drop), Err(FileFault::NotAFolder), "{to}");
            fs::remove_file(folder.root.join("sub")).expect("removed");
        }
        folder.put("sub/other", "");
        folder.link("other", "sub/file");
        assert_eq!(place.open_file().map(drop), Err(FileFault::NotAFolder));
    }

    #[test]
    fn a_link_does_not_hide_a_secret() {
        let folder = folder();
        folder.put(".env", "KEY=1");
        folder.link(".env", "notes.txt");
        assert_eq!(folder.place("notes.txt").map(drop), Err(FileFault::HiddenSecret));
        assert!(folder.place(".env").is_ok());
    }

    #[test]
    fn links_that_lead_nowhere_are_told() {
        let folder = folder();
        folder.link("missing", "dead");
        folder.link("loop", "loop");
        assert_eq!(folder.place("dead").map(drop), Err(FileFault::DeadLink));
        assert_eq!(folder.place("dead/x").map(drop), Err(FileFault::DeadLink));
        assert!(folder.place("loop").is_err());
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = folder();
        let fifo = folder.root.join("fifo");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, rustix::fs::Mode::RUSR, 0)
            .expect("a fifo");
        folder.put("sub/x", "");
        for path in ["fifo", ".", "sub"] {
            let opened = folder.place(path).expect("a place").open_file();
            assert_eq!(opened.map(drop), Err(FileFault::NotAFile), "{path}");
        }
        let opened = folder.place("no").expect("a place").open_file();
        assert_eq!(opened.map(drop), Err(FileFault::NotFound));
    }
}
