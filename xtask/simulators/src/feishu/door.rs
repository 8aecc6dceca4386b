//! The way in: a proxy that takes every connection to the platform's hosts to this process.
//!
//! A client needs its proxy settings and the throw-away authority, and is otherwise as it is in
//! the world: real host names, TLS, port 443.

use std::sync::Arc;

use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::script::{Answer, Brand, Drop};
use super::socket;
use super::state::State;
use crate::limits;
use crate::request::Request;
use crate::server::{self, Cut, Reply};
use crate::watched::Watched;

/// The first byte of a TLS connection; CONNECT begins with a letter.
const TLS_HANDSHAKE: u8 = 0x16;

type Shared = Arc<Watched<State>>;

/// One connection: to the proxy, or straight to the websocket's host, for a client that takes no
/// proxy there ([`Feishu::direct_socket`](super::Feishu::direct_socket)).
pub(super) async fn converse(mut stream: TcpStream, shared: Shared, tls: Arc<ServerConfig>) {
    let mut first = [0];
    let is_tls = stream.peek(&mut first).await.is_ok_and(|_| first == [TLS_HANDSHAKE]);
    let host = match is_tls {
        true => Some(format!("msg-frontier.{}", shared.lock().brand.domain())),
        false => tunnel(&mut stream, &shared).await,
    };
    let Some(host) = host else { return };
    let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await else { return };
    let service = service_fn(|request| serve(shared.clone(), host.clone(), request));
    // An error here is a connection that ended: the client's business, or a wanted hang-up.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}

/// Opens a tunnel for the client, to a host of the platform.
async fn tunnel(stream: &mut TcpStream, shared: &Shared) -> Option<String> {
    let target = connect_target(stream).await?;
    let outage = shared.change(|state| {
        state.dialled.push(target.clone());
        state.outage
    });
    let host = target.strip_suffix(":443").filter(|host| Brand::of_host(host).is_some());
    let Some(host) = host.filter(|_| !outage) else {
        let _ = stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").await;
        return None;
    };
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.ok()?;
    Some(host.to_owned())
}

/// `host:port` of a CONNECT request, read to the end of its head and no further.
async fn connect_target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= limits::CONNECT_HEAD_BYTES {
            return None;
        }
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?;
    Some(target.to_owned())
}

async fn serve(
    shared: Shared,
    host: String,
    mut request: http::Request<Incoming>,
) -> Result<server::Answer, Cut> {
    let upgrade = hyper::upgrade::on(&mut request);
    let request = match server::whole(request).await {
        Ok(request) => request,
        Err(refusal) => return server::answer(refusal),
    };
    if shared.lock().outage {
        return Err(Cut);
    }
    let met = shared.change(|state| state.arrive(&host, &request));
    let (mut scripted, mut drop) = (None, None);
    if let Some(met) = met {
        tokio::time::sleep(met.delay).await;
        (scripted, drop) = (met.answer, met.drop);
    }
    if drop == Some(Drop::Before) {
        shared.change(|state| state.lose(&host, &request));
        return Err(Cut);
    }
    if request.path == "/ws/v2" && scripted.is_none() {
        return Ok(open(&shared, &request, upgrade).unwrap_or_else(refuse));
    }
    let answer = shared.change(|state| state.respond(&host, &request, scripted));
    match answer {
        Some(answer) if drop.is_none() => server::answer(reply(answer)),
        _ => Err(Cut),
    }
}

fn reply(answer: Answer) -> Reply {
    let content_type = if answer.is_json { "application/json; charset=utf-8" } else { "text/html" };
    Reply::Whole {
        status: answer.status,
        content_type,
        headers: answer.headers,
        body: answer.body.into(),
    }
}

/// Switches to a websocket, which lives on by itself.
fn open(
    shared: &Shared,
    request: &Request,
    upgrade: hyper::upgrade::OnUpgrade,
) -> Option<server::Answer> {
    let key = request.header(SEC_WEBSOCKET_KEY.as_str())?;
    let accept = derive_accept_key(key.as_bytes());
    let (connection, out) = shared.change(|state| state.admit(request))?;
    let shared = shared.clone();
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => socket::converse(shared, upgraded, connection, out).await,
            Err(_) => shared.change(|state| state.closed(connection)),
        }
    });
    http::Response::builder()
        .status(101)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, accept)
        .body(Either::Left(Full::default()))
        .ok()
}

/// As the platform refuses a ticket that it does not know or that was used.
fn refuse() -> server::Answer {
    let (mut head, body) = http::Response::new(Either::Left(Full::default())).into_parts();
    head.status = http::StatusCode::FORBIDDEN;
    for (name, value) in [("handshake-status", "514"), ("handshake-msg", "authentication failed")] {
        head.headers.insert(name, http::HeaderValue::from_static(value));
    }
    http::Response::from_parts(head, body)
}
