//! The client against a scripted server, over an in-process stream and over a socket.

use std::{future::Future, io, pin::pin, task::Poll};

use scv_protocol::{
    CURRENT_VERSION, ClientInfo, ClientMessage, ControlCommand, DaemonStatus, ErrorCode,
    ServerEvent,
    client::{Client, ClientError, control},
    codec::encode_event,
    limits::MAX_SERVER_FRAME_BYTES,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex},
    net::UnixListener,
};

fn info() -> ClientInfo {
    ClientInfo { name: "test".into(), version: "0".into() }
}

fn initialized() -> ServerEvent {
    ServerEvent::Initialized {
        request_id: "initialize".into(),
        protocol_version: CURRENT_VERSION,
        server: info(),
    }
}

fn line(event: &ServerEvent) -> Vec<u8> {
    encode_event(event, MAX_SERVER_FRAME_BYTES).expect("a small event")
}

/// The server's end of a connection.
struct Server<S> {
    stream: BufReader<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Server<S> {
    fn new(stream: S) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    async fn message(&mut self) -> ClientMessage {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.expect("a line");
        ClientMessage::decode(line.as_bytes()).expect("a message")
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    async fn send(&mut self, event: &ServerEvent) {
        self.write(&line(event)).await.expect("the client reads");
    }
}

/// The outcome of a handshake that the server answers with these bytes, then with its end.
async fn answered(bytes: &[u8]) -> Result<Client, ClientError> {
    let (near, far) = duplex(4096);
    let (client, ()) = tokio::join!(Client::handshake(near, info()), async {
        let mut server = Server::new(far);
        server.message().await;
        server.write(bytes).await.expect("the client reads");
    });
    client
}

async fn connected() -> (Client, Server<DuplexStream>) {
    let (near, far) = duplex(4096);
    let mut server = Server::new(far);
    let (client, ()) = tokio::join!(Client::handshake(near, info()), async {
        server.message().await;
        server.send(&initialized()).await;
    });
    (client.expect("a handshake"), server)
}

#[tokio::test]
async fn the_handshake_asks_for_the_current_version() {
    let (near, far) = duplex(4096);
    let mut server = Server::new(far);
    let (client, hello) = tokio::join!(Client::handshake(near, info()), async {
        let hello = server.message().await;
        server.send(&initialized()).await;
        hello
    });
    client.expect("a handshake");
    let ClientMessage::Initialize { protocol_version, client, .. } = hello else {
        panic!("{hello:?}");
    };
    assert_eq!((protocol_version, client), (CURRENT_VERSION, info()));
}

#[tokio::test]
async fn a_refusal_keeps_its_code_and_words() {
    let refusal = ServerEvent::Error {
        request_id: Some("initialize".into()),
        code: ErrorCode::VersionMismatch,
        message: "this server speaks 2 and 3".into(),
        fatal: true,
        entry: None,
    };
    let Err(ClientError::Refused { code, message }) = answered(&line(&refusal)).await else {
        panic!("not refused");
    };
    assert_eq!(code, ErrorCode::VersionMismatch);
    assert_eq!(message, "this server speaks 2 and 3");
}

#[tokio::test]
async fn another_answer_is_no_handshake() {
    let odd = line(&ServerEvent::DaemonStatus {
        request_id: "initialize".into(),
        status: DaemonStatus::default(),
    });
    assert!(matches!(answered(&odd).await, Err(ClientError::Protocol)));
    assert!(matches!(answered(b"hello\n").await, Err(ClientError::Protocol)));
    assert!(matches!(answered(b"").await, Err(ClientError::Closed)));
}

#[tokio::test]
async fn events_of_newer_servers_are_skipped() {
    let (mut client, mut server) = connected().await;
    let event = ServerEvent::error(None, ErrorCode::InternalError, "known");
    let mut bytes = b"{\"type\":\"session.danced\",\"seq\":1}\n".to_vec();
    bytes.extend(line(&event));
    server.write(&bytes).await.expect("the client reads");
    assert_eq!(client.next().await.expect("an event"), event);
}

#[tokio::test]
async fn several_events_in_one_piece_come_one_by_one() {
    let (mut client, mut server) = connected().await;
    let events = ["first", "second", "third"]
        .map(|text| ServerEvent::error(None, ErrorCode::InternalError, text));
    let bytes: Vec<u8> = events.iter().flat_map(line).collect();
    server.write(&bytes).await.expect("the client reads");
    for event in events {
        assert_eq!(client.next().await.expect("an event"), event);
    }
}

/// Polls once; it must not be ready.
async fn poll_once<F: Future>(future: F) {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn a_wait_that_is_dropped_loses_nothing() {
    let (mut client, mut server) = connected().await;
    let event = ServerEvent::error(None, ErrorCode::InternalError, "in two pieces");
    let bytes = line(&event);
    let (head, tail) = bytes.split_at(20);
    server.write(head).await.expect("the client reads");
    poll_once(client.next()).await;
    server.write(tail).await.expect("the client reads");
    assert_eq!(client.next().await.expect("an event"), event);
}

#[tokio::test]
async fn the_end_and_odd_lines_are_told_apart() {
    let (mut client, mut server) = connected().await;
    server.write(b"not json\n").await.expect("the client reads");
    assert!(matches!(client.next().await, Err(ClientError::Protocol)));
    drop(server);
    assert!(matches!(client.next().await, Err(ClientError::Closed)));
}

/// Runs a control exchange against a server that does this with the connection.
async fn exchange<F: Future<Output = ()>>(
    serve: impl FnOnce(Server<tokio::net::UnixStream>) -> F,
) -> Result<DaemonStatus, ClientError> {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("server.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let asking = control(&socket, info(), ControlCommand::Reload);
    let (answer, ()) = tokio::join!(asking, async {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut server = Server::new(stream);
        server.message().await;
        server.send(&initialized()).await;
        let message = server.message().await;
        let reload =
            matches!(message, ClientMessage::DaemonControl { command: ControlCommand::Reload, .. });
        assert!(reload, "{message:?}");
        serve(server).await;
    });
    answer
}

#[tokio::test]
async fn control_gives_the_status() {
    let status = DaemonStatus { version: "1".into(), pid: 7, ..DaemonStatus::default() };
    let event = ServerEvent::DaemonStatus { request_id: "control".into(), status: status.clone() };
    let answer = exchange(async |mut server| server.send(&event).await).await;
    assert_eq!(answer.expect("an answer"), status);
}

#[tokio::test]
async fn control_gives_the_refusal() {
    let event = ServerEvent::error(
        Some("control".into()),
        ErrorCode::ComponentError,
        "the account is not signed in",
    );
    let answer = exchange(async |mut server| server.send(&event).await).await;
    let Err(error @ ClientError::Refused { .. }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(error.to_string(), "the account is not signed in");
}

#[tokio::test]
async fn control_says_when_the_daemon_goes_away() {
    let answer = exchange(async |server| drop(server)).await;
    assert!(matches!(answer, Err(ClientError::Closed)), "{answer:?}");
}

/// The clock stands still while anything can go on, and jumps when nothing can.
#[tokio::test(start_paused = true)]
async fn control_does_not_wait_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("server.sock");
    let _silent = UnixListener::bind(&socket).expect("a socket");
    let answer = control(&socket, info(), ControlCommand::Status).await;
    let Err(error @ ClientError::Timeout { seconds: 20 }) = answer else {
        panic!("{answer:?}");
    };
    assert!(error.to_string().contains("scv status"), "{error}");
}
