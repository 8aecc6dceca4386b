//! Every limit of the client that a caller does not choose.

use std::time::Duration;

/// An idle connection is given up after this time; uvicorn closes its end after five seconds.
pub(crate) const POOL_IDLE_MS: u64 = 4_000;
/// How long a server may keep connections idle at most, as we know it (uvicorn, 2026-11).
const SERVER_KEEP_ALIVE_MS: u64 = 5_000;
/// Idle connections kept for one origin.
pub(crate) const POOL_IDLE_PER_HOST_COUNT: usize = 4;
/// TCP to all addresses of a name together; a caller's own limit may be shorter.
pub(crate) const TCP_CONNECT_MS: u64 = 20_000;
/// The head of a response, all header lines together; also how far a connection reads ahead of who
/// takes its body.
pub(crate) const RESPONSE_HEAD_BYTES: usize = 32 * 1024;
/// Header lines of a response.
pub(crate) const RESPONSE_HEADER_COUNT: usize = 100;
/// A URL of a request.
pub(crate) const URL_BYTES: usize = 16 * 1024;

const _: () = assert!(POOL_IDLE_MS < SERVER_KEEP_ALIVE_MS);
// hyper refuses a smaller read buffer.
const _: () = assert!(RESPONSE_HEAD_BYTES >= 8 * 1024);

/// [`POOL_IDLE_MS`] as the pool takes it.
pub(crate) const fn pool_idle() -> Duration {
    Duration::from_millis(POOL_IDLE_MS)
}

/// [`TCP_CONNECT_MS`] as the connector takes it.
pub(crate) const fn tcp_connect() -> Duration {
    Duration::from_millis(TCP_CONNECT_MS)
}
