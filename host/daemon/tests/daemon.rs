//! A whole daemon on a home of its own, without plugins, over its socket.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc};

use scv_bridge::fs::RealFileSystem;
use scv_daemon::{
    Config, Daemon, DaemonError, DaemonOptions, limits::MAX_CONNECTIONS_COUNT, socket_path,
};
use scv_plugin_host::SearchPath;
use scv_protocol::{
    ClientInfo, ClientMessage, ComponentState, ControlCommand, DaemonStatus, ErrorCode,
    ServerEvent, SessionStart, VERSION_2_PREFIX,
    client::{Client, ClientError, control},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

struct Running {
    home: tempfile::TempDir,
    stop: CancellationToken,
    daemon: JoinHandle<Result<(), DaemonError>>,
}

fn info() -> ClientInfo {
    ClientInfo { name: "test".into(), version: "0".into() }
}

fn options(home: PathBuf) -> DaemonOptions {
    DaemonOptions {
        workspace: std::env::temp_dir(),
        config: Config::default(),
        search: SearchPath::default(),
        no_plugins: false,
        logs: scv_daemon::LogRing::default(),
        fs: Arc::new(RealFileSystem),
        home,
    }
}

impl Running {
    async fn start() -> Self {
        Self::start_on(tempfile::tempdir().unwrap()).await
    }

    async fn start_on(home: tempfile::TempDir) -> Self {
        let stop = CancellationToken::new();
        let daemon = tokio::spawn(Daemon::run(options(home.path().to_owned()), stop.clone()));
        let running = Self { home, stop, daemon };
        // The socket stands before anything else does, so connecting is the readiness test.
        while Client::connect(&running.socket(), info()).await.is_err() {
            assert!(!running.daemon.is_finished(), "the daemon ended early");
            tokio::task::yield_now().await;
        }
        running
    }

    fn socket(&self) -> PathBuf {
        socket_path(self.home.path())
    }

    async fn control(&self, command: ControlCommand) -> Result<DaemonStatus, ClientError> {
        control(&self.socket(), info(), command).await
    }

    async fn refused(&self, command: ControlCommand) -> (ErrorCode, String) {
        match self.control(command).await {
            Err(ClientError::Refused { code, message }) => (code, message),
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    /// Reloads until something holds; the plugins may still be being looked for.
    async fn until(&self, holds: impl Fn(&DaemonStatus) -> bool) -> DaemonStatus {
        loop {
            let status = self.control(ControlCommand::Reload).await.unwrap();
            if holds(&status) {
                return status;
            }
        }
    }

    async fn end(self) -> tempfile::TempDir {
        self.stop.cancel();
        self.daemon.await.unwrap().unwrap();
        self.home
    }
}

#[tokio::test]
async fn status_names_the_server_and_the_end_cleans_up() {
    let running = Running::start().await;
    let status = running.control(ControlCommand::Status).await.unwrap();
    assert_eq!(status.pid, std::process::id());
    assert_eq!(status.components, []);
    assert_eq!(status.plugins, None);
    let plugins = running.control(ControlCommand::Plugins).await.unwrap();
    assert_eq!(plugins.plugins, Some(Vec::new()));
    let mode = fs::metadata(running.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let home = running.end().await;
    assert!(!socket_path(home.path()).exists());
    assert_eq!(fs::read(home.path().join("server.lock")).unwrap(), b"");
    Running::start_on(home).await.end().await;
}

#[tokio::test]
async fn a_second_daemon_names_the_first() {
    let running = Running::start().await;
    let second = Daemon::run(options(running.home.path().to_owned()), CancellationToken::new());
    let text = second.await.unwrap_err().to_string();
    assert!(text.contains(&format!("pid {}", std::process::id())), "{text}");
    running.control(ControlCommand::Status).await.unwrap();
    running.end().await;
}

#[tokio::test]
async fn a_socket_that_was_removed_comes_back() {
    let running = Running::start().await;
    let before = Client::connect(&running.socket(), info()).await.unwrap();
    fs::remove_file(running.socket()).unwrap();
    while running.control(ControlCommand::Status).await.is_err() {
        tokio::task::yield_now().await;
    }
    drop(before);
    running.end().await;
}

#[tokio::test]
async fn who_finds_no_place_is_told_so() {
    let running = Running::start().await;
    let status = async || running.control(ControlCommand::Status).await;
    let mut inside = Vec::new();
    let refusal = loop {
        match Client::connect(&running.socket(), info()).await {
            Ok(client) => inside.push(client),
            Err(refusal) => break refusal,
        }
    };
    assert!(inside.len() >= MAX_CONNECTIONS_COUNT - 1, "{}", inside.len());
    assert!(refusal.to_string().contains("clients are connected already"), "{refusal}");
    drop(inside);
    while status().await.is_err() {
        tokio::task::yield_now().await;
    }
    running.end().await;
}

#[tokio::test]
async fn a_workspace_must_be_there() {
    let home = tempfile::tempdir().unwrap();
    let mut options = options(home.path().join("h"));
    options.workspace = home.path().join("absent");
    let text = Daemon::run(options, CancellationToken::new()).await.unwrap_err().to_string();
    assert!(text.contains("--workspace"), "{text}");
    assert!(!home.path().join("h").exists(), "nothing was touched");
}

#[tokio::test]
async fn what_is_not_served_says_so() {
    let running = Running::start().await;
    for command in [
        ControlCommand::Delegations { all: true },
        ControlCommand::DelegationKill { handle: None, orphans: true },
    ] {
        let (code, text) = running.refused(command).await;
        assert_eq!(code, ErrorCode::Unsupported, "{text}");
    }
    running.end().await;
}

#[tokio::test]
async fn a_turn_over_the_socket_and_a_stop_in_the_middle_of_one() {
    let running = Running::start().await;
    let mut client = Client::connect(&running.socket(), info()).await.unwrap();
    let start = SessionStart {
        request_id: "s".into(),
        cwd: std::env::temp_dir(),
        provider: None,
        model: None,
        base_url: None,
        no_tools: true,
    };
    client.send(&ClientMessage::SessionStart(start)).await.unwrap();
    let ServerEvent::SessionStarted { session_id, .. } = client.next().await.unwrap() else {
        panic!("expected session.started");
    };
    for (prompt, ends) in [("hello", true), ("wait 3600", false)] {
        let turn = ClientMessage::TurnStart {
            request_id: prompt.into(),
            session_id: session_id.clone(),
            prompt: prompt.into(),
        };
        client.send(&turn).await.unwrap();
        let mut event = client.next().await.unwrap();
        while ends != event.is_terminal()
            && !matches!(event, ServerEvent::TurnStarted { .. } if !ends)
        {
            event = client.next().await.unwrap();
        }
    }
    running.end().await;
    let mut last = None;
    while let Ok(event) = client.next().await {
        last = Some(event);
    }
    assert!(
        matches!(last, Some(ServerEvent::TurnCancelled { .. })),
        "a stopping daemon ends its turns: {last:?}"
    );
}

#[tokio::test]
async fn accounts_without_a_plugin_are_listed_and_can_be_stopped_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let accounts = home.path().join("channels/pigeon/accounts");
    private_dirs(&home.path().join("channels"), &accounts);
    fs::write(accounts.join("work.json"), "{\"ring\":\"secret-ring\"}").unwrap();
    fs::set_permissions(accounts.join("work.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let running = Running::start_on(home).await;

    let status = running.until(|status| !status.components.is_empty()).await;
    let fault = &status.components[0];
    assert_eq!(fault.id, "pigeon:discovery-error");
    assert_eq!(fault.state, ComponentState::Failed);
    let told = "no plugin for this channel is loaded; see `scv plugins list`";
    let hint = "see `scv plugins list`";
    assert_eq!((fault.error.as_deref(), fault.hint.as_deref()), (Some(told), Some(hint)));
    let account = &status.components[1];
    assert_eq!(account.id, "pigeon:work");
    assert_eq!((&account.bot_id, &account.user_id), (&None, &None));
    assert!(!format!("{status:?}").contains("secret-ring"));

    let set = |channel: &str, account: &str, enabled| ControlCommand::ChannelSet {
        channel: channel.into(),
        account: account.into(),
        enabled,
        workspace: None,
        remote_tools: None,
        senders: None,
    };
    let (code, text) = running.refused(set("pigeon", "work", true)).await;
    assert_eq!(code, ErrorCode::ComponentError);
    assert!(text.contains("no plugin"), "{text}");
    let (_, text) = running.refused(set("raven", "work", false)).await;
    assert!(text.contains("no such channel"), "{text}");
    let (code, _) = running.refused(set("pigeon", "../x", false)).await;
    assert_eq!(code, ErrorCode::InvalidRequest);
    let (_, text) = running.refused(set("pigeon", "other", false)).await;
    assert!(text.contains("scv channels login pigeon"), "{text}");

    let held = |account: &str, drop: &[&str]| ControlCommand::ChannelHeld {
        channel: "pigeon".into(),
        account: account.into(),
        show: true,
        drop: drop.iter().map(ToString::to_string).collect(),
    };
    let state = home_of(&accounts).join("channels/pigeon/state");
    private_dirs(&home_of(&accounts).join("channels/pigeon"), &state);
    fs::write(state.join("work.json"), HELD).unwrap();
    let listed = running.control(held("work", &[])).await.unwrap().held.unwrap();
    assert_eq!(listed[0].text.as_deref(), Some("kept"));
    assert_eq!((listed[0].bytes, listed[0].group.as_deref()), (4, Some("g")));
    let (_, text) = running.refused(held("work", &["0"])).await;
    assert!(text.contains("no held reply with this id"), "{text}");
    let left = running.control(held("work", &[&listed[0].id])).await.unwrap();
    assert_eq!(left.held, Some(vec![]));
    let (_, text) = running.refused(held("other", &[])).await;
    assert!(text.contains("scv channels login pigeon"), "{text}");
    let send = ControlCommand::ChannelSend {
        channel: "pigeon".into(),
        account: "work".into(),
        text: "hello".into(),
    };
    let (_, text) = running.refused(send).await;
    assert!(text.contains("not running"), "{text}");

    let stopped = running.control(set("pigeon", "work", false)).await.unwrap();
    assert_eq!(stopped.components[1].state, ComponentState::Disabled);
    let logout = ControlCommand::ChannelLogout { channel: "pigeon".into(), account: "work".into() };
    let after = running.control(logout).await.unwrap();
    assert!(after.components.iter().all(|c| c.id != "pigeon:work"));
    assert!(!accounts.join("work.json").exists());
    running.end().await;
}

const HELD: &str = r#"{"credential_fingerprint":"f","cursor":"","seen":[],
    "held":[{"key":"g\u0000u","to_user_id":"u","reply":"kept","held_at":1790000000}]}"#;

/// The home of a folder `channels/pigeon/accounts`.
fn home_of(accounts: &std::path::Path) -> &std::path::Path {
    accounts.ancestors().nth(3).unwrap()
}

#[tokio::test]
async fn version_2_spellings_need_their_channel() {
    let running = Running::start().await;
    let action = format!("{VERSION_2_PREFIX}_logout");
    let command = serde_json::json!({"action": action, "account": "default"});
    let command: ControlCommand = serde_json::from_value(command).unwrap();
    let (code, text) = running.refused(command).await;
    assert_eq!(code, ErrorCode::ComponentError);
    assert!(text.contains("scv plugins list"), "{text}");
    running.end().await;
}

fn private_dirs(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for dir in to.ancestors().take_while(|dir| dir.starts_with(from)) {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
    }
}
