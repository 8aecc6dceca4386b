//! The task of one conversation's session: from its first turn to half an hour after its last.

use std::{sync::Arc, time::Duration};

use scv_protocol::ServerEvent;
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{Settings, connection::Connection};
use crate::{
    limits::{CANCEL_MS, SESSION_IDLE_SECONDS},
    machine::{Failure, Turn, TurnEnd},
};

/// A turn, and where its end goes.
pub(super) struct Request {
    pub(super) turn: Turn,
    /// The sender wants it to end.
    pub(super) cancel: CancellationToken,
    pub(super) answer: oneshot::Sender<TurnEnd>,
}

enum Event {
    Request(Option<Request>),
    Server(Option<ServerEvent>),
    Idle,
}

pub(super) async fn serve(
    settings: Arc<Settings>,
    first: Request,
    mut requests: mpsc::Receiver<Request>,
) {
    let mut request = first;
    let mut connection = None;
    loop {
        let limit = settings.turn_limit(request.turn.tools);
        let end = timeout(limit, run(&settings, &mut connection, &request)).await;
        // A turn that is out of time ends with its connection.
        let end = end.unwrap_or_else(|_| {
            connection = None;
            TurnEnd::Failed(Failure::TimedOut)
        });
        // Nobody waits for it only when the account is stopping.
        let _ = request.answer.send(end);
        let Some(next) = next_request(&mut connection, &mut requests).await else {
            return;
        };
        request = next;
    }
}

async fn run(settings: &Settings, slot: &mut Option<Connection>, request: &Request) -> TurnEnd {
    let Request { turn, cancel, .. } = request;
    let work = async {
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => Connection::open(settings, turn.tools).await?,
        };
        let end = connection.turn(&turn.prompt, cancel).await?;
        Ok::<_, scv_protocol::client::ClientError>((end, connection))
    };
    let ended = tokio::select! {
        ended = work => ended,
        () = too_late(cancel) => return TurnEnd::Failed(Failure::Cancelled),
    };
    match ended {
        Ok((end, connection)) => {
            *slot = Some(connection);
            end
        }
        Err(error) => {
            tracing::warn!(%error, "a conversation's session broke");
            TurnEnd::Failed(Failure::Unavailable)
        }
    }
}

/// A turn that was cancelled and does not end is given up with its connection.
async fn too_late(cancel: &CancellationToken) {
    cancel.cancelled().await;
    sleep(Duration::from_millis(CANCEL_MS)).await;
}

/// Waits for the next turn. `None` when the session is over: idle for too long, broken, or
/// closed from outside. A turn that was already on its way is still taken.
async fn next_request(
    connection: &mut Option<Connection>,
    requests: &mut mpsc::Receiver<Request>,
) -> Option<Request> {
    let idle = sleep(Duration::from_secs(SESSION_IDLE_SECONDS));
    tokio::pin!(idle);
    while let Some(open) = connection {
        let event = tokio::select! {
            request = requests.recv() => Event::Request(request),
            event = open.next() => Event::Server(event.ok()),
            () = &mut idle => Event::Idle,
        };
        match event {
            Event::Request(request) => return request,
            Event::Server(Some(_)) => {}
            Event::Server(None) | Event::Idle => *connection = None,
        }
    }
    requests.close();
    requests.recv().await
}
