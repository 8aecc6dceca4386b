//! A program that writes to the endpoint, and a callback that gets replies.

use std::{
    collections::VecDeque,
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use scv_channel_webhook::{Signed, sign};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub(crate) const SECRET: &str = "canary-0f9e8d7c6b5a";

/// An address of this machine that no other test uses: all of 127.0.0.0/8 is loopback.
pub(crate) fn own_address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let (pid, next) = (process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    format!("127.{}.{}.{}:8787", pid >> 8 & 0xff, pid & 0xff, next % 250 + 1)
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn nonce() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("nonce-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// One request; each part can be wrong.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) address: String,
    pub(crate) target: String,
    pub(crate) timestamp: u64,
    pub(crate) nonce: String,
    pub(crate) secret: String,
    pub(crate) body: String,
}

impl Call {
    pub(crate) fn new(address: &str, target: &str, body: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            target: target.into(),
            timestamp: now(),
            nonce: nonce(),
            secret: SECRET.into(),
            body: body.into(),
        }
    }

    /// The status and the body of the answer; nothing when there is no connection.
    pub(crate) async fn send(&self) -> Option<(u16, Value)> {
        let timestamp = self.timestamp.to_string();
        let signed = Signed {
            timestamp: &timestamp,
            nonce: &self.nonce,
            target: &self.target,
            body: self.body.as_bytes(),
        };
        let signature = sign(&self.secret, &signed);
        let request = format!(
            "{} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n\
             scv-timestamp: {timestamp}\r\nscv-nonce: {}\r\nscv-signature: {signature}\r\n\r\n{}",
            self.target,
            self.address,
            self.body.len(),
            self.nonce,
            self.body
        );
        let mut stream = TcpStream::connect(&self.address).await.ok()?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).ok()?))
    }
}

/// Takes posts; answers 200, or what a test says first.
#[derive(Clone)]
pub(crate) struct Callback {
    pub(crate) url: String,
    pub(crate) state: Arc<Mutex<CallbackState>>,
}

#[derive(Default)]
pub(crate) struct CallbackState {
    pub(crate) statuses: VecDeque<u16>,
    /// Heads and bodies of all posts.
    pub(crate) posts: Vec<(String, Value)>,
    /// Texts of the posts that were taken, each `client_id` once.
    pub(crate) shown: Vec<String>,
    known: Vec<String>,
}

impl Callback {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?x=1", listener.local_addr().unwrap());
        let callback = Self { url, state: Arc::default() };
        let serving = callback.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                serving.serve(stream).await;
            }
        });
        callback
    }

    async fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let mut text = Vec::new();
        let (head, body) = loop {
            if stream.read_buf(&mut text).await.ok()? == 0 {
                return None;
            }
            let read = String::from_utf8_lossy(&text).into_owned();
            let Some((head, body)) = read.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
            if text.len() >= head.len() + 4 + length.parse::<usize>().ok()? {
                break (head.to_owned(), serde_json::from_str::<Value>(body).ok()?);
            }
        };
        let status = self.take(head, body);
        let answer =
            format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.ok()
    }

    fn take(&self, head: String, body: Value) -> u16 {
        let mut state = self.state.lock().unwrap();
        let status = state.statuses.pop_front().unwrap_or(200);
        let id = body["client_id"].as_str().unwrap().to_owned();
        if status == 200 && !state.known.contains(&id) {
            state.known.push(id);
            state.shown.push(body["text"].as_str().unwrap().to_owned());
        }
        state.posts.push((head, body));
        status
    }
}
