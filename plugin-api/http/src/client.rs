//! The client: one exchange with its deadlines, over a pool of connections.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{PROXY_AUTHORIZATION, USER_AGENT};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, timeout_at};

use crate::config::HttpConfig;
use crate::connect::Connector;
use crate::error::{HttpError, Phase};
use crate::failure::{self, Failure};
use crate::limits;
use crate::link::LinkState;
use crate::origin::Origin;
use crate::request::Request;
use crate::response::{Response, ResponseStream};
use crate::route::{Route, Routes};
use crate::stream::Stream;
use crate::tls::LazyTls;

/// Limits of a whole exchange.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// Until the connection stands: names, TCP, proxy, TLS.
    pub connect: Duration,
    /// Until the last byte of the body, the connection included.
    pub total: Duration,
    /// The body.
    pub max_body_bytes: usize,
}

/// Limits of the beginning of a streamed exchange.
#[derive(Debug, Clone, Copy)]
pub struct StreamLimits {
    /// Until the connection stands: names, TCP, proxy, TLS.
    pub connect: Duration,
    /// Until the head of the response is there, counted from the call, the connection included.
    pub headers: Duration,
}

/// A bounded HTTP/1.1 client. Cheap to make and to clone; clones share their connections.
/// Redirects are answers like any other, and loopback is never reached through a proxy.
#[derive(Clone)]
pub struct HttpClient {
    inner: Arc<Inner>,
}

struct Inner {
    routes: Arc<Routes>,
    connector: Connector,
    user_agent: Option<HeaderValue>,
    /// The usual way: connections are kept for a moment.
    pooled: Client<Connector, Full<Bytes>>,
    /// For the one repetition after a kept connection turned out to be dead.
    fresh: Client<Connector, Full<Bytes>>,
}

#[derive(Clone, Copy)]
struct Deadlines {
    connect: Instant,
    headers: Instant,
}

impl HttpClient {
    /// Makes a client. Certificates are read when the first `https` connection is made.
    ///
    /// # Errors
    /// [`HttpError::InvalidProxy`] for a proxy that is not `http` or `https`,
    /// [`HttpError::InvalidRequest`] for a user agent that is no header value.
    pub fn new(config: HttpConfig) -> Result<Self, HttpError> {
        let routes = Arc::new(Routes::new(&config)?);
        let user_agent = match config.user_agent.as_str() {
            "" => None,
            text => Some(HeaderValue::from_str(text).map_err(|_| HttpError::InvalidRequest)?),
        };
        let tls = LazyTls::new(config.extra_ca_pem);
        let connector = Connector::new(routes.clone(), tls);
        let pooled = pool(connector.clone(), limits::POOL_IDLE_PER_HOST_COUNT);
        let fresh = pool(connector.clone(), 0);
        Ok(Self { inner: Arc::new(Inner { routes, connector, user_agent, pooled, fresh }) })
    }

    /// Sends a request and reads the whole response. Dropping the future closes the connection.
    ///
    /// # Errors
    /// Any [`HttpError`]; a status outside 2xx is none.
    pub async fn fetch(
        &self,
        request: Request,
        limits: FetchLimits,
    ) -> Result<Response, HttpError> {
        let start = Instant::now();
        let end = start + limits.total;
        let deadlines = Deadlines { connect: end.min(start + limits.connect), headers: end };
        let response = ResponseStream::new(self.open(request, deadlines).await?);
        match timeout_at(end, response.collect(limits.max_body_bytes)).await {
            Ok(result) => result,
            Err(_) => Err(HttpError::Timeout { phase: Phase::Body }),
        }
    }

    /// Sends a request and returns with the head of the response.
    ///
    /// # Errors
    /// Any [`HttpError`]; a status outside 2xx is none.
    pub async fn stream(
        &self,
        request: Request,
        limits: StreamLimits,
    ) -> Result<ResponseStream, HttpError> {
        let start = Instant::now();
        let headers = start + limits.headers;
        let deadlines = Deadlines { connect: headers.min(start + limits.connect), headers };
        Ok(ResponseStream::new(self.open(request, deadlines).await?))
    }

    /// Opens a connection of its own to an origin, the way a request would go (proxy, TLS), for
    /// a protocol that goes on where HTTP ends, such as a websocket. It is never pooled.
    ///
    /// # Errors
    /// As for a request whose connection cannot be made; [`HttpError::Timeout`] after `limit`.
    pub async fn dial(&self, origin: &Origin, limit: Duration) -> Result<Stream, HttpError> {
        let connecting = self.inner.connector.clone().dial(origin);
        match tokio::time::timeout(limit, connecting).await {
            Ok(result) => result,
            Err(_) => Err(HttpError::Timeout { phase: Phase::Connect }),
        }
    }

    async fn open(
        &self,
        request: Request,
        deadlines: Deadlines,
    ) -> Result<http::Response<Incoming>, HttpError> {
        let request = self.prepare(request)?;
        match send(&self.inner.pooled, request.clone(), deadlines).await {
            // Nothing of this request was answered; whether it may run twice is the caller's.
            Err(Failure::StaleLink) => send(&self.inner.fresh, request, deadlines).await,
            other => other,
        }
        .map_err(HttpError::from)
    }

    fn prepare(&self, request: Request) -> Result<http::Request<Full<Bytes>>, HttpError> {
        let (mut request, origin) = request.build()?;
        let inner = &*self.inner;
        if let Some(user_agent) = &inner.user_agent {
            request.headers_mut().entry(USER_AGENT).or_insert_with(|| user_agent.clone());
        }
        // A tunnel is authorised by its CONNECT; a forwarded request by its own header.
        if let Route::Forward(proxy) = inner.routes.route(request.uri(), &origin) {
            if let Some(auth) = proxy.basic_auth() {
                request.headers_mut().insert(PROXY_AUTHORIZATION, auth.clone());
            }
        }
        Ok(request)
    }
}

/// Nothing of the configuration: it may hold a proxy's password.
impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

fn pool(connector: Connector, idle_per_host: usize) -> Client<Connector, Full<Bytes>> {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(limits::pool_idle())
        .pool_max_idle_per_host(idle_per_host)
        .http1_max_buf_size(limits::RESPONSE_HEAD_BYTES)
        .http1_max_headers(limits::RESPONSE_HEADER_COUNT)
        .build(connector)
}

async fn send(
    client: &Client<Connector, Full<Bytes>>,
    mut request: http::Request<Full<Bytes>>,
    deadlines: Deadlines,
) -> Result<http::Response<Incoming>, Failure> {
    let mut connection = capture_connection(&mut request);
    let exchange = client.request(request);
    tokio::pin!(exchange);
    let connected = tokio::select! {
        biased;
        result = &mut exchange => return settle(result),
        _ = connection.wait_for_connection_metadata() => true,
        () = tokio::time::sleep_until(deadlines.connect) => false,
    };
    if !connected {
        return Err(HttpError::Timeout { phase: Phase::Connect }.into());
    }
    match timeout_at(deadlines.headers, exchange).await {
        Ok(result) => settle(result),
        Err(_) => Err(HttpError::Timeout { phase: Phase::Headers }.into()),
    }
}

fn settle(
    result: Result<http::Response<Incoming>, legacy::Error>,
) -> Result<http::Response<Incoming>, Failure> {
    let response = result.map_err(|error| failure::classify(&error))?;
    if let Some(link) = response.extensions().get::<LinkState>() {
        link.mark_served();
    }
    Ok(response)
}
