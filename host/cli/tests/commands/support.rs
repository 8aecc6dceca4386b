//! A home of its own for each test, and the program running on it.

use std::{
    env,
    fs::{self, DirBuilder},
    io::Write,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The fixture plugin's file name.
const FIXTURE: &str = "libscv_channel_fixture.so";

/// A home, and a folder for plugins beside it.
pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        private_dir(&dir.path().join("plugins"));
        Self { dir }
    }

    /// With the fixture plugin.
    pub(crate) fn with_fixture() -> Self {
        let home = Self::new();
        let file = home.plugins().join(FIXTURE);
        fs::copy(fixture(), &file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn plugins(&self) -> PathBuf {
        self.dir.path().join("plugins")
    }

    pub(crate) fn configure(&self, text: &str) {
        self.save("config.toml", text);
    }

    /// Writes a private file of the home.
    pub(crate) fn save(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        let folder = file.parent().unwrap();
        DirBuilder::new().recursive(true).mode(0o700).create(folder).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// A command that has not been started, without anything of this machine's environment
    /// that could change what it does.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scv"));
        command
            .args(words)
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("SCV_HOME", self.path())
            .env("SCV_PLUGIN_DIR", self.plugins())
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn scv(&self, words: &[&str]) -> Done {
        self.command(words).output().unwrap().into()
    }

    /// Runs a command that reads this.
    pub(crate) fn scv_with_input(&self, words: &[&str], input: &str) -> Done {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    /// Starts the daemon and waits until it answers.
    pub(crate) fn daemon(&self, words: &[&str]) -> Daemon {
        let log = fs::File::create(self.dir.path().join("daemon.log")).unwrap();
        let words = [&["run"], words].concat();
        let child = self.command(&words).stderr(log).stdout(Stdio::null()).spawn().unwrap();
        let mut daemon = Daemon { child };
        while self.scv(&["status"]).code != 0 {
            let ended = daemon.child.try_wait().unwrap();
            assert!(ended.is_none(), "the daemon ended: {}", self.log());
        }
        daemon
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("daemon.log")).unwrap()
    }

    /// `channels status --json`.
    pub(crate) fn status(&self) -> Value {
        self.scv(&["channels", "status", "--json"]).json()
    }

    /// Waits until the one account is in this state.
    pub(crate) fn until_state(&self, state: &str) -> Value {
        loop {
            let status = self.status();
            let mut components = status["components"].as_array().unwrap().iter();
            if let Some(found) = components.find(|component| component["state"] == state) {
                return found.clone();
            }
        }
    }
}

/// A running daemon; it does not outlive the test.
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, which: Signal) {
        signal(&self.child, which);
    }

    /// Sends SIGTERM and gives the exit status.
    pub(crate) fn terminate(mut self) -> i32 {
        signal(&self.child, Signal::TERM);
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// Itself, after checking the exit status.
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.with(0).out).unwrap()
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn private_dir(path: &Path) {
    fs::create_dir_all(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

/// The built fixture plugin: `SCV_FIXTURE_PLUGIN`, or what cargo builds.
fn fixture() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| match env::var_os("SCV_FIXTURE_PLUGIN") {
        Some(file) => file.into(),
        None => build_fixture(),
    })
}

fn build_fixture() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--package", "scv-channel-fixture", "--message-format=json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let lines = String::from_utf8(built.stdout).unwrap();
    let messages = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages
        .filter_map(|message| message["filenames"].as_array().cloned())
        .flatten()
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .find(|file| file.ends_with(FIXTURE))
        .expect("cargo names the library")
}
