//! A loopback HTTP server on a thread of its own, which ends when its handle is dropped.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use anyhow::Context as _;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
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
    Whole { status: u16, content_type: &'static str, headers: Vec<(String, String)>, body: Bytes },
    /// A body that comes piece by piece; an error in between cuts the connection.
    Stream { content_type: &'static str, pieces: mpsc::Receiver<Result<Bytes, Cut>> },
    /// The connection is closed without an answer.
    Hangup,
}

impl Reply {
    pub(crate) fn json(status: u16, body: impl Into<Bytes>) -> Self {
        let content_type = "application/json";
        Self::Whole { status, content_type, headers: Vec::new(), body: body.into() }
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
        Self::listen(move |stream| converse(stream, handle.clone()))
    }

    /// The same, one step lower: `converse` is called for each connection.
    pub(crate) fn listen<C, F>(converse: C) -> anyhow::Result<Self>
    where
        C: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").context("no loopback port")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("simulator".to_owned()).spawn(move || {
            let serving = async { accept(TcpListener::from_std(listener)?, converse).await };
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

async fn accept<C, F>(listener: TcpListener, converse: C) -> std::io::Result<()>
where
    C: Fn(TcpStream) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(converse(stream));
    }
}

async fn converse<H, F>(stream: TcpStream, handle: H)
where
    H: Fn(Request) -> F + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let service = service_fn(|request: http::Request<Incoming>| {
        let handle = &handle;
        async move {
            match whole(request).await {
                Ok(request) => answer(handle(request).await),
                Err(refusal) => answer(refusal),
            }
        }
    });
    // An error here is a connection that ended: the client's business, or a wanted hang-up.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// A request with its body, or what to answer when there is too much of it.
pub(crate) async fn whole(request: http::Request<Incoming>) -> Result<Request, Reply> {
    let (head, body) = request.into_parts();
    match Limited::new(body, limits::REQUEST_BODY_BYTES).collect().await {
        Ok(body) => Ok(Request::new(head, body.to_bytes())),
        Err(_) => Err(Reply::json(413, "{}")),
    }
}

/// A response of any simulator.
pub(crate) type Answer = http::Response<Either<Full<Bytes>, Pieces>>;

/// What goes on the wire for a reply; an error closes the connection.
pub(crate) fn answer(reply: Reply) -> Result<Answer, Cut> {
    let (status, content_type, headers, body) = match reply {
        Reply::Hangup => return Err(Cut),
        Reply::Whole { status, content_type, headers, body } => {
            (status, content_type, headers, Either::Left(Full::new(body)))
        }
        Reply::Stream { content_type, pieces } => {
            (200, content_type, Vec::new(), Either::Right(Pieces(pieces)))
        }
    };
    let mut builder = http::Response::builder().status(status).header(CONTENT_TYPE, content_type);
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    builder.body(body).map_err(|_| Cut)
}

/// A body out of a channel.
pub(crate) struct Pieces(mpsc::Receiver<Result<Bytes, Cut>>);

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
