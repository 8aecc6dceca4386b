//! The kit finds what is wrong: a channel with known faults fails exactly the cases for them.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{LazyLock, Mutex},
    time::Duration,
};

use scv_plugin_api::{
    BatchToken, Channel, LoginUi, Result, Session, Stop, export_channel, manifest,
    testkit::{self, PlatformScript, Verdict},
    wire::{
        Batch, ConnectRequest, CreateConfig, Fault, Identity, Inbound, InboundKind, InspectRequest,
        LoginRequest, LoginResult, Outgoing, SendOutcome,
    },
};
use serde_json::{Value, json};
use tokio::time::timeout;

const SECRET: &str = "canary-3b1d";

/// The platform: what was written, and what was shown. The cases run one after the other.
static PLATFORM: LazyLock<Mutex<Platform>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Platform {
    written: VecDeque<(String, String)>,
    count: usize,
    shown: Vec<String>,
}

fn platform<T>(look: impl FnOnce(&mut Platform) -> T) -> T {
    look(&mut PLATFORM.lock().unwrap())
}

/// Wrong in six ways, each marked below.
struct Wrong;
struct WrongSession {
    stop: Stop,
    batches: Mutex<u32>,
    kept: Mutex<Vec<Vec<u8>>>,
}

export_channel!(
    Wrong,
    manifest!(
        r#"{
        "name": "wrong",
        "channels": [{"id": "wrong", "title": "Wrong", "receipts": true,
                      "limits": {"max_message_bytes": 100, "max_wait_ms": 100}}]
    }"#
    )
);

impl Channel for Wrong {
    type Session = WrongSession;

    fn create(_: CreateConfig) -> Result<Self> {
        Ok(Self)
    }

    fn inspect(&self, request: InspectRequest) -> Result<Identity> {
        // 1: a panic where `{}` is asked about.
        let name = request.credentials.expose()["name"].as_str().expect("a name");
        let fingerprint = vec![Some(name.to_owned().into())];
        Ok(Identity { fingerprint, ..Identity::default() })
    }

    async fn login(&self, _: LoginRequest, ui: LoginUi) -> Result<LoginResult> {
        let name = ui.prompt("name", "Who?").await?;
        let credentials = json!({ "name": name, "token": SECRET }).into();
        Ok(LoginResult::SignedIn { credentials, summary: "in".into() })
    }

    async fn connect(&self, request: ConnectRequest, stop: Stop) -> Result<WrongSession> {
        let credentials = request.credentials.expose();
        if !credentials["token"].is_string() {
            return Err(Fault::config("no token; sign in"));
        }
        // 2: a secret in the log.
        tracing::info!("connected with {}", credentials["token"]);
        Ok(WrongSession { stop, batches: Mutex::default(), kept: Mutex::default() })
    }
}

impl Session for WrongSession {
    async fn next_batch(&self, _: Option<BatchToken>) -> Result<Batch> {
        let read = async {
            loop {
                // 3: the newest first.
                if let Some(message) = platform(|platform| platform.written.pop_back()) {
                    return message;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let message = tokio::select! {
            () = self.stop.fired() => return Err(Fault::cancelled("closed")),
            message = timeout(Duration::from_millis(100), read) => message.ok(),
        };
        let mut batches = self.batches.lock().unwrap();
        *batches += 1;
        // 6: 128 KiB for each message, for ever.
        self.kept.lock().unwrap().extend(message.as_ref().map(|_| vec![1; 128 * 1024]));
        let inbound = |(id, text)| Inbound {
            id,
            kind: InboundKind::Text,
            sender: "ann".into(),
            text: Some(text),
            ..Inbound::default()
        };
        let messages = message.into_iter().map(inbound).collect();
        Ok(Batch { token: batches.to_string(), messages, ..Batch::default() })
    }

    async fn send(&self, message: Outgoing) -> Result<SendOutcome> {
        // 4: cut, and 5: without the receipt that the manifest promises.
        let text = message.text.chars().take(20).collect();
        platform(|platform| platform.shown.push(text));
        Ok(SendOutcome::Accepted { receipt: None })
    }
}

struct Script;

impl PlatformScript for Script {
    async fn start() -> Self {
        platform(|platform| *platform = Platform::default());
        Self
    }

    fn credentials(&self) -> Value {
        json!({ "name": "ann", "token": SECRET })
    }

    fn secrets(&self) -> Vec<String> {
        vec![SECRET.into()]
    }

    async fn inbound(&self, texts: &[String]) -> Vec<String> {
        platform(|platform| {
            let mut ids = Vec::new();
            for text in texts {
                platform.count += 1;
                ids.push(platform.count.to_string());
                platform.written.push_back((platform.count.to_string(), text.clone()));
            }
            ids
        })
    }

    async fn shown(&self) -> Vec<String> {
        platform(|platform| platform.shown.clone())
    }

    fn excluded() -> &'static [(&'static str, &'static str)] {
        &[
            ("flood", "a thousand rounds say no more than twenty"),
            ("cancel-next-batch", "whether two messages wait at one time is chance"),
        ]
    }
}

/// Its words come back as an error: the SDK has taken the panic hook of this process.
#[test]
fn each_fault_fails_its_cases_and_no_other() -> std::result::Result<(), String> {
    let report = testkit::run::<Wrong, Script>("0.0.0").expect_err("a report");
    let is_failed = |verdict: &Verdict| matches!(verdict, Verdict::Failed(_));
    let failed = report.cases.iter().filter(|case| is_failed(&case.verdict));
    let failed: BTreeSet<&str> = failed.map(|case| case.name.as_str()).collect();
    let expected =
        ["inspect", "manifest", "memory", "order", "panics", "secrets", "send", "send-largest"];
    if failed != BTreeSet::from(expected) {
        return Err(format!("{report:?}"));
    }
    let text = report.to_string();
    let says = |words: &str| text.contains(words);
    let all = says("it says version 0.1.0, and the crate is 0.0.0")
        && says("--      flood: a thousand rounds")
        && says("connected with")
        && !says(SECRET);
    if all { Ok(()) } else { Err(text) }
}
