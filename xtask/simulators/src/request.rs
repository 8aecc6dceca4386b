//! A request as a simulator saw it.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::request::Parts;
use serde_json::Value;

/// One recorded request.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query as sent, without the question mark; empty when there is none.
    pub query: String,
    /// All headers.
    pub headers: http::HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Request {
    pub(crate) fn new(head: Parts, body: Bytes) -> Self {
        Self {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            body,
        }
    }

    /// A header as text; its name is compared without regard to case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A value of the query, as sent (simulators hand out nothing that needs decoding).
    pub fn query_value(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// All values of the query, decoded.
    pub fn query_pairs(&self) -> BTreeMap<String, String> {
        form_urlencoded::parse(self.query.as_bytes()).into_owned().collect()
    }

    /// The fields of a form, decoded.
    pub fn form(&self) -> Vec<(String, String)> {
        form_urlencoded::parse(&self.body).into_owned().collect()
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}
