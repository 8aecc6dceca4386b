//! The home, and who else could read what is in it.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use scv_daemon::prepare_home;

use super::Finding;
use crate::limits::MAX_DOCTOR_ENTRIES_COUNT;

const OTHERS: u32 = 0o077;

pub(super) fn look(home: &Path) -> Vec<Finding> {
    let shown = home.display();
    match fs::symlink_metadata(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = format!("{shown} does not exist yet; scv makes it when it needs it");
            return vec![Finding::ok("home", text)];
        }
        _ => {}
    }
    if let Err(error) = prepare_home(home) {
        return vec![Finding::error("home", &error.into())];
    }
    vec![Finding::ok("home", format!("{shown} is yours alone to change")), modes(home)]
}

/// Accounts and what is known of them must be readable by their owner only.
fn modes(home: &Path) -> Finding {
    let channels = home.join("channels");
    let mut left = MAX_DOCTOR_ENTRIES_COUNT;
    match open_to_others(&channels, &mut left) {
        Some(path) => Finding::wrong(
            "modes",
            format!("others can read {}", path.display()),
            format!("run `chmod -R go-rwx {}`", channels.display()),
        ),
        None => Finding::ok("modes", "accounts and their state are readable by you only"),
    }
}

/// The first path, from the top, that others have any right to.
fn open_to_others(path: &Path, left: &mut usize) -> Option<PathBuf> {
    let found = fs::symlink_metadata(path).ok()?;
    if found.is_symlink() || *left == 0 {
        return None;
    }
    *left -= 1;
    if found.mode() & OTHERS != 0 {
        return Some(path.to_owned());
    }
    if !found.is_dir() {
        return None;
    }
    let entries = fs::read_dir(path).ok()?;
    entries.filter_map(Result::ok).find_map(|entry| open_to_others(&entry.path(), left))
}
