//! What can be said of a built file without its platform; for `scv plugins test`.

use std::{
    fs::{self, File},
    future::Future,
    io::{self, Read, Seek},
    os::fd::OwnedFd,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::{
    Report, Subject,
    limits::{LIVES_COUNT, LOOK_AGAIN_MS, OPERATION_MS},
    plugin::{Plugin, Trouble, document},
    report::{Case, Ended, ensure},
    session::Reading,
};
use crate::wire::{
    ConnectRequest, CreateConfig, Fault, FaultKind, LoginRequest, Manifest, Outgoing, PromptAnswer,
    Recipient, ReplyTo,
};

/// Loads a library and tries what every plugin must do whatever its platform is: manifest,
/// `create` with these settings, `inspect`, documents that are none, unknown operations and
/// options, credentials that are none, shutdown; and that it leaves no thread, no descriptor
/// and nothing on stdout. Nothing is sent to a platform.
///
/// The library's code runs in this process and stays loaded, and what it writes to stdout
/// meanwhile is taken away. Call it in a process of its own, outside of any runtime.
#[must_use]
pub fn check_file(file: &Path, config: &CreateConfig) -> Report {
    let mut report = Report::default();
    match Stdout::take() {
        Ok(stdout) => {
            check(file, config, &mut report);
            report.add("stdout", stdout.give_back());
        }
        Err(error) => report.add("stdout", failed(format!("it cannot be watched: {error}"))),
    }
    report
}

fn check(file: &Path, config: &CreateConfig, report: &mut Report) {
    let subject = match Subject::load(file) {
        Ok(subject) => subject,
        Err(reason) => return report.add("load", failed(reason)),
    };
    report.add("load", Ok(()));
    let manifest = match subject.manifest() {
        Ok(manifest) => manifest,
        Err(fault) => return report.add("manifest", failed(fault.message)),
    };
    report.add("manifest", Ok(()));
    if let Err(ended) = with_runtime(cases(&subject, &manifest, config, report)) {
        return report.add("create", Err(ended));
    }
    report.add("leftovers", leftovers(&subject, &manifest, config));
}

/// Loads a library and opens one session with these credentials: reads until a text has come,
/// answers it, asks for an operation that nobody has, closes. For a plugin whose platform is
/// there, or that needs none.
#[must_use]
pub fn check_session(file: &Path, config: &CreateConfig, credentials: &Value) -> Report {
    let mut report = Report::default();
    match Subject::load(file) {
        Ok(subject) => {
            report.add("session", with_runtime(session(&subject, config, credentials)));
        }
        Err(reason) => report.add("load", failed(reason)),
    }
    report
}

async fn session(subject: &Subject, config: &CreateConfig, credentials: &Value) -> Case {
    let manifest = subject.manifest().map_err(|fault| Ended::Failed(fault.message))?;
    let channel = &manifest.channels[0].id;
    let plugin = Plugin::create(subject, config.clone()).await?;
    plugin.inspect(channel, credentials.clone()).await?;
    let request = ConnectRequest {
        session_id: "session-1".into(),
        channel: channel.clone(),
        account: "default".into(),
        credentials: credentials.clone().into(),
        checkpoint: None,
    };
    let session = plugin.connect(&request).await?;
    let question = Reading::new(&session, None).texts(1).await?.remove(0);
    let answer = Outgoing {
        client_id: "client-1".into(),
        text: "an answer".into(),
        reply: Some(ReplyTo { message_id: question.id, reply_token: question.reply_token }),
        recipient: Recipient { user: question.sender, group: None },
    };
    session.send(&answer).await?;
    fault_of(session.call("no.such.operation").await, &[FaultKind::Unsupported])?;
    let left = session.close().await?.tasks_left;
    ensure!(left == 0, "{left} tasks were left after close");
    shutdown_of(&plugin).await
}

/// Runs in a runtime that is gone afterwards.
fn with_runtime(work: impl Future<Output = Case>) -> Case {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Ended::Failed(error.to_string()))?;
    let case = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_millis(OPERATION_MS));
    case
}

/// The cases that need a plugin; fails when there is none.
async fn cases(
    subject: &Subject,
    manifest: &Manifest,
    config: &CreateConfig,
    report: &mut Report,
) -> Case {
    let plugin = Plugin::create(subject, config.clone()).await?;
    report.add("create", Ok(()));
    let channel = &manifest.channels[0].id;
    report.add("inspect", inspect(&plugin, channel).await);
    report.add("garbage", garbage(&plugin).await);
    report.add("unknown-operation", unknown_operation(&plugin).await);
    report.add("login-unknown-option", unknown_option(&plugin, channel).await);
    report.add("no-credentials", no_credentials(&plugin, channel).await);
    report.add("shutdown", shutdown(&plugin).await);
    Ok(())
}

async fn inspect(plugin: &Plugin, channel: &str) -> Case {
    match plugin.inspect(channel, json!({})).await {
        Ok(_) => Ok(()),
        other => fault_of(other, &[FaultKind::Config]),
    }
}

async fn garbage(plugin: &Plugin) -> Case {
    for bytes in [&b""[..], b"{", b"[]", b"null", b"{\"x\":\"\xff\"}", br#"{"channel":7}"#] {
        let protocol = &[FaultKind::Protocol];
        fault_of(plugin.inspect_raw(bytes.to_vec()).await, protocol)?;
        fault_of(plugin.login_raw(bytes.to_vec()).await, protocol)?;
        fault_of(plugin.connect_raw(bytes.to_vec()).await, protocol)?;
    }
    Ok(())
}

async fn unknown_operation(plugin: &Plugin) -> Case {
    let payload = document("call", &json!({}))?;
    fault_of(plugin.call_raw("no.such.operation", payload).await, &[FaultKind::Unsupported])
}

async fn unknown_option(plugin: &Plugin, channel: &str) -> Case {
    plugin.watch.seat(Box::new(|_| Some(PromptAnswer { answer: None, cancelled: true })));
    let request = LoginRequest {
        login_id: "login-1".into(),
        channel: channel.into(),
        called_as: channel.into(),
        account: "default".into(),
        options: [("no-such-option".to_owned(), "x".to_owned())].into(),
        saved: None,
    };
    fault_of(plugin.login(&request).await, &[FaultKind::Config])
}

async fn no_credentials(plugin: &Plugin, channel: &str) -> Case {
    let request = ConnectRequest {
        session_id: "session-1".into(),
        channel: channel.into(),
        account: "default".into(),
        credentials: Value::Object(serde_json::Map::new()).into(),
        checkpoint: None,
    };
    let session = plugin.connect(&request).await;
    fault_of(session, &[FaultKind::Config, FaultKind::Auth])
}

async fn shutdown_of(plugin: &Plugin) -> Case {
    let left = plugin.shutdown().await?.tasks_left;
    ensure!(left == 0, "{left} tasks were left");
    Ok(())
}

async fn shutdown(plugin: &Plugin) -> Case {
    shutdown_of(plugin).await?;
    fault_of(plugin.call_raw("late", b"{}".to_vec()).await, &[FaultKind::Cancelled])
}

fn fault_of<T>(answer: Result<T, Trouble>, kinds: &[FaultKind]) -> Case {
    let fault: Fault = match answer {
        Err(Trouble::Fault { fault, .. }) => fault,
        Err(broken) => return Err(broken.into()),
        Ok(_) => return Err(Ended::Failed("it is taken as good".into())),
    };
    ensure!(kinds.contains(&fault.kind), "{:?} ({fault}), not {kinds:?}", fault.kind);
    Ok(())
}

fn failed(reason: impl Into<String>) -> Case {
    Err(Ended::Failed(reason.into()))
}

/// Lives that leave nothing: what a library keeps for good was there after the first one.
fn leftovers(subject: &Subject, manifest: &Manifest, config: &CreateConfig) -> Case {
    let before = descriptors()?;
    for _ in 0..LIVES_COUNT {
        with_runtime(async {
            let plugin = Plugin::create(subject, config.clone()).await?;
            shutdown_of(&plugin).await
        })?;
    }
    let waiting = Builder::new_current_thread().enable_time().build();
    let waiting = waiting.map_err(|error| Ended::Failed(error.to_string()))?;
    waiting.block_on(gone(&manifest.name, before))
}

/// A thread that has ended is seen for a moment longer.
async fn gone(plugin: &str, before: usize) -> Case {
    let begun = Instant::now();
    loop {
        let (threads, open) = (threads(plugin)?, descriptors()?);
        if threads == 0 && open <= before {
            return Ok(());
        }
        if begun.elapsed() > Duration::from_millis(OPERATION_MS) {
            return failed(format!(
                "{threads} threads are left, and {open} open files where {before} were before"
            ));
        }
        tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
    }
}

/// The threads of this process that carry the plugin's name, which the system cuts to 15 bytes.
fn threads(plugin: &str) -> Result<usize, Ended> {
    let mut name = format!("scv-{plugin}");
    name.truncate(15);
    let mut count = 0;
    for entry in fs::read_dir("/proc/self/task").map_err(unreadable)? {
        // One that ended meanwhile cannot be read.
        let comm = entry.and_then(|entry| fs::read_to_string(entry.path().join("comm")));
        count += usize::from(comm.is_ok_and(|comm| comm.trim_end() == name));
    }
    Ok(count)
}

fn descriptors() -> Result<usize, Ended> {
    fs::read_dir("/proc/self/fd").map(Iterator::count).map_err(unreadable)
}

fn unreadable(error: io::Error) -> Ended {
    Ended::Failed(format!("/proc/self cannot be read: {error}"))
}

/// Catches what is written to this process's stdout.
struct Stdout {
    before: OwnedFd,
    caught: File,
}

impl Stdout {
    fn take() -> io::Result<Self> {
        let before = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        let caught = rustix::fs::memfd_create("stdout", rustix::fs::MemfdFlags::CLOEXEC)?;
        rustix::stdio::dup2_stdout(&caught)?;
        Ok(Self { before, caught: caught.into() })
    }

    fn give_back(mut self) -> Case {
        let broken = |error: io::Error| Ended::Failed(format!("it cannot be read: {error}"));
        rustix::stdio::dup2_stdout(&self.before).map_err(|error| broken(error.into()))?;
        let mut text = Vec::new();
        self.caught.rewind().map_err(broken)?;
        self.caught.read_to_end(&mut text).map_err(broken)?;
        ensure!(text.is_empty(), "{} bytes were written to it", text.len());
        Ok(())
    }
}
