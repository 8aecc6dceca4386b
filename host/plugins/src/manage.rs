//! What a person decides about plugins: adding, removing, switching on and off.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use scv_plugin_api::wire::is_name;

use crate::{
    HostOptions, PluginReport, PluginState, Refusal, Step,
    cache::Cache,
    child::Spec,
    find::{EXTENSION, PREFIX},
    inspect::{Inspected, fits, inspect},
    limits::MAX_FILE_BYTES,
    pins::{Pins, now_unix_seconds},
    probe::probe,
    read::Contents,
    scan::scan,
    sentinel,
};

/// Whether what a person decided about plugins can be read. While it cannot, nothing that needs a
/// pin is served, and no other plugin that the file may name.
///
/// # Errors
/// What is wrong with the file of pins.
pub fn readable(home: &Path) -> Result<(), Refusal> {
    Pins::read(home).map(drop).map_err(Refusal::from)
}

/// Puts a plugin file into the home's folder and pins exactly these bytes. They are loaded in a
/// child first; a file that does not load is not added.
///
/// # Errors
/// The step that refused it; nothing has changed then.
pub async fn add(options: &HostOptions, path: &Path) -> Result<PluginReport, Refusal> {
    let home = home(options)?;
    let contents = contents(path)?;
    let Inspected { manifest, text, .. } = inspect(&contents.bytes)?;
    fits(&contents.bytes, &manifest, &manifest.name)?;
    let copy = Cache::lock(&options.cache_dir).await?.store(&contents)?;
    let spec = Spec {
        helper: &options.helper,
        copy: &copy.path,
        manifest: &text,
        deadlines: &options.deadlines,
    };
    probe(&spec, &manifest.name, None).await.map_err(|failure| failure.refusal)?;
    let name = manifest.name.clone();
    Pins::edit(home, |pins| {
        let placed = place(home, &name, &contents.bytes);
        placed.map_err(|error| not_placed(home, &error))?;
        let pin = pins.plugins.entry(name.clone()).or_default();
        pin.sha256 = Some(contents.sha256.clone());
        pin.version = Some(manifest.version.clone());
        pin.added_unix_seconds = Some(now_unix_seconds());
        pin.enabled = true;
        pin.quarantined = None;
        Ok(())
    })?;
    sentinel::clear(&options.cache_dir, &contents.sha256);
    known(options, &name)
}

/// Takes a plugin out of the home's folder, with its pin.
///
/// # Errors
/// When it is not there, with where it is instead.
pub fn remove(options: &HostOptions, name: &str) -> Result<(), Refusal> {
    let home = home(options)?;
    let name = checked(name)?;
    let file = file(home, name);
    Pins::edit(home, |pins| {
        let was_pinned = pins.plugins.get(name).is_some_and(|pin| pin.sha256.is_some());
        match fs::remove_file(&file) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound && was_pinned => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(not_here(options, name));
            }
            Err(error) => return Err(not_placed(home, &error)),
        }
        pins.plugins.remove(name);
        Ok(())
    })
}

/// Switches a plugin on, and lifts its quarantine.
///
/// # Errors
/// When there is no such plugin, or the pins cannot be written.
pub fn enable(options: &HostOptions, name: &str) -> Result<PluginReport, Refusal> {
    let before = known(options, checked(name)?)?;
    Pins::edit(home(options)?, |pins| {
        if let Some(pin) = pins.plugins.get_mut(name) {
            pin.enabled = true;
            pin.quarantined = None;
        }
        Ok(())
    })?;
    sentinel::clear(&options.cache_dir, &before.sha256);
    known(options, name)
}

/// Switches a plugin off: it claims no channel.
///
/// # Errors
/// As [`enable`].
pub fn disable(options: &HostOptions, name: &str) -> Result<PluginReport, Refusal> {
    known(options, checked(name)?)?;
    Pins::edit(home(options)?, |pins| {
        pins.plugins.entry(name.to_owned()).or_default().enabled = false;
        Ok(())
    })?;
    known(options, name)
}

fn home(options: &HostOptions) -> Result<&Path, Refusal> {
    options.search.home().ok_or_else(|| {
        Refusal::new(Step::Pin, "there is no home to keep it in", "name one with --scv-home")
    })
}

fn checked(name: &str) -> Result<&str, Refusal> {
    if is_name(name) {
        return Ok(name);
    }
    Err(no_plugin(name))
}

/// The first file of this name, which is the one that counts.
fn known(options: &HostOptions, name: &str) -> Result<PluginReport, Refusal> {
    let reports = scan(&options.search, &options.policy);
    reports.into_iter().find(|report| report.name == name).ok_or_else(|| no_plugin(name))
}

fn no_plugin(name: &str) -> Refusal {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
    Refusal::new(
        Step::Find,
        format!("there is no plugin '{shown}'"),
        "`scv plugins list` shows those there are",
    )
}

fn not_here(options: &HostOptions, name: &str) -> Refusal {
    match known(options, name) {
        Ok(report) if report.state != PluginState::Disabled => Refusal::new(
            Step::Find,
            format!("'{name}' was not added, it is {}", report.file.display()),
            format!("switch it off with `scv plugins disable {name}`"),
        ),
        Ok(report) => Refusal::new(
            Step::Find,
            format!("'{name}' was not added, it is {}", report.file.display()),
            "it is switched off already",
        ),
        Err(refusal) => refusal,
    }
}

fn file(home: &Path, name: &str) -> PathBuf {
    home.join("plugins").join(format!("{PREFIX}{name}{EXTENSION}"))
}

/// The bytes of a file that a person named; who else could change it does not matter, because
/// what is loaded later is what was read now.
fn contents(path: &Path) -> Result<Contents, Refusal> {
    let found = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => no_file(path),
        _ => unreadable(path, &error),
    })?;
    if found.is_dir() {
        return Err(is_folder(path));
    }
    if !found.is_file() {
        let reason = format!("{} is no regular file", path.display());
        return Err(Refusal::new(Step::Find, reason, "name the built library itself"));
    }
    if found.len() > MAX_FILE_BYTES {
        return Err(Refusal::new(
            Step::Read,
            format!("it is larger than {MAX_FILE_BYTES} bytes"),
            "build the plugin with the profile for distribution",
        ));
    }
    let read = File::open(path).and_then(|file| Contents::read(&file));
    read.map_err(|error| unreadable(path, &error))
}

/// What was probably meant by a path that leads nowhere.
fn no_file(path: &Path) -> Refusal {
    let reason = format!("there is no file {}", path.display());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or_else(|| Path::new("."));
    if !parent.is_dir() {
        let fix = format!("there is no folder {} either; check the path", parent.display());
        return Refusal::new(Step::Find, reason, fix);
    }
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let fix = match nearest(&libraries(parent), &wanted) {
        Some(near) => format!("did you mean {}?", parent.join(near).display()),
        None => format!(
            "{} holds no plugin; `cargo build --release` puts one into target/release",
            parent.display()
        ),
    };
    Refusal::new(Step::Find, reason, fix)
}

fn is_folder(path: &Path) -> Refusal {
    let reason = format!("{} is a folder", path.display());
    let libraries = libraries(path);
    let fix = match &libraries[..] {
        [one] => format!("did you mean {}?", path.join(one).display()),
        [] if path.join("Cargo.toml").is_file() => format!(
            "build it first with `cargo build --release`, then name {}",
            path.join(format!("target/release/{PREFIX}NAME{EXTENSION}")).display()
        ),
        [] => "it holds no plugin; name the built library itself".to_owned(),
        several => format!("name one of its files: {}", several.join(", ")),
    };
    Refusal::new(Step::Find, reason, fix)
}

fn libraries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> =
        names.filter(|name| name.starts_with(PREFIX) && name.ends_with(EXTENSION)).collect();
    names.sort();
    names
}

/// The name with the fewest letters in other places.
fn nearest<'a>(names: &'a [String], wanted: &str) -> Option<&'a String> {
    let common = |name: &String| {
        let from_front = name.chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
        let backwards = name.chars().rev().zip(wanted.chars().rev());
        from_front + backwards.take_while(|(a, b)| a == b).count()
    };
    names.iter().max_by_key(|name| common(name))
}

fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(
        Step::Read,
        format!("{} cannot be read: {error}", path.display()),
        "make it readable for the user that runs scv",
    )
}

/// Whole or not at all: a daemon may look into the folder at any moment.
fn place(home: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let file = file(home, name);
    let dir = home.join("plugins");
    match DirBuilder::new().mode(0o700).create(&dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let unfinished = dir.join("new.tmp");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut new = options.write(true).create_new(true).mode(0o600).open(&unfinished)?;
    new.write_all(bytes)?;
    new.sync_all()?;
    fs::rename(&unfinished, file)?;
    File::open(dir)?.sync_all()
}

fn not_placed(home: &Path, error: &io::Error) -> Refusal {
    Refusal::new(
        Step::Pin,
        format!("{} cannot be changed: {error}", home.join("plugins").display()),
        "make room there, or make the folder yours with mode 0700",
    )
}
