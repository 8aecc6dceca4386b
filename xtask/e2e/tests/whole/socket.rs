//! The daemon's socket and lock, as another process meets them.

use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};
use scv_e2e::scene::{SOON, Scene};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};
use xtask::harness::{Daemon, Options, until};

/// A connection that sends what it likes.
struct Raw {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
}

impl Raw {
    async fn connect(scene: &Scene) -> Result<Self> {
        let (read, write) = UnixStream::connect(scene.home.socket()).await?.into_split();
        Ok(Self { lines: BufReader::new(read).lines(), write })
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.write.write_all(bytes).await?)
    }

    /// The next event, or none when the daemon closes.
    async fn next(&mut self) -> Result<Option<Value>> {
        let line =
            tokio::time::timeout(SOON, self.lines.next_line()).await.context("silence")??;
        Ok(line.map(|line| serde_json::from_str(&line)).transpose()?)
    }

    async fn ask(&mut self, line: &str) -> Result<Value> {
        self.send(format!("{line}\n").as_bytes()).await?;
        self.next().await?.context("the daemon closed")
    }

    async fn hello(&mut self) -> Result<()> {
        let answer = self.ask(HELLO).await?;
        assert_eq!(
            (&answer["type"], &answer["protocol_version"]),
            (&"initialized".into(), &3.into())
        );
        Ok(())
    }
}

const HELLO: &str = r#"{"type":"initialize","request_id":"1","protocol_version":3,"client":{"name":"raw","version":"0"}}"#;

fn is_error(event: &Value, code: &str, request_id: Option<&str>) {
    assert_eq!(event["type"], "error", "{event}");
    assert_eq!(event["code"], code, "{event}");
    assert_eq!(event["request_id"].as_str(), request_id, "{event}");
}

#[tokio::test]
async fn bad_lines_get_the_contract_s_errors_and_the_connection_goes_on() -> Result<()> {
    let scene = Scene::new()?;
    let _daemon = scene.daemon().await?;
    let mut raw = Raw::connect(&scene).await?;
    let early =
        raw.ask(r#"{"type":"daemon.control","request_id":"0","command":{"action":"status"}}"#);
    is_error(&early.await?, "not_initialized", Some("0"));
    raw.hello().await?;
    is_error(&raw.ask("no json").await?, "invalid_json", None);
    is_error(&raw.ask("[1]").await?, "invalid_json", None);
    is_error(&raw.ask(r#"{"type":"dance","request_id":"7"}"#).await?, "invalid_request", Some("7"));
    is_error(&raw.ask(HELLO).await?, "invalid_request", Some("1"));
    // Refused as soon as it passes the limit, before its end.
    raw.send(&vec![b'x'; 1024 * 1024 + 1]).await?;
    is_error(&raw.next().await?.context("closed")?, "invalid_request", None);
    raw.send(b"xxxx\n").await?;
    let status =
        raw.ask(r#"{"type":"daemon.control","request_id":"9","command":{"action":"status"}}"#);
    assert_eq!(status.await?["type"], "daemon.status");
    Ok(())
}

#[tokio::test]
async fn another_version_is_fatal_and_nothing_follows() -> Result<()> {
    let scene = Scene::new()?;
    let _daemon = scene.daemon().await?;
    for version in ["4", "-1", "5000000000", "\"3\"", "2.5", "null"] {
        let hello = HELLO.replace(":3,", &format!(":{version},"));
        let (bare, _) = hello.split_once(",\"client\"").context("a client")?;
        for hello in [&hello, &format!("{bare}}}")] {
            let mut raw = Raw::connect(&scene).await?;
            // What stands behind it is not answered any more.
            let answer = raw.ask(&format!("{hello}\n{HELLO}")).await?;
            is_error(&answer, "version_mismatch", Some("1"));
            assert_eq!(answer["fatal"], true);
            assert_eq!(raw.next().await?, None, "{hello}");
        }
    }
    Ok(())
}

/// Sent in one piece, so that the second command comes while the first is under way.
#[tokio::test]
async fn commands_of_one_connection_are_answered_in_their_order() -> Result<()> {
    let scene = Scene::new()?;
    let _daemon = scene.daemon().await?;
    let mut raw = Raw::connect(&scene).await?;
    raw.hello().await?;
    let command = |id: &str, action: &str| json!({"type": "daemon.control", "request_id": id, "command": {"action": action}});
    let commands = [("a", "reload"), ("b", "status"), ("c", "plugins")];
    let lines = commands.map(|(id, action)| format!("{}\n", command(id, action)));
    raw.send(lines.concat().as_bytes()).await?;
    for (id, _) in commands {
        let answer = raw.next().await?.context("closed")?;
        assert_eq!((&answer["type"], &answer["request_id"]), (&"daemon.status".into(), &id.into()));
    }
    is_error(&raw.ask(&command("d", "dance").to_string()).await?, "invalid_request", Some("d"));
    Ok(())
}

/// As `printf … | nc -UN` does; the last line has no newline.
#[tokio::test]
async fn a_client_that_only_stops_writing_gets_its_answers() -> Result<()> {
    let scene = Scene::new()?;
    let _daemon = scene.daemon().await?;
    let mut raw = Raw::connect(&scene).await?;
    let reload = r#"{"type":"daemon.control","request_id":"2","command":{"action":"reload"}}"#;
    raw.send(format!("{HELLO}\n{reload}").as_bytes()).await?;
    raw.write.shutdown().await?;
    assert_eq!(raw.next().await?.context("closed")?["type"], "initialized");
    let answer = raw.next().await?.context("the command was not answered")?;
    assert_eq!((&answer["type"], &answer["request_id"]), (&"daemon.status".into(), &"2".into()));
    assert_eq!(raw.next().await?, None);
    Ok(())
}

#[tokio::test]
async fn a_socket_that_was_removed_comes_back() -> Result<()> {
    let scene = Scene::new()?;
    let mut daemon = scene.daemon().await?;
    std::fs::remove_file(scene.home.socket())?;
    let connected = until("the socket is back", SOON, async || Ok(daemon.client().await.ok()));
    connected.await?;
    assert!(daemon.terminate().await?.success());
    assert!(!scene.home.socket().exists());
    Ok(())
}

#[tokio::test]
async fn modes_and_one_instance() -> Result<()> {
    let scene = Scene::new()?;
    std::fs::remove_dir_all(scene.home.scv_home())?;
    let mut first = scene.daemon().await?;
    let mode = |path: std::path::PathBuf| -> Result<u32> {
        Ok(std::fs::symlink_metadata(path)?.permissions().mode() & 0o777)
    };
    assert_eq!(mode(scene.home.scv_home())?, 0o700);
    assert_eq!(mode(scene.home.socket())?, 0o600);
    let mut second = Daemon::start(&scene.home, &Options::default())?;
    assert_eq!(second.ended(SOON).await?.code(), Some(1));
    let pid = first.pid().as_raw_nonzero().to_string();
    assert!(second.log().contains(&pid), "it names the owner: {}", second.log());
    assert!(first.terminate().await?.success());
    assert!(!scene.home.socket().exists());
    // A daemon that died leaves its socket behind; the next one takes its place.
    let mut killed = scene.daemon().await?;
    killed.kill().await?;
    assert!(scene.home.socket().exists());
    scene.daemon().await?;
    Ok(())
}
