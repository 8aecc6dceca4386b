//! Makes connections: TCP, the proxy in between, TLS on top.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{Method, Uri};
use http_body_util::Empty;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use crate::error::HttpError;
use crate::limits;
use crate::link::{Io, Link};
use crate::origin::Origin;
use crate::route::{Route, Routes};
use crate::stream::Stream;
use crate::tls::LazyTls;

/// What the pool asks for a new connection.
#[derive(Clone)]
pub(crate) struct Connector {
    routes: Arc<Routes>,
    tcp: HttpConnector,
    tls: LazyTls,
}

impl Connector {
    pub(crate) fn new(routes: Arc<Routes>, tls: LazyTls) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(limits::tcp_connect()));
        Self { routes, tcp, tls }
    }

    /// A connection for requests.
    async fn connect(mut self, target: Uri) -> Result<Link, HttpError> {
        let origin = Origin::of(&target)?;
        match self.routes.route(&target, &origin) {
            Route::Forward(proxy) => Ok(Link::new(self.dial_proxy(&proxy).await?, true)),
            route => Ok(Link::new(self.reach(&target, &origin, route).await?, false)),
        }
    }

    /// A connection for bytes: a proxy that only forwards requests is no way for them.
    pub(crate) async fn dial(mut self, origin: &Origin) -> Result<Stream, HttpError> {
        let target: Uri = origin.to_string().parse().map_err(|_| HttpError::InvalidUrl)?;
        let route = match self.routes.route(&target, origin) {
            Route::Forward(proxy) => Route::Tunnel(proxy),
            route => route,
        };
        Ok(Stream::new(self.reach(&target, origin, route).await?))
    }

    async fn reach(
        &mut self,
        target: &Uri,
        origin: &Origin,
        route: Route,
    ) -> Result<Box<dyn Io>, HttpError> {
        let io = match route {
            Route::Direct => self.dial_tcp(target.clone()).await?,
            Route::Forward(proxy) | Route::Tunnel(proxy) => {
                tunnel(self.dial_proxy(&proxy).await?, &proxy, origin).await?
            }
        };
        match origin.is_https() {
            true => self.tls.wrap(io, origin.host()).await,
            false => Ok(io),
        }
    }

    async fn dial_tcp(&mut self, target: Uri) -> Result<Box<dyn Io>, HttpError> {
        let stream = self.tcp.call(target).await.map_err(|_| HttpError::Connect)?;
        Ok(Box::new(stream.into_inner()))
    }

    async fn dial_proxy(&mut self, proxy: &Intercept) -> Result<Box<dyn Io>, HttpError> {
        let origin = Origin::of(proxy.uri()).map_err(|_| HttpError::InvalidProxy)?;
        let io = self.dial_tcp(proxy.uri().clone()).await?;
        match origin.is_https() {
            true => self.tls.wrap(io, origin.host()).await,
            false => Ok(io),
        }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Link>;
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, HttpError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connecting = self.clone().connect(target);
        Box::pin(async { Ok(TokioIo::new(connecting.await?)) })
    }
}

/// Asks the proxy for a way to the target. hyper-util has a tunnel of its own, which does not
/// tell the status of a refusal (0.1.21, 2026-11).
async fn tunnel(
    io: Box<dyn Io>,
    proxy: &Intercept,
    origin: &Origin,
) -> Result<Box<dyn Io>, HttpError> {
    let authority = origin.authority();
    let mut request = http::Request::builder()
        .method(Method::CONNECT)
        .uri(&authority)
        .header(HOST, &authority)
        .body(Empty::<Bytes>::new())
        .map_err(|_| HttpError::InvalidUrl)?;
    if let Some(auth) = proxy.basic_auth() {
        request.headers_mut().insert(PROXY_AUTHORIZATION, auth.clone());
    }
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(limits::RESPONSE_HEAD_BYTES)
        .max_headers(limits::RESPONSE_HEADER_COUNT)
        .handshake(TokioIo::new(io))
        .await
        .map_err(|_| HttpError::Connect)?;
    // Ends by itself: with the upgrade, or when `sender` is dropped.
    tokio::spawn(connection.with_upgrades());
    let response = sender.send_request(request).await.map_err(|_| HttpError::Connect)?;
    if !response.status().is_success() {
        return Err(HttpError::Proxy { status: response.status().as_u16() });
    }
    let upgraded = hyper::upgrade::on(response).await.map_err(|_| HttpError::Connect)?;
    Ok(Box::new(TokioIo::new(upgraded)))
}
