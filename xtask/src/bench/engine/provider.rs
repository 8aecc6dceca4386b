//! A model server that says what it was told to say, as fast as it is read: bytes that were made
//! beforehand, and no thought about the request.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Where the answers come from.
pub(super) struct Provider {
    listener: TcpListener,
}

/// One exchange, after its request was read.
pub(super) struct Exchange {
    stream: TcpStream,
}

impl Provider {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { listener: TcpListener::bind("127.0.0.1:0")? })
    }

    pub(super) fn address(&self) -> Result<String> {
        Ok(self.listener.local_addr()?.to_string())
    }

    /// Takes the next connection and reads one request.
    pub(super) fn accept(&self) -> Result<Exchange> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nodelay(true)?;
        let mut exchange = Exchange { stream };
        exchange.read_request()?;
        Ok(exchange)
    }

    /// Answers every request with these bytes, on a thread of its own for each connection, until
    /// the process ends.
    pub(super) fn repeat(self, answer: Vec<u8>) {
        let answer = Arc::new(answer);
        thread::spawn(move || {
            while let Ok(mut exchange) = self.accept() {
                let answer = Arc::clone(&answer);
                // A reader that goes away ends its connection's thread.
                thread::spawn(move || -> Result<()> {
                    loop {
                        exchange.write(&answer)?;
                        exchange.read_request()?;
                    }
                });
            }
        });
    }
}

impl Exchange {
    fn read_request(&mut self) -> Result<()> {
        let mut reader = BufReader::new(&self.stream);
        let (mut line, mut length) = (String::new(), None);
        loop {
            line.clear();
            let count = reader.read_line(&mut line)?;
            anyhow::ensure!(count > 0, "the connection has ended");
            match line.trim_end().to_ascii_lowercase().split_once(':') {
                Some(("content-length", value)) => length = Some(value.trim().parse::<usize>()?),
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length.context("a request has a length")?];
        Ok(reader.read_exact(&mut body)?)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// The head of an answer whose length nobody knows yet.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )
    }

    /// One chunk of such an answer; an empty one ends it.
    pub(super) fn chunk(&mut self, text: &str) -> Result<()> {
        self.write(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
    }
}

/// A whole answer of the Chat Completions format.
pub(super) fn answer(deltas: usize, delta_bytes: usize) -> Vec<u8> {
    let mut body = event("x".repeat(delta_bytes).as_str()).repeat(deltas);
    body.push_str(END);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head, body].concat().into_bytes()
}

/// What a stream ends with.
pub(super) const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// One event with text.
pub(super) fn event(text: &str) -> String {
    let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": Value::Null});
    let chunk = json!({"id": "chatcmpl-bench", "object": "chat.completion.chunk",
        "created": 1_790_000_000, "model": "bench", "choices": [choice]});
    format!("data: {chunk}\n\n")
}
