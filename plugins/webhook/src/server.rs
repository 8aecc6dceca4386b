//! The listener of one session, and its connections.

use std::{convert::Infallible, sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use scv_plugin_api::limits::CLOSE_READ_MS;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    limits::{HEAD_MS, MAX_CONNECTIONS_COUNT, RETRY_AFTER_MS},
    routes::{Door, answer},
};

/// Serves until the session is closed; answers that have begun may finish for a moment.
pub(crate) async fn serve(listener: TcpListener, door: Arc<Door>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = door.stop.fired() => break,
            Some(_) = open.join_next() => {}
            accepted = listener.accept(), if open.len() < MAX_CONNECTIONS_COUNT => match accepted {
                Ok((stream, _)) => {
                    open.spawn(connection(stream, door.clone()));
                }
                Err(error) => {
                    // No descriptors, most likely: they come back.
                    tracing::warn!(kind = %error.kind(), "a connection was not accepted");
                    sleep(Duration::from_millis(RETRY_AFTER_MS)).await;
                }
            },
        }
    }
    drop(listener);
    door.inbox.end();
    let ending = async { while open.join_next().await.is_some() {} };
    let _ = timeout(Duration::from_millis(CLOSE_READ_MS), ending).await;
}

async fn connection(stream: TcpStream, door: Arc<Door>) {
    let service = service_fn(|request| {
        let door = door.clone();
        async move { Ok::<_, Infallible>(answer(&door, request).await) }
    });
    let mut serving = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(HEAD_MS))
            .serve_connection(TokioIo::new(stream), service)
    );
    let stopped = async {
        tokio::select! {
            biased;
            () = door.stop.fired() => true,
            // A client that hangs up is no event.
            _ = serving.as_mut() => false,
        }
    };
    if stopped.await {
        serving.as_mut().graceful_shutdown();
        let _ = serving.await;
    }
}
