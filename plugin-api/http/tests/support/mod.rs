//! A loopback server that speaks raw bytes, so that every oddity can be put on the wire.

// Each test file uses its own part of this.
#![allow(dead_code)]

use std::time::Duration;

use scv_http::{FetchLimits, HttpClient, HttpConfig, StreamLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Long enough for every machine; only a failing test waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(20);
/// For the tests that wait for a limit.
pub(crate) const SHORT: Duration = Duration::from_millis(50);

pub(crate) struct Server {
    pub(crate) listener: TcpListener,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let port = listener.local_addr().expect("address").port();
        Self { listener, port }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) async fn accept(&self) -> Peer<TcpStream> {
        Peer { io: self.listener.accept().await.expect("accept").0 }
    }

    /// Answers one request on one connection with these bytes and returns the connection.
    pub(crate) async fn answer(&self, bytes: impl AsRef<[u8]>) -> (String, Peer<TcpStream>) {
        let mut peer = self.accept().await;
        let request = peer.request().await;
        peer.send(bytes.as_ref()).await;
        (request, peer)
    }
}

/// The server's end of a connection.
pub(crate) struct Peer<T> {
    pub(crate) io: T,
}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin> Peer<T> {
    /// Head and body of the next request, as text.
    pub(crate) async fn request(&mut self) -> String {
        let mut text = String::new();
        while !is_whole(&text) {
            let mut buffer = [0; 4096];
            let read = self.io.read(&mut buffer).await.expect("read");
            assert_ne!(read, 0, "the client closed after {text:?}");
            text.push_str(std::str::from_utf8(&buffer[..read]).expect("ASCII"));
        }
        text
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.io.write_all(bytes).await.expect("write");
    }

    /// Waits until the client closes.
    pub(crate) async fn closed(&mut self) {
        let mut buffer = [0; 4096];
        while self.io.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().expect("number"))
    });
    body.len() >= length.unwrap_or(0)
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(HttpConfig { user_agent: "scv-test/1".into(), ..HttpConfig::default() })
        .expect("client")
}

pub(crate) fn fetch_limits() -> FetchLimits {
    FetchLimits { connect: LONG, total: LONG, max_body_bytes: 1024 }
}

pub(crate) fn stream_limits() -> StreamLimits {
    StreamLimits { connect: LONG, headers: LONG }
}

/// A response with a length and an open connection.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
