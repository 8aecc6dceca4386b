//! The same work without scv: the least that any program must do.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

use super::{line::LineClient, process};

/// CPU time of a relay for some answers: one thread that reads chunks, splits lines, parses each
/// event's JSON and writes one frame for each to a socket that somebody else reads.
pub(super) fn relay(address: &str, answers: usize) -> Result<Duration> {
    let (mut frames, reader) = UnixStream::pair()?;
    let drain = thread::spawn(move || discard(reader));
    let mut provider = TcpStream::connect(address)?;
    let address = address.to_owned();
    let relayed = thread::spawn(move || -> Result<Duration> {
        let before = process::thread_cpu()?;
        for _ in 0..answers {
            relay_one(&mut provider, &address, &mut frames)?;
        }
        Ok(process::thread_cpu()?.saturating_sub(before))
    });
    let used = relayed.join().ok().context("the relay panicked")?;
    drop(drain.join());
    used
}

fn relay_one(provider: &mut TcpStream, host: &str, frames: &mut UnixStream) -> Result<()> {
    let request = "{}";
    write!(
        provider,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n\r\n{request}",
        request.len()
    )?;
    let mut reader = BufReader::with_capacity(64 * 1024, provider);
    let mut line = Vec::new();
    loop {
        line.clear();
        anyhow::ensure!(reader.read_until(b'\n', &mut line)? > 0, "the provider has ended");
        let Some(data) = line.strip_prefix(b"data: ") else {
            continue;
        };
        if data.starts_with(b"[DONE]") {
            reader.read_until(b'\n', &mut line)?;
            return Ok(());
        }
        let chunk: Value = serde_json::from_slice(data)?;
        let content = &chunk["choices"][0]["delta"]["content"];
        let frame = json!({"type": "assistant.delta", "content": content});
        frames.write_all(format!("{frame}\n").as_bytes())?;
    }
}

fn discard(mut stream: UnixStream) {
    let mut buffer = vec![0; 64 * 1024];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// A JSONL echo: tokio on one thread, each line parsed and written anew.
pub(super) struct Echo {
    client: LineClient,
}

impl Echo {
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let socket = folder.join("echo.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(echo(listener))
        });
        Ok(Self { client: LineClient::new(UnixStream::connect(&socket)?)? })
    }

    /// How long a line takes to come back.
    pub(super) fn round_trip(&mut self, line: &str) -> Result<Duration> {
        let begin = Instant::now();
        self.client.send_line(line)?;
        self.client.line()?;
        Ok(begin.elapsed())
    }
}

async fn echo(listener: std::os::unix::net::UnixListener) -> Result<()> {
    let listener = tokio::net::UnixListener::from_std(listener)?;
    let (stream, _) = listener.accept().await?;
    let (read, mut write) = stream.into_split();
    let mut lines = tokio::io::BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let message: Value = serde_json::from_str(&line)?;
        let mut answer = serde_json::to_vec(&message)?;
        answer.push(b'\n');
        write.write_all(&answer).await?;
    }
    Ok(())
}
