//! What comes back: a whole response, or one whose body is read piece by piece.

use std::fmt;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use crate::error::HttpError;

/// A whole response. A status outside 2xx is a response, too.
#[derive(Clone)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, within the limit of the call.
    pub body: Bytes,
}

impl Response {
    /// True for 200 to 299.
    pub fn is_success(&self) -> bool {
        is_success(self.status)
    }

    /// A header as text; none when it is absent or not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        text_of(&self.headers, name)
    }
}

/// Status and size: headers and body may hold secrets.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A response whose body is still on its way. Dropping it closes the connection, unless the body
/// was read to its end.
pub struct ResponseStream {
    head: http::response::Parts,
    body: Incoming,
}

impl ResponseStream {
    pub(crate) fn new(response: http::Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.head.status.as_u16()
    }

    /// True for 200 to 299.
    pub fn is_success(&self) -> bool {
        is_success(self.status())
    }

    /// A header as text; none when it is absent or not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        text_of(&self.head.headers, name)
    }

    /// The next piece of the body, as the network cut it; none at its proper end. Safe to cancel.
    /// The caller bounds how long it waits and how much it reads.
    ///
    /// # Errors
    /// [`HttpError::Body`] when the body ends early or breaks.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        while let Some(frame) = self.body.frame().await {
            // The other kind of frame are trailers, which nothing here needs.
            if let Ok(data) = frame.map_err(|_| HttpError::Body)?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Reads the rest of the body.
    ///
    /// # Errors
    /// [`HttpError::TooLarge`] as soon as the body (or its announced length) passes the limit,
    /// [`HttpError::Body`] when it breaks.
    pub async fn collect(mut self, max_body_bytes: usize) -> Result<Response, HttpError> {
        let too_large = HttpError::TooLarge { limit_bytes: max_body_bytes };
        if self.body.size_hint().lower() > max_body_bytes as u64 {
            return Err(too_large);
        }
        let mut body = BytesMut::new();
        while let Some(piece) = self.chunk().await? {
            if piece.len() > max_body_bytes - body.len() {
                return Err(too_large);
            }
            body.extend_from_slice(&piece);
        }
        Ok(Response { status: self.status(), headers: self.head.headers, body: body.freeze() })
    }
}

/// Status and announced size.
impl fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseStream")
            .field("status", &self.status())
            .field("content_length", &self.head.headers.get(CONTENT_LENGTH))
            .finish_non_exhaustive()
    }
}

const fn is_success(status: u16) -> bool {
    matches!(status, 200..=299)
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
