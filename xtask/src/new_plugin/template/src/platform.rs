//! The platform: lines of JSON over TCP. This is the file to replace.

use std::io;

use scv_plugin_api::{Result, wire::Fault};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Mutex,
};

/// What the platform says.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum FromPlatform {
    Welcome {
        #[allow(dead_code)]
        welcome: bool,
    },
    Refused {
        #[allow(dead_code)]
        refused: bool,
    },
    Message(Message),
}

/// What a person wrote.
#[derive(Deserialize)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) from: String,
    pub(crate) text: String,
}

/// What the platform is told.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ToPlatform<'a> {
    Token {
        token: &'a str,
    },
    Ack {
        ack: &'a str,
    },
    Reply {
        reply_to: Option<&'a str>,
        client_id: &'a str,
        to: &'a str,
        text: &'a str,
    },
}

/// An open connection.
pub(crate) struct Link {
    lines: Mutex<Lines<BufReader<OwnedReadHalf>>>,
    write: Mutex<OwnedWriteHalf>,
}

impl Link {
    pub(crate) async fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await.map_err(lost)?;
        let (read, write) = stream.into_split();
        Ok(Self {
            lines: Mutex::new(BufReader::new(read).lines()),
            write: Mutex::new(write),
        })
    }

    /// The next line. Safe to drop: half a line stays for the next call.
    pub(crate) async fn read(&self) -> Result<FromPlatform> {
        let line = self.lines.lock().await.next_line().await.map_err(lost)?;
        let line = line.ok_or_else(|| Fault::retry("the platform hung up"))?;
        serde_json::from_str(&line)
            .map_err(|_| Fault::protocol("the platform says something that is no line of its"))
    }

    pub(crate) async fn write(&self, line: &ToPlatform<'_>) -> Result<()> {
        let mut line = serde_json::to_string(line).map_err(|_| Fault::other("no JSON"))?;
        line.push('\n');
        self.write
            .lock()
            .await
            .write_all(line.as_bytes())
            .await
            .map_err(lost)
    }
}

/// A fault's text is read by people: what, and no address, no secret.
fn lost(error: io::Error) -> Fault {
    Fault::retry(format!("the platform is not there ({})", error.kind()))
}
