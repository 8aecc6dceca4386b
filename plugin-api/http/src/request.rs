//! A request, put together without errors: what is wrong with it comes out when it is sent.

use std::fmt;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::Full;
use serde::Serialize;

use crate::error::HttpError;
use crate::origin::{Origin, parse_uri};

/// One request. The first wrong part decides the error of [`HttpClient::fetch`] and
/// [`HttpClient::stream`].
///
/// [`HttpClient::fetch`]: crate::HttpClient::fetch
/// [`HttpClient::stream`]: crate::HttpClient::stream
#[derive(Clone)]
pub struct Request {
    method: Method,
    url: String,
    headers: HeaderMap,
    body: Bytes,
    error: Option<HttpError>,
}

impl Request {
    /// A GET of an absolute URL, percent-encoded where it must be.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::GET, url.into())
    }

    /// A POST to an absolute URL, percent-encoded where it must be.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new(Method::POST, url.into())
    }

    fn new(method: Method, url: String) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Bytes::new(), error: None }
    }

    /// Appends pairs to the query, percent-encoded.
    #[must_use]
    pub fn query(mut self, pairs: &[(&str, &str)]) -> Self {
        if pairs.is_empty() {
            return self;
        }
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        self.url.push_str(&encode(pairs));
        self
    }

    /// Sets a header; a second value for the same name replaces the first.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => {
                self.headers.insert(name, value);
                self
            }
            _ => self.wrong(),
        }
    }

    /// Sets `Authorization: Bearer TOKEN`.
    #[must_use]
    pub fn bearer(mut self, token: &str) -> Self {
        let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {token}")) else {
            return self.wrong();
        };
        value.set_sensitive(true);
        self.headers.insert(AUTHORIZATION, value);
        self
    }

    /// A JSON body with its content type.
    #[must_use]
    pub fn json(self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.typed("application/json", body.into()),
            Err(_) => self.wrong(),
        }
    }

    /// A form body with its content type.
    #[must_use]
    pub fn form(self, pairs: &[(&str, &str)]) -> Self {
        self.typed("application/x-www-form-urlencoded", encode(pairs).into())
    }

    /// The body as it is; the content type is the caller's.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    fn typed(mut self, content_type: &'static str, body: Bytes) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.body = body;
        self
    }

    fn wrong(mut self) -> Self {
        self.error.get_or_insert(HttpError::InvalidRequest);
        self
    }

    /// The request as hyper sends it, and where it goes.
    pub(crate) fn build(self) -> Result<(http::Request<Full<Bytes>>, Origin), HttpError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let uri = parse_uri(&self.url)?;
        let origin = Origin::of(&uri)?;
        let mut request = http::Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers;
        Ok((request, origin))
    }
}

/// The method alone: URL, headers and body may hold secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

fn encode(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_parts_come_out_at_the_end() {
        let error = |request: Request| request.build().expect_err("wrong");
        assert_eq!(error(Request::get("not a url")), HttpError::InvalidUrl);
        assert_eq!(error(Request::get("http://u:p@h/")), HttpError::InvalidUrl);
        let fine = || Request::get("http://h/");
        assert_eq!(error(fine().bearer("a\r\nX: y")), HttpError::InvalidRequest);
        assert_eq!(error(fine().header("na me", "v")), HttpError::InvalidRequest);
    }

    #[test]
    fn queries_are_encoded() {
        let request = Request::get("http://h/p?a=1").query(&[("b", "x&y=ü"), ("c", "")]);
        let (request, _) = request.build().expect("fine");
        assert_eq!(request.uri().query(), Some("a=1&b=x%26y%3D%C3%BC&c="));
    }

    #[test]
    fn debug_says_the_method_only() {
        let request = Request::post("http://h/?key=hunter22").bearer("hunter22").body("hunter22");
        assert!(!format!("{request:?}").contains("hunter22"));
    }
}
