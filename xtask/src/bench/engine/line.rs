//! A client that costs next to nothing: blocking, and it parses only what it must.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// Nothing that is measured is silent for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that reads lines.
pub(in crate::bench) struct LineClient {
    reader: BufReader<UnixStream>,
    line: Vec<u8>,
}

/// A connection with a session.
pub(in crate::bench) struct Talker {
    pub(in crate::bench) client: LineClient,
    session: Value,
}

impl LineClient {
    pub(super) fn new(stream: UnixStream) -> Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { reader: BufReader::with_capacity(64 * 1024, stream), line: Vec::new() })
    }

    /// A connection that is initialized.
    pub(super) fn initialize(socket: &Path) -> Result<Self> {
        let mut client = Self::new(UnixStream::connect(socket)?)?;
        let info = json!({"name": "scv-bench", "version": env!("CARGO_PKG_VERSION")});
        client.send(&json!({"type": "initialize", "request_id": "i", "protocol_version": 3,
            "client": info}))?;
        client.until("initialized")?;
        Ok(client)
    }

    pub(super) fn send(&mut self, message: &Value) -> Result<()> {
        self.send_line(&format!("{message}\n"))
    }

    pub(in crate::bench) fn send_line(&mut self, line: &str) -> Result<()> {
        Ok(self.reader.get_mut().write_all(line.as_bytes())?)
    }

    /// The next line; empty at the end of the stream.
    pub(super) fn line(&mut self) -> Result<&[u8]> {
        self.line.clear();
        self.reader.read_until(b'\n', &mut self.line)?;
        Ok(&self.line)
    }

    /// Reads until an event of this type has come, and gives it. An event's type is its first
    /// field.
    pub(in crate::bench) fn until(&mut self, kind: &str) -> Result<&[u8]> {
        let wanted = format!(r#"{{"type":"{kind}""#);
        loop {
            let line = self.line()?;
            if line.starts_with(wanted.as_bytes()) {
                return Ok(&self.line);
            }
            let is_bad = |kind: &str| line.starts_with(format!(r#"{{"type":"{kind}""#).as_bytes());
            if line.is_empty() || is_bad("error") || is_bad("turn.failed") {
                bail!("{kind} never came, but {:?}", String::from_utf8_lossy(line));
            }
        }
    }
}

impl Talker {
    pub(in crate::bench) fn new(socket: &Path, cwd: &Path) -> Result<Self> {
        Self::start(LineClient::initialize(socket)?, cwd)
    }

    /// Starts a session on a connection.
    pub(super) fn start(mut client: LineClient, cwd: &Path) -> Result<Self> {
        client.send(&json!({"type": "session.start", "request_id": "s", "cwd": cwd}))?;
        let started: Value = serde_json::from_slice(client.until("session.started")?)?;
        let session = started.get("session_id").context("the session has an id")?.clone();
        client.until("queue.snapshot")?;
        Ok(Self { client, session })
    }

    /// The line that starts a turn.
    pub(in crate::bench) fn turn(&self) -> String {
        let message = json!({"type": "turn.start", "request_id": "t",
            "session_id": self.session, "prompt": "hello"});
        format!("{message}\n")
    }

    pub(super) fn clear(&mut self) -> Result<()> {
        self.client.send(&json!({"type": "session.clear", "request_id": "c",
            "session_id": self.session}))?;
        self.client.until("session.cleared").map(drop)
    }
}
