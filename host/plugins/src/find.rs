//! Step 1: which files are plugins, in which order.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use scv_plugin_api::wire::is_name;

use crate::{Refusal, SearchPath, Step, limits::MAX_FILES_COUNT, trust};

#[cfg(target_os = "macos")]
pub(crate) const EXTENSION: &str = ".dylib";
#[cfg(not(target_os = "macos"))]
pub(crate) const EXTENSION: &str = ".so";
pub(crate) const PREFIX: &str = "libscv_channel_";

/// A file that is a plugin, or looks like one that somebody meant to be found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) file: PathBuf,
    /// The plugin's name; the file's where it is no plugin's.
    pub(crate) name: String,
    /// Whether only a pinned file is loaded from its folder.
    pub(crate) needs_pin: bool,
    /// Why it is not looked at any further.
    pub(crate) refusal: Option<Refusal>,
}

/// Every plugin file, in the order of the search path and then of the names. A folder that
/// does not exist holds none; one that cannot be trusted or read is a finding of its own.
pub(crate) fn find(search: &SearchPath) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for dir in search.dirs() {
        let needs_pin = search.needs_pins(dir);
        match files_of(dir) {
            Ok(files) => files.into_iter().for_each(|file| {
                let next = judge(&found, file, needs_pin);
                found.push(next);
            }),
            Err(refusal) => found.push(Found {
                file: dir.clone(),
                name: dir.to_string_lossy().into_owned(),
                needs_pin,
                refusal: Some(refusal),
            }),
        }
        if found.len() > MAX_FILES_COUNT {
            break;
        }
    }
    cut(&mut found);
    found
}

fn files_of(dir: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let dir = match fs::canonicalize(dir) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(dir, &error)),
    };
    trust::folder(&dir)?;
    let entries = fs::read_dir(&dir).map_err(|error| unreadable(&dir, &error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|file| file.to_string_lossy().ends_with(EXTENSION))
        .take(MAX_FILES_COUNT + 1)
        .collect();
    files.sort();
    Ok(files)
}

fn unreadable(dir: &Path, error: &io::Error) -> Refusal {
    Refusal::new(
        Step::Find,
        format!("the folder {} cannot be read: {error}", dir.display()),
        "make it readable or leave it out of the search path",
    )
}

fn judge(before: &[Found], file: PathBuf, needs_pin: bool) -> Found {
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = file_name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(EXTENSION));
    let (name, refusal) = match stem {
        Some(name) if is_name(name) => (name.to_owned(), taken(before, name)),
        _ => (file_name.into_owned(), Some(ignored())),
    };
    Found { file, name, needs_pin, refusal }
}

fn ignored() -> Refusal {
    Refusal::new(
        Step::Find,
        "it is ignored: the file's name does not say that it is a plugin",
        format!("name it {PREFIX}NAME{EXTENSION}, or move it elsewhere"),
    )
}

fn taken(before: &[Found], name: &str) -> Option<Refusal> {
    let first = before.iter().find(|found| found.name == name)?;
    Some(Refusal::new(
        Step::Conflict,
        format!("{} has the same name and is found first", first.file.display()),
        "remove one of the two files",
    ))
}

fn cut(found: &mut [Found]) {
    for beyond in found.iter_mut().skip(MAX_FILES_COUNT) {
        beyond.refusal = Some(Refusal::new(
            Step::Find,
            format!("{MAX_FILES_COUNT} plugin files were found before it, and no more are read"),
            "remove files that are not needed",
        ));
    }
}
