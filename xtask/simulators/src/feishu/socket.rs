//! One websocket: frames in, frames out, until one side ends it.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc::Receiver;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role};

use super::state::{Out, State};
use crate::watched::Watched;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Serves an admitted connection to its end.
pub(super) async fn converse(
    shared: Arc<Watched<State>>,
    upgraded: Upgraded,
    connection: usize,
    mut out: Receiver<Out>,
) {
    let mut socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
    loop {
        let goes_on = tokio::select! {
            // In the order of what happened: an answer may be followed by a cut.
            biased;
            next = out.recv() => match next {
                Some(next) => say(&mut socket, next).await,
                None => false,
            },
            message = socket.next() => match message {
                Some(Ok(message)) => hear(&shared, &mut socket, connection, message).await,
                Some(Err(_)) | None => false,
            },
        };
        if !goes_on {
            break;
        }
    }
    shared.change(|state| state.closed(connection));
}

/// False when the conversation is over.
async fn say(socket: &mut Socket, out: Out) -> bool {
    match out {
        Out::Binary(bytes) => socket.send(Message::binary(bytes)).await.is_ok(),
        Out::Text(text) => socket.send(Message::text(text)).await.is_ok(),
        Out::Close(code) => {
            let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
            let _ = socket.send(Message::Close(Some(frame))).await;
            // The client's own close frame ends it; a client that never answers does, too, by
            // closing the connection.
            true
        }
        Out::Cut => false,
    }
}

async fn hear(
    shared: &Watched<State>,
    socket: &mut Socket,
    connection: usize,
    message: Message,
) -> bool {
    match message {
        Message::Binary(bytes) => match shared.change(|state| state.receive(connection, &bytes)) {
            Some(answer) => socket.send(Message::binary(answer)).await.is_ok(),
            None => true,
        },
        Message::Text(_) => {
            shared.change(|state| state.violation("the client sent a text message"));
            true
        }
        Message::Close(_) => false,
        Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => true,
    }
}
