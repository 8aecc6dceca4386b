//! A loopback HTTP server on a thread of its own, which ends when its handle is dropped.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use anyhow::Context as _;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::request::Request;

/// What a handler does with a request.
pub(crate) enum Reply {
    /// A whole answer.
    Whole { status: u16, content_type: &'static str, retry_after: Option<String>, body: Bytes },
    /// A body that comes piece by piece; an error in between cuts the connection.
    Stream { content_type: &'static str, pieces: mpsc::Receiver<Result<Bytes, Cut>> },
    /// The connection is closed without an answer.
    Hangup,
}

impl Reply {
    pub(crate) fn json(status: u16, body: impl Into<Bytes>) -> Self {
        let content_type = "application/json";
        Self::Whole { status, content_type, retry_after: None, body: body.into() }
    }
}

/// Ends a connection in the middle.
#[derive(Debug)]
pub(crate) struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the simulator cuts the connection")
    }
}

impl std::error::Error for Cut {}

/// A running server.
pub(crate) struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on a free port of 127.0.0.1. `handle` is called for each request; its future is
    /// dropped when the client closes the connection.
    pub(crate) fn start<H, F>(handle: H) -> anyhow::Result<Self>
    where
        H: Fn(Request) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Reply> + Send + 'static,
    {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").context("no loopback port")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("simulator".to_owned()).spawn(move || {
            let serving = async { accept(TcpListener::from_std(listener)?, handle).await };
            // The runtime ends with this block, and with it every connection.
            runtime.block_on(stopped.run_until_cancelled(serving));
        })?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A panicked simulator has said so on stderr already.
            let _ = thread.join();
        }
    }
}

async fn accept<H, F>(listener: TcpListener, handle: H) -> std::io::Result<()>
where
    H: Fn(Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(converse(stream, handle.clone()));
    }
}

async fn converse<H, F>(stream: TcpStream, handle: H)
where
    H: Fn(Request) -> F + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let service = service_fn(|request: http::Request<Incoming>| {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, limits::REQUEST_BODY_BYTES).collect();
        let handle = &handle;
        async move {
            match body.await {
                Ok(body) => answer(handle(Request::new(head, body.to_bytes())).await),
                Err(_) => answer(Reply::json(413, "{}")),
            }
        }
    });
    // An error here is a connection that ended: the client's business, or a wanted hang-up.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

type Answer = http::Response<Either<Full<Bytes>, Pieces>>;

fn answer(reply: Reply) -> Result<Answer, Cut> {
    let (status, content_type, retry_after, body) = match reply {
        Reply::Hangup => return Err(Cut),
        Reply::Whole { status, content_type, retry_after, body } => {
            (status, content_type, retry_after, Either::Left(Full::new(body)))
        }
        Reply::Stream { content_type, pieces } => {
            (200, content_type, None, Either::Right(Pieces(pieces)))
        }
    };
    let mut builder = http::Response::builder().status(status).header(CONTENT_TYPE, content_type);
    if let Some(seconds) = retry_after {
        builder = builder.header(RETRY_AFTER, seconds);
    }
    builder.body(body).map_err(|_| Cut)
}

/// A body out of a channel.
struct Pieces(mpsc::Receiver<Result<Bytes, Cut>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
