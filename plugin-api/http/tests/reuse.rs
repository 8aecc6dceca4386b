//! Kept connections: they are used again, and a dead one costs nothing but a repetition.

mod support;

use scv_http::{HttpError, Request};
use support::{Server, client, fetch_limits, ok};

#[tokio::test]
async fn a_connection_serves_twice() {
    let server = Server::bind().await;
    let client = client();
    let fetch = || client.fetch(Request::get(server.url("/")), fetch_limits());
    let (first, (_, mut peer)) = tokio::join!(fetch(), server.answer(ok("1")));
    assert_eq!(&first.expect("first").body[..], b"1");
    let again = async {
        peer.request().await;
        peer.send(&ok("2")).await;
    };
    let (second, ()) = tokio::join!(fetch(), again);
    assert_eq!(&second.expect("second").body[..], b"2");
}

#[tokio::test]
async fn a_dead_kept_connection_is_repeated_once_on_a_new_one() {
    let server = Server::bind().await;
    let client = client();
    let fetch = || client.fetch(Request::post(server.url("/")).body("same"), fetch_limits());
    let (_, (_, mut peer)) = tokio::join!(fetch(), server.answer(ok("1")));
    let serve = async {
        let lost = peer.request().await;
        drop(peer);
        let (repeated, peer) = server.answer(ok("2")).await;
        assert_eq!(lost, repeated);
        peer
    };
    let (second, _peer) = tokio::join!(fetch(), serve);
    assert_eq!(&second.expect("second").body[..], b"2");
}

#[tokio::test]
async fn the_repetition_itself_is_not_repeated() {
    let server = Server::bind().await;
    let client = client();
    let fetch = || client.fetch(Request::get(server.url("/")), fetch_limits());
    let (_, (_, mut peer)) = tokio::join!(fetch(), server.answer(ok("1")));
    let serve = async {
        peer.request().await;
        drop(peer);
        server.answer(b"").await;
    };
    let (result, ()) = tokio::join!(fetch(), serve);
    let error = result.expect_err("closed twice");
    assert_eq!(error, HttpError::Reset);
    assert!(error.is_connection_failure());
}

#[tokio::test]
async fn an_answer_that_began_is_not_repeated() {
    let server = Server::bind().await;
    let client = client();
    let fetch = || client.fetch(Request::get(server.url("/")), fetch_limits());
    let (_, (_, mut peer)) = tokio::join!(fetch(), server.answer(ok("1")));
    let serve = async {
        peer.request().await;
        peer.send(b"HTTP/1.1 2").await;
        drop(peer);
    };
    let (result, ()) = tokio::join!(fetch(), serve);
    assert_eq!(result.expect_err("broke off"), HttpError::Reset);
}
