//! What the tests of this room share: the fixture plugin, built once, in homes of its own.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
    time::Duration,
};

use scv_plugin_api::{
    host::{BoxFuture, ChannelSession, LoginEvents},
    wire::{
        ConnectRequest, LoginEventBody, LoginRequest, Outgoing, PromptAnswer, Recipient, ReplyTo,
    },
};
use scv_plugin_host::{
    Deadlines, HostOptions, Isolation, LoadedChannel, PluginHost, PluginReport, Policy,
    SearchOptions, SearchPath,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What the fixture says when it panics; it must never come out.
pub(crate) const CANARY: &str = "canary-7f3a91";
/// The fixture's file name.
pub(crate) const FILE: &str = "libscv_channel_fixture.so";

/// The built fixture plugin: `SCV_FIXTURE_PLUGIN`, or what cargo builds.
pub(crate) fn fixture() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| match env::var_os("SCV_FIXTURE_PLUGIN") {
        Some(file) => file.into(),
        None => build_fixture(),
    })
}

fn build_fixture() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--package", "scv-channel-fixture"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter_map(|message| message["filenames"].as_array().cloned())
        .flatten()
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .find(|file| file.ends_with(FILE))
        .expect("cargo names the library")
}

/// The fixture's bytes with each of these texts replaced by another one of the same length.
pub(crate) fn patched(texts: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = fs::read(fixture()).unwrap();
    for (from, to) in texts {
        assert_eq!(from.len(), to.len());
        let mut at = find(&bytes, from.as_bytes()).expect("something to patch");
        loop {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            match find(&bytes[at..], from.as_bytes()) {
                Some(next) => at += next,
                None => break,
            }
        }
    }
    bytes
}

pub(crate) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

/// A home with a folder of plugins.
pub(crate) struct Room {
    home: TempDir,
}

impl Room {
    /// Without any plugin.
    pub(crate) fn empty() -> Self {
        let home = tempfile::tempdir().unwrap();
        let room = Self { home };
        fs::create_dir(room.dir()).unwrap();
        fs::set_permissions(room.dir(), fs::Permissions::from_mode(0o700)).unwrap();
        room
    }

    /// With the fixture plugin.
    pub(crate) fn with_fixture() -> Self {
        let room = Self::empty();
        room.put(FILE, &fs::read(fixture()).unwrap());
        room
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.home.path().join("plugins-here")
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir().join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        path
    }

    /// A library that has a plugin's two symbols, made of this C besides; no plugin's code.
    pub(crate) fn put_c_plugin(&self, code: &str) {
        self.put_linked_c_plugin(code, &[]);
    }

    /// The same, linked with these libraries, too.
    pub(crate) fn put_linked_c_plugin(&self, code: &str, libraries: &[&Path]) {
        let manifest = scv_plugin_host::scan(&Self::with_fixture().search(), &Policy::default())
            .remove(0)
            .manifest
            .unwrap();
        let bytes = serde_json::to_vec(&manifest).unwrap();
        let numbers: Vec<_> = bytes.iter().map(u8::to_string).collect();
        let source = self.home().join("plugin.c");
        let text = format!(
            "{code}\nconst char SCV_CHANNEL_MANIFEST_1[] = {{{}}};\n\
             const char SCV_CHANNEL_PLUGIN_ABI_1[4096] = {{1}};\n",
            numbers.join(",")
        );
        fs::write(&source, text).unwrap();
        let library = self.dir().join(FILE);
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).args(libraries);
        assert!(cc.status().unwrap().success());
        fs::set_permissions(&library, fs::Permissions::from_mode(0o644)).unwrap();
    }

    pub(crate) fn search(&self) -> SearchPath {
        SearchPath::resolve(SearchOptions {
            cli_dirs: vec![self.dir()],
            home: Some(self.home().to_owned()),
            ..SearchOptions::default()
        })
    }

    pub(crate) fn options(&self) -> HostOptions {
        HostOptions {
            search: self.search(),
            cache_dir: self.home().join("cache"),
            helper: env!("CARGO_BIN_EXE_scv-plugin-helper").into(),
            ..HostOptions::default()
        }
    }

    /// The same for the fixture in a process of its own.
    pub(crate) fn apart(&self) -> HostOptions {
        self.apart_with("", Deadlines::default())
    }

    /// The same, with a fault.
    pub(crate) fn apart_with(&self, fault: &str, deadlines: Deadlines) -> HostOptions {
        let isolation = BTreeMap::from([("fixture".to_owned(), Isolation::Process)]);
        let policy = Policy { isolation, ..Policy::default() };
        HostOptions { policy, ..self.options_with(fault, deadlines) }
    }

    /// A host whose fixture has this setting `fault`, with these deadlines.
    pub(crate) fn options_with(&self, fault: &str, deadlines: Deadlines) -> HostOptions {
        let settings = BTreeMap::from([("fault".to_owned(), fault.into())]);
        HostOptions {
            settings: BTreeMap::from([("fixture".to_owned(), settings)]),
            deadlines,
            ..self.options()
        }
    }
}

/// Long enough for what works, short enough for what hangs.
pub(crate) fn short_deadlines() -> Deadlines {
    let short = Duration::from_millis(400);
    Deadlines {
        probe: Duration::from_secs(60),
        create: Duration::from_secs(2),
        inspect: short,
        connect: short,
        next_batch_margin: Duration::ZERO,
        send: short,
        call: short,
        host_call: short,
        login_margin: short,
        login_max: Duration::from_secs(2),
        close_margin: Duration::from_millis(200),
    }
}

pub(crate) async fn loaded(options: HostOptions) -> (Arc<PluginHost>, LoadedChannel) {
    let host = PluginHost::new(options);
    host.load_all().await;
    let channel = host.find_channel("fixture");
    let channel = channel.unwrap_or_else(|| panic!("not loaded: {:?}", host.reports()));
    (host, channel)
}

pub(crate) fn only_report(host: &PluginHost) -> PluginReport {
    let mut reports = host.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    reports.remove(0)
}

pub(crate) fn connect_request(credentials: Value) -> ConnectRequest {
    ConnectRequest {
        session_id: "session-1".into(),
        channel: "fixture".into(),
        account: "default".into(),
        credentials: credentials.into(),
        checkpoint: None,
    }
}

pub(crate) async fn connected(
    channel: &LoadedChannel,
    credentials: Value,
) -> Box<dyn ChannelSession> {
    let request = connect_request(credentials);
    channel.transport.connect(request).await.unwrap()
}

pub(crate) fn login_request() -> LoginRequest {
    LoginRequest {
        login_id: "login-1".into(),
        channel: "fixture".into(),
        called_as: "fixed".into(),
        account: "default".into(),
        options: BTreeMap::new(),
        saved: None,
    }
}

pub(crate) fn message(client_id: &str, text: &str) -> Outgoing {
    Outgoing {
        client_id: client_id.into(),
        text: text.into(),
        reply: Some(ReplyTo { message_id: "1".into(), reply_token: None }),
        recipient: Recipient { user: "ann".into(), group: None },
    }
}

pub(crate) fn inbox(ids: &[&str]) -> Value {
    let message = |id: &&str| json!({ "id": id, "sender": "ann", "text": format!("text {id}") });
    json!({ "bot_id": "bot", "messages": ids.iter().map(message).collect::<Vec<_>>() })
}

/// Answers every prompt with "ann" and keeps what was shown.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) shown: std::sync::Mutex<Vec<LoginEventBody>>,
}

impl LoginEvents for Person {
    fn event(&self, event: LoginEventBody) -> BoxFuture<'_, PromptAnswer> {
        let asks = matches!(event, LoginEventBody::Prompt { .. });
        self.shown.lock().unwrap().push(event);
        Box::pin(async move {
            PromptAnswer { answer: asks.then(|| "ann".to_owned().into()), cancelled: false }
        })
    }
}
