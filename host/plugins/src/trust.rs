//! Step 2: nobody but this user and root can have put or changed a file.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
};

use rustix::process::{getegid, geteuid};

use crate::{Refusal, Step, private_group};

const STICKY: u32 = 0o1000;
const GROUP_WRITE: u32 = 0o020;
const OTHER_WRITE: u32 = 0o002;

/// Walks a folder with all links resolved, from the root down.
pub(crate) fn folder(canonical: &Path) -> Result<(), Refusal> {
    let mut components: Vec<&Path> = canonical.ancestors().collect();
    components.reverse();
    for component in components {
        let metadata = fs::symlink_metadata(component).map_err(|error| {
            refuse(
                format!("{} cannot be examined: {error}", component.display()),
                "make it readable or leave it out of the search path",
            )
        })?;
        if !metadata.is_dir() {
            return Err(refuse(
                format!("{} is no folder", component.display()),
                "name a folder that holds plugins",
            ));
        }
        owner_and_mode(component, &metadata)?;
    }
    Ok(())
}

/// Judges an opened file by what is open, not by what its name may mean a moment later.
pub(crate) fn file(path: &Path, metadata: &Metadata) -> Result<(), Refusal> {
    if !metadata.is_file() {
        return Err(refuse(
            format!("{} is no regular file", path.display()),
            "put the plugin's file itself there",
        ));
    }
    owner_and_mode(path, metadata)
}

/// The text for a file that is a link: where it leads was not checked.
pub(crate) fn is_a_link(path: &Path) -> Refusal {
    refuse(format!("{} is a symbolic link", path.display()), "put the plugin's file itself there")
}

fn owner_and_mode(path: &Path, metadata: &Metadata) -> Result<(), Refusal> {
    let name = path.display();
    let euid = geteuid().as_raw();
    if metadata.uid() != euid && metadata.uid() != 0 {
        let reason = format!("{name} belongs to another user (uid {})", metadata.uid());
        return Err(refuse(reason, format!("run `chown {euid} {name}`")));
    }
    let mode = metadata.mode();
    if metadata.is_dir() && mode & STICKY != 0 {
        return Ok(());
    }
    if mode & OTHER_WRITE != 0 {
        return Err(writable(path, mode));
    }
    if mode & GROUP_WRITE != 0 && !is_own_private_group(metadata.gid()) {
        return Err(writable(path, mode));
    }
    Ok(())
}

fn is_own_private_group(gid: u32) -> bool {
    gid == getegid().as_raw() && private_group::is_private(gid, geteuid().as_raw())
}

fn writable(path: &Path, mode: u32) -> Refusal {
    let name = path.display();
    refuse(
        format!("{name} is writable by group or others (mode {:04o})", mode & 0o7777),
        format!("run `chmod go-w {name}`"),
    )
}

fn refuse(reason: String, fix: impl Into<String>) -> Refusal {
    Refusal::new(Step::Trust, reason, fix)
}
