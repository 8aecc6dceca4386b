//! Proxies and TLS, over loopback: the named hosts do not exist, only the proxy is reached.

mod support;

use std::sync::Arc;

use rcgen::generate_simple_self_signed;
use scv_http::{FetchLimits, HttpClient, HttpConfig, HttpError, Origin, Phase, Request};
use support::{LONG, Peer, SHORT, Server, fetch_limits, ok};
use tokio::io::AsyncReadExt;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

fn through(proxy: &Server, extra_ca_pem: Option<Vec<u8>>) -> HttpClient {
    let address = format!("http://user:hunter22@127.0.0.1:{}", proxy.port);
    let config = HttpConfig {
        https_proxy: Some(address.clone()),
        http_proxy: Some(address),
        extra_ca_pem,
        ..HttpConfig::default()
    };
    HttpClient::new(config).expect("client")
}

/// A server certificate for `api.example` and what a client must trust.
fn certificate() -> (TlsAcceptor, Vec<u8>) {
    let made = generate_simple_self_signed(["api.example".to_owned()]).expect("certificate");
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("key");
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem().into_bytes())
}

const BASIC: &str = "proxy-authorization: Basic dXNlcjpodW50ZXIyMg==\r\n";

#[tokio::test]
async fn http_is_forwarded_in_absolute_form() {
    let proxy = Server::bind().await;
    let client = through(&proxy, None);
    let fetch = client.fetch(Request::get("http://api.example/p?q=1"), fetch_limits());
    let (response, (seen, _peer)) = tokio::join!(fetch, proxy.answer(ok("via")));
    assert_eq!(&response.expect("answer").body[..], b"via");
    assert!(seen.starts_with("GET http://api.example/p?q=1 HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("host: api.example\r\n") && seen.contains(BASIC), "{seen}");
}

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let (acceptor, ca) = certificate();
    let proxy = Server::bind().await;
    let client = through(&proxy, Some(ca));
    let fetch = client.fetch(Request::get("https://api.example/p"), fetch_limits());
    let serve = async {
        let mut peer = proxy.accept().await;
        let connect = peer.request().await;
        peer.send(b"HTTP/1.1 200 Established\r\n\r\n").await;
        let mut tls = Peer { io: acceptor.accept(peer.io).await.expect("handshake") };
        let request = tls.request().await;
        tls.send(&ok("secret")).await;
        (connect, request, tls)
    };
    let (response, (connect, request, _tls)) = tokio::join!(fetch, serve);
    assert_eq!(&response.expect("answer").body[..], b"secret");
    assert!(connect.starts_with("CONNECT api.example:443 HTTP/1.1\r\n"), "{connect}");
    assert!(connect.contains(BASIC), "{connect}");
    assert!(request.starts_with("GET /p HTTP/1.1\r\n"), "{request}");
    assert!(!request.contains("proxy-authorization"), "{request}");
}

#[tokio::test]
async fn a_dialled_connection_goes_the_same_way() {
    let (acceptor, ca) = certificate();
    let proxy = Server::bind().await;
    let client = through(&proxy, Some(ca));
    let origin = Origin::parse("https://api.example").expect("origin");
    let serve = async {
        let (connect, peer) = proxy.answer(b"HTTP/1.1 200 Established\r\n\r\n").await;
        let mut tls = Peer { io: acceptor.accept(peer.io).await.expect("handshake") };
        tls.send(b"no HTTP at all").await;
        (connect, tls)
    };
    let (stream, (connect, _tls)) = tokio::join!(client.dial(&origin, LONG), serve);
    assert!(connect.starts_with("CONNECT api.example:443 HTTP/1.1\r\n"), "{connect}");
    assert!(connect.contains(BASIC), "{connect}");
    let mut bytes = [0; 14];
    stream.expect("a connection").read_exact(&mut bytes).await.expect("bytes");
    assert_eq!(&bytes, b"no HTTP at all");
}

#[tokio::test]
async fn an_unknown_certificate_is_refused() {
    let (acceptor, _) = certificate();
    let (_, other_ca) = certificate();
    let proxy = Server::bind().await;
    let client = through(&proxy, Some(other_ca));
    let fetch = client.fetch(Request::get("https://api.example/"), fetch_limits());
    let serve = async {
        let (_, peer) = proxy.answer(b"HTTP/1.1 200 Established\r\n\r\n").await;
        acceptor.accept(peer.io).await.err()
    };
    let (result, _) = tokio::join!(fetch, serve);
    assert_eq!(result.expect_err("not trusted"), HttpError::Tls);
}

#[tokio::test]
async fn a_refusing_proxy_is_named_by_its_status_only() {
    let proxy = Server::bind().await;
    let client = through(&proxy, None);
    let request =
        Request::post("https://api.example/path?key=hunter22").bearer("hunter22").body("hunter22");
    let refusal = b"HTTP/1.1 407 hunter22\r\nx: hunter22\r\ncontent-length: 8\r\n\r\nhunter22";
    let (result, _) = tokio::join!(client.fetch(request, fetch_limits()), proxy.answer(refusal));
    let error = result.expect_err("refused");
    assert_eq!(error, HttpError::Proxy { status: 407 });
    for text in [error.to_string(), format!("{error:?}"), format!("{client:?}")] {
        for secret in ["hunter22", "api.example", "path", "127.0.0.1"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[tokio::test]
async fn a_silent_proxy_is_a_connection_that_did_not_come() {
    let proxy = Server::bind().await;
    let client = through(&proxy, None);
    let limits = FetchLimits { connect: SHORT, total: LONG, max_body_bytes: 1 };
    let fetch = client.fetch(Request::get("https://api.example/"), limits);
    let (result, mut peer) = tokio::join!(fetch, async { proxy.answer(b"").await.1 });
    let error = result.expect_err("late");
    assert_eq!(error, HttpError::Timeout { phase: Phase::Connect });
    assert!(error.is_connection_failure());
    peer.closed().await;
}

#[tokio::test]
async fn loopback_goes_straight() {
    let proxy = Server::bind().await;
    let server = Server::bind().await;
    let client = through(&proxy, None);
    let fetch = client.fetch(Request::get(server.url("/")), fetch_limits());
    let (response, (seen, _peer)) = tokio::join!(fetch, server.answer(ok("straight")));
    assert_eq!(&response.expect("answer").body[..], b"straight");
    assert!(seen.starts_with("GET / HTTP/1.1\r\n") && !seen.contains("roxy"), "{seen}");
}
