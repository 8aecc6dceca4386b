//! Step 5: `$SCV_HOME/plugins.lock.json`, what a person decided about plugin files, and which
//! of them brought a daemon down.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, flock},
    process::geteuid,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Refusal, Step,
    limits::{CACHE_LOCK_POLL_MS, MAX_PINS_BYTES, PINS_LOCK_MS},
    read,
};

const FILE: &str = "plugins.lock.json";
const VERSION: u32 = 1;

/// The file. What a newer release wrote into it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pins {
    version: u32,
    #[serde(default)]
    pub(crate) plugins: BTreeMap<String, Pin>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What is known about one plugin. One outside of the home's folder appears only when it is
/// switched off or quarantined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pin {
    /// Of the bytes that a person has added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) added_unix_seconds: Option<u64>,
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
    #[serde(default)]
    pub(crate) quarantined: Option<Quarantine>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Bytes that brought a daemon down; others under the same name are not meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quarantine {
    pub(crate) sha256: String,
    pub(crate) reason: String,
    pub(crate) since_unix_seconds: u64,
}

impl Quarantine {
    pub(crate) fn now(sha256: String, reason: String) -> Self {
        Self { sha256, reason, since_unix_seconds: now_unix_seconds() }
    }
}

pub(crate) fn now_unix_seconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

/// A file of pins that cannot be used.
#[derive(Debug)]
pub(crate) struct Damaged {
    pub(crate) refusal: Refusal,
    /// As much of it as there is; none when it could not be read at all.
    text: Option<String>,
}

impl Damaged {
    /// Whether it may say that this plugin must not run. One that serves without a pin is
    /// named in the file only when somebody switched it off, or it crashed.
    pub(crate) fn may_name(&self, plugin: &str) -> bool {
        self.text.as_ref().is_none_or(|text| text.contains(&format!("\"{plugin}\"")))
    }
}

impl From<Damaged> for Refusal {
    fn from(damaged: Damaged) -> Self {
        damaged.refusal
    }
}

const fn yes() -> bool {
    true
}

impl Default for Pins {
    fn default() -> Self {
        Self { version: VERSION, plugins: BTreeMap::new(), rest: Map::new() }
    }
}

impl Default for Pin {
    fn default() -> Self {
        Self {
            sha256: None,
            version: None,
            added_unix_seconds: None,
            enabled: true,
            quarantined: None,
            rest: Map::new(),
        }
    }
}

impl Pin {
    /// Whether it says nothing that is not so without it.
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Pins {
    /// Reads the file of this home; without one nothing is pinned.
    pub(crate) fn read(home: &Path) -> Result<Self, Damaged> {
        let path = home.join(FILE);
        let (text, is_private) = match contents(&path) {
            Ok(contents) => contents,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                let refusal = unreadable(&path, &error.to_string()).transient();
                return Err(Damaged { refusal, text: None });
            }
        };
        let parsed = if is_private { Self::parse(&path, &text) } else { Err(shared(&path)) };
        parsed.map_err(|refusal| Damaged { refusal, text: Some(text) })
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Refusal> {
        let pins: Self =
            serde_json::from_str(text).map_err(|error| unreadable(path, &error.to_string()))?;
        if pins.version != VERSION {
            let reason = format!("it has version {}, this scv knows {VERSION}", pins.version);
            return Err(unreadable(path, &reason));
        }
        Ok(pins)
    }

    /// Changes the file, one process at a time, so that every reader sees all of a change or
    /// nothing of it. Blocks for some seconds at most.
    pub(crate) fn edit<T>(
        home: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let _lock = lock(home)?;
        let mut pins = Self::read(home)?;
        let done = change(&mut pins)?;
        pins.plugins.retain(|_, pin| !pin.is_empty());
        pins.write(home).map_err(|error| unwritable(home, &error))?;
        Ok(done)
    }

    fn write(&self, home: &Path) -> io::Result<()> {
        let unfinished = home.join("plugins.lock.json.tmp");
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&unfinished, home.join(FILE))?;
        File::open(home)?.sync_all()
    }
}

/// Waits for the right to change the file. The file itself is replaced, so that another one is
/// locked.
#[expect(clippy::disallowed_methods, reason = "it is called where blocking is right")]
fn lock(home: &Path) -> Result<File, Refusal> {
    let path = home.join("plugins.lock.json.lock");
    let file = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(home)
        .and_then(|()| {
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)
        })
        .map_err(|error| unwritable(home, &error))?;
    let deadline = Instant::now() + Duration::from_millis(PINS_LOCK_MS);
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() > deadline {
            return Err(Refusal::new(
                Step::Pin,
                format!("another scv process does not leave {FILE} to this one"),
                "try again; if that goes on, end the other one",
            )
            .transient());
        }
        thread::sleep(Duration::from_millis(CACHE_LOCK_POLL_MS));
    }
    Ok(file)
}

/// The file's text, and whether nobody else can change it.
fn contents(path: &Path) -> io::Result<(String, bool)> {
    let file = read::open(path)?;
    let metadata = file.metadata()?;
    let is_private = metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0;
    let mut bytes = Vec::new();
    file.take(MAX_PINS_BYTES).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), is_private))
}

fn shared(path: &Path) -> Refusal {
    Refusal::new(
        Step::Pin,
        format!("others can change {}", path.display()),
        format!("look into it, then run `chmod 600 {}`", path.display()),
    )
}

fn unreadable(path: &Path, reason: &str) -> Refusal {
    Refusal::new(
        Step::Pin,
        format!("{} cannot be read: {reason}", path.display()),
        "mend it or move it away; then add the plugins again",
    )
}

fn unwritable(home: &Path, error: &io::Error) -> Refusal {
    let path: PathBuf = home.join(FILE);
    Refusal::new(
        Step::Pin,
        format!("{} cannot be written: {error}", path.display()),
        "make room there, or make the folder yours with mode 0700",
    )
    .transient()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn set(home: &Path, name: &str, pin: Pin) {
        Pins::edit(home, |pins| {
            pins.plugins.insert(name.into(), pin);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn the_file_has_the_form_of_the_decisions_and_is_private() {
        let home = tempfile::tempdir().unwrap();
        let pin = Pin {
            sha256: Some("ab".into()),
            version: Some("0.3.1".into()),
            added_unix_seconds: Some(7),
            ..Pin::default()
        };
        set(home.path(), "matrix", pin.clone());
        let path = home.path().join(FILE);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"version":1,"plugins":{"matrix":{"sha256":"ab","version":"0.3.1",
                "added_unix_seconds":7,"enabled":true,"quarantined":null}}})
        );
        assert_eq!(Pins::read(home.path()).unwrap().plugins["matrix"], pin);
    }

    #[test]
    fn what_a_newer_release_wrote_is_kept_and_what_says_nothing_is_not() {
        let home = tempfile::tempdir().unwrap();
        let newer = r#"{"version":1,"new":[1],"plugins":{"a":{"enabled":false,"also":"new"}}}"#;
        fs::write(home.path().join(FILE), newer).unwrap();
        fs::set_permissions(home.path().join(FILE), fs::Permissions::from_mode(0o600)).unwrap();
        set(home.path(), "b", Pin::default());
        let text = fs::read_to_string(home.path().join(FILE)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["new"][0], &value["plugins"]["a"]["also"]), (&1.into(), &"new".into()));
        assert!(value["plugins"].get("b").is_none(), "{text}");
    }

    #[test]
    fn a_file_that_cannot_be_trusted_or_read_is_refused_and_not_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        for (text, mode, word) in [
            ("{\"version\":1", 0o600, "cannot be read"),
            ("{\"version\":2}", 0o600, "version 2"),
            ("{\"version\":1}", 0o622, "chmod 600"),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refusal = Pins::read(home.path()).unwrap_err().refusal;
            assert_eq!(refusal.step, Step::Pin);
            assert!(refusal.to_string().contains(word), "{refusal}");
            assert!(Pins::edit(home.path(), |_| Ok(())).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn changes_from_several_threads_are_all_there() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        thread::scope(|scope| {
            for n in 0..8 {
                let pin = Pin { enabled: false, ..Pin::default() };
                scope.spawn(move || set(home, &format!("p{n}"), pin));
            }
        });
        assert_eq!(Pins::read(home).unwrap().plugins.len(), 8);
    }
}
