//! What can go wrong with a request, in words that carry nothing of the request.

/// The part of an exchange whose time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Name resolution, TCP, proxy and TLS.
    Connect,
    /// Sending the request and waiting for the head of the response.
    Headers,
    /// Reading the body of the response.
    Body,
}

/// Why there is no response. No text of it names a URL, a header or a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The URL is not an absolute `http` or `https` URL, or carries a user name.
    #[error("the address is not a usable http or https URL; correct the configured address")]
    InvalidUrl,
    /// A header or the body cannot be put on the wire.
    #[error(
        "the request holds a value that HTTP cannot carry; check tokens and headers for line breaks"
    )]
    InvalidRequest,
    /// A proxy variable names no usable proxy.
    #[error(
        "a proxy setting is not usable; set HTTPS_PROXY and HTTP_PROXY to an http:// or https:// address"
    )]
    InvalidProxy,
    /// The certificates do not load, or the server's certificate is not accepted.
    #[error(
        "no trusted TLS connection could be made; check the clock and the trusted certificates of this machine"
    )]
    Tls,
    /// Name resolution or TCP failed.
    #[error("the server could not be reached; check the network and the address")]
    Connect,
    /// The proxy answered the request for a tunnel with this status.
    #[error("the proxy refused the connection with status {status}; check the proxy settings")]
    Proxy {
        /// The HTTP status that the proxy answered.
        status: u16,
    },
    /// A time limit was reached.
    #[error("{}", timeout_text(*phase))]
    Timeout {
        /// Where the time ran out.
        phase: Phase,
    },
    /// The body of the response is larger than allowed.
    #[error("the response is larger than {limit_bytes} bytes; it was not read to its end")]
    TooLarge {
        /// The limit that was passed.
        limit_bytes: usize,
    },
    /// The server closed the connection before the head of a response was complete.
    #[error("the server closed the connection without an answer; try again")]
    Reset,
    /// The body ended early or broke.
    #[error("the response broke off before its end; try again")]
    Body,
    /// What came back is not HTTP/1.1, or its head is above 64 KiB or 100 lines.
    #[error("the server did not answer in proper HTTP; check the address and its port")]
    Protocol,
}

impl HttpError {
    /// True when no response began: the connection was not made, or it closed before the head.
    pub fn is_connection_failure(&self) -> bool {
        matches!(
            self,
            Self::Tls
                | Self::Connect
                | Self::Proxy { .. }
                | Self::Reset
                | Self::Timeout { phase: Phase::Connect }
        )
    }
}

const fn timeout_text(phase: Phase) -> &'static str {
    match phase {
        Phase::Connect => {
            "no connection was made in time; check the network and the proxy settings"
        }
        Phase::Headers => "the server did not answer in time; try again later",
        Phase::Body => "the response did not arrive in time; try again later",
    }
}
