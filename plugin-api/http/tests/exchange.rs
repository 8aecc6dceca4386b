//! Whole exchanges: what is sent, what comes back, and every limit.

mod support;

use scv_http::{FetchLimits, HttpError, Phase, Request, StreamLimits};
use serde_json::json;
use support::{LONG, SHORT, Server, client, fetch_limits, ok, stream_limits};

#[tokio::test]
async fn a_request_arrives_as_written() {
    let server = Server::bind().await;
    let request = Request::post(server.url("/p"))
        .query(&[("q", "a b")])
        .bearer("t0ken")
        .header("X-One", "1")
        .json(&json!({"k": 9007199254740993u64}));
    let client = client();
    let (response, (seen, _peer)) =
        tokio::join!(client.fetch(request, fetch_limits()), server.answer(ok("hello")));
    let response = response.expect("answer");
    assert_eq!((response.status, &response.body[..]), (200, &b"hello"[..]));
    assert_eq!(response.header("Content-Length"), Some("5"));
    assert!(seen.starts_with("POST /p?q=a+b HTTP/1.1\r\n"), "{seen}");
    for line in [
        "authorization: Bearer t0ken",
        "x-one: 1",
        "user-agent: scv-test/1",
        "content-type: application/json",
    ] {
        assert!(seen.contains(&format!("{line}\r\n")), "{line} in {seen}");
    }
    assert!(seen.ends_with("\r\n\r\n{\"k\":9007199254740993}"), "{seen}");
}

#[tokio::test]
async fn a_form_is_encoded() {
    let server = Server::bind().await;
    let request = Request::post(server.url("/")).form(&[("a", "x&y"), ("b", "")]);
    let client = client();
    let (response, (seen, _peer)) =
        tokio::join!(client.fetch(request, fetch_limits()), server.answer(ok("")));
    assert!(response.expect("answer").is_success());
    assert!(seen.ends_with("\r\n\r\na=x%26y&b="), "{seen}");
}

#[tokio::test]
async fn any_status_is_a_response_and_redirects_stay() {
    for status in [302, 404, 503] {
        let server = Server::bind().await;
        let head =
            format!("HTTP/1.1 {status} X\r\nlocation: /elsewhere\r\ncontent-length: 2\r\n\r\nno");
        let client = client();
        let fetch = client.fetch(Request::get(server.url("/")), fetch_limits());
        let (response, _peer) = tokio::join!(fetch, server.answer(head.as_bytes()));
        let response = response.expect("answer");
        assert_eq!((response.status, &response.body[..]), (status, &b"no"[..]));
        assert!(!response.is_success());
    }
}

#[tokio::test]
async fn chunks_come_as_they_are_sent() {
    let server = Server::bind().await;
    let client = client();
    let open = client.stream(Request::get(server.url("/")), stream_limits());
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n";
    let (stream, (_, mut peer)) = tokio::join!(open, server.answer(head));
    let mut stream = stream.expect("head");
    assert_eq!(stream.status(), 200);
    assert_eq!(stream.chunk().await.expect("chunk").as_deref(), Some(&b"one"[..]));
    peer.send(b"3\r\ntwo\r\n0\r\n\r\n").await;
    assert_eq!(stream.chunk().await.expect("chunk").as_deref(), Some(&b"two"[..]));
    assert_eq!(stream.chunk().await, Ok(None));
}

#[tokio::test]
async fn dropping_ends_the_connection_at_once() {
    let server = Server::bind().await;
    let client = client();
    let open = client.stream(Request::get(server.url("/")), stream_limits());
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n";
    let (stream, (_, mut peer)) = tokio::join!(open, server.answer(head));
    drop(stream.expect("head"));
    peer.closed().await;

    let fetch = client.fetch(Request::get(server.url("/")), fetch_limits());
    let mut peer = tokio::select! {
        _ = fetch => panic!("nobody answered"),
        peer = async { let mut peer = server.accept().await; peer.request().await; peer } => peer,
    };
    peer.closed().await;
}

#[tokio::test]
async fn a_large_body_is_refused_announced_or_not() {
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 1025\r\n\r\n".to_owned(),
        format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n401\r\n{}\r\n",
            "x".repeat(1025)
        ),
        format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1025)),
    ] {
        let server = Server::bind().await;
        let client = client();
        let fetch = client.fetch(Request::get(server.url("/")), fetch_limits());
        let (result, _peer) = tokio::join!(fetch, server.answer(head.as_bytes()));
        assert_eq!(result.expect_err(&head), HttpError::TooLarge { limit_bytes: 1024 });
    }
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_passes() {
    let server = Server::bind().await;
    let client = client();
    let fetch = client.fetch(Request::get(server.url("/")), fetch_limits());
    let (result, _peer) = tokio::join!(fetch, server.answer(ok(&"x".repeat(1024))));
    assert_eq!(result.expect("answer").body.len(), 1024);
}

#[tokio::test]
async fn a_slow_head_and_a_slow_body_are_told_apart() {
    let server = Server::bind().await;
    let client = client();
    let limits = FetchLimits { total: SHORT, ..fetch_limits() };
    for (bytes, phase) in [
        (&b"HTTP/1.1 200"[..], Phase::Headers),
        (&b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort"[..], Phase::Body),
    ] {
        let fetch = client.fetch(Request::get(server.url("/")), limits);
        let (result, _peer) = tokio::join!(fetch, server.answer(bytes));
        assert_eq!(result.expect_err("late"), HttpError::Timeout { phase });
    }
    let limits = StreamLimits { connect: LONG, headers: SHORT };
    let open = client.stream(Request::get(server.url("/")), limits);
    let (result, _peer) = tokio::join!(open, server.answer(b""));
    let error = result.expect_err("late");
    assert_eq!(error, HttpError::Timeout { phase: Phase::Headers });
    assert!(!error.is_connection_failure());
}

#[tokio::test]
async fn broken_answers_have_their_names() {
    let flood = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(200 * 1024));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(200));
    for (bytes, want) in [
        (flood.as_bytes(), HttpError::Protocol),
        (many.as_bytes(), HttpError::Protocol),
        (b"SSH-2.0-OpenSSH\r\n\r\n", HttpError::Protocol),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort", HttpError::Body),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", HttpError::Body),
        (b"", HttpError::Reset),
    ] {
        let server = Server::bind().await;
        let client = client();
        let fetch = client.fetch(Request::get(server.url("/")), fetch_limits());
        let serve = async {
            let mut peer = server.accept().await;
            peer.request().await;
            // The client may close as soon as it has seen enough.
            let _ = tokio::io::AsyncWriteExt::write_all(&mut peer.io, bytes).await;
        };
        let (result, ()) = tokio::join!(fetch, serve);
        assert_eq!(result.expect_err("broken"), want);
    }
}

#[tokio::test]
async fn nobody_listening_is_a_connection_failure() {
    let server = Server::bind().await;
    let url = server.url("/");
    drop(server);
    let error = client().fetch(Request::get(url), fetch_limits()).await.expect_err("refused");
    assert_eq!(error, HttpError::Connect);
    assert!(error.is_connection_failure());
}
