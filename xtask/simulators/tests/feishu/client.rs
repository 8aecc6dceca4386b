//! A plain client of the Feishu platform, so that the simulator is tested by something that is
//! not scv.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use scv_simulators::Feishu;
use scv_simulators::feishu::{APP, Frame, SECRET};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// Long enough for every machine; only a failing test waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    proxy: String,
    tls: TlsConnector,
}

/// A status, headers by name, and the body.
pub(crate) type Response = (http::response::Parts, Bytes);

impl Client {
    pub(crate) fn of(feishu: &Feishu) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(feishu.authority())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let proxy = feishu.proxy().trim_start_matches("http://").to_owned();
        Ok(Self { proxy, tls: TlsConnector::from(Arc::new(config)) })
    }

    /// TLS to a host, through the proxy.
    pub(crate) async fn reach(&self, host: &str) -> Result<TlsStream<TcpStream>> {
        let mut stream = TcpStream::connect(&self.proxy).await?;
        let head = format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(stream.read_u8().await?);
        }
        ensure!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        let name = ServerName::try_from(host.to_owned())?;
        Ok(self.tls.connect(name, stream).await?)
    }

    pub(crate) async fn send(&self, host: &str, request: Request<Full<Bytes>>) -> Result<Response> {
        let stream = TokioIo::new(self.reach(host).await?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
        tokio::spawn(connection);
        let (head, body) = sender.send_request(request).await?.into_parts();
        Ok((head, body.collect().await?.to_bytes()))
    }

    pub(crate) async fn post(&self, host: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
        let request = Request::post(path)
            .header("host", host)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", self.token(host, path).await?))
            .body(Full::new(body.to_string().into()))?;
        json_of(self.send(host, request).await?)
    }

    pub(crate) async fn get(&self, host: &str, path: &str) -> Result<(u16, Value)> {
        let request = Request::get(path)
            .header("host", host)
            .header("authorization", format!("Bearer {}", self.token(host, path).await?))
            .body(Full::default())?;
        json_of(self.send(host, request).await?)
    }

    pub(crate) async fn form(&self, host: &str, body: String) -> Result<(u16, Value)> {
        let request = Request::post("/oauth/v1/app/registration")
            .header("host", host)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(body.into()))?;
        json_of(self.send(host, request).await?)
    }

    /// A tenant token, where the call needs one.
    async fn token(&self, host: &str, path: &str) -> Result<String> {
        let needs_token = path.contains("/im/") || path.contains("/bot/");
        if !needs_token {
            return Ok(String::new());
        }
        let path = "/open-apis/auth/v3/tenant_access_token/internal";
        let body = json!({"app_id": APP, "app_secret": SECRET});
        let request =
            Request::post(path).header("host", host).body(Full::new(body.to_string().into()))?;
        let (_, answer) = json_of(self.send(host, request).await?)?;
        Ok(answer["tenant_access_token"].as_str().context("a token")?.to_owned())
    }

    /// The URL of a new connection.
    pub(crate) async fn discover(&self) -> Result<String> {
        let body = json!({"AppID": APP, "AppSecret": SECRET});
        let (_, answer) = self.post("open.feishu.cn", "/callback/ws/endpoint", &body).await?;
        Ok(answer["data"]["URL"].as_str().with_context(|| answer.to_string())?.to_owned())
    }

    pub(crate) async fn connect(&self, url: &str) -> Result<Socket> {
        let stream = self.reach("msg-frontier.feishu.cn").await?;
        let (socket, _) = tokio_tungstenite::client_async(url, stream).await?;
        Ok(Socket(socket))
    }
}

fn json_of((head, body): Response) -> Result<(u16, Value)> {
    Ok((head.status.as_u16(), serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

pub(crate) struct Socket(WebSocketStream<TlsStream<TcpStream>>);

impl Socket {
    /// The next message, or none at the end.
    pub(crate) async fn message(&mut self) -> Result<Option<Message>> {
        Ok(tokio::time::timeout(LONG, self.0.next()).await?.transpose().ok().flatten())
    }

    pub(crate) async fn frame(&mut self) -> Result<Frame> {
        match self.message().await? {
            Some(Message::Binary(bytes)) => Frame::decode(&bytes).map_err(anyhow::Error::msg),
            other => anyhow::bail!("no frame but {other:?}"),
        }
    }

    pub(crate) async fn send(&mut self, frame: &Frame) -> Result<()> {
        Ok(self.0.send(Message::binary(frame.encode())).await?)
    }

    pub(crate) async fn acknowledge(&mut self, event: &Frame, code: i64) -> Result<()> {
        let mut ack = event.clone();
        ack.headers.push(("biz_rt".to_owned(), "3".to_owned()));
        ack.payload = Some(json!({"code": code}).to_string().into_bytes());
        self.send(&ack).await
    }
}
