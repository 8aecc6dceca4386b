//! The origin of a URL: what a credential belongs to, and where plain `http` is acceptable.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use http::Uri;

use crate::error::HttpError;
use crate::limits;

/// Scheme, host and port of a URL, normalised: lower case, ASCII, no default port, no slash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    https: bool,
    /// Without the brackets of an IPv6 address.
    host: String,
    port: Option<u16>,
}

impl Origin {
    /// Reads the origin of an absolute URL; path and query are left out.
    ///
    /// # Errors
    /// [`HttpError::InvalidUrl`] for another scheme, a user name, a host that is no plain ASCII
    /// name or address, or more than 16 KiB.
    pub fn parse(url: &str) -> Result<Self, HttpError> {
        Self::of(&parse_uri(url)?)
    }

    pub(crate) fn of(uri: &Uri) -> Result<Self, HttpError> {
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(HttpError::InvalidUrl),
        };
        let authority = uri.authority().ok_or(HttpError::InvalidUrl)?;
        if authority.as_str().contains('@') {
            return Err(HttpError::InvalidUrl);
        }
        let host = plain_host(authority.host()).ok_or(HttpError::InvalidUrl)?;
        let port = explicit_port(authority)?.filter(|port| *port != default_port(https));
        Ok(Self { https, host, port })
    }

    /// True for `https`.
    pub fn is_https(&self) -> bool {
        self.https
    }

    /// The host, lower case, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, the scheme's default included.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(default_port(self.https))
    }

    /// `host:port`, as a `CONNECT` names it.
    pub(crate) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port()),
            false => format!("{}:{}", self.host, self.port()),
        }
    }

    /// True for `localhost`, 127.0.0.0/8 and ::1; no name is looked up.
    pub fn is_loopback(&self) -> bool {
        if let Ok(address) = self.host.parse::<Ipv4Addr>() {
            return address.is_loopback();
        }
        if let Ok(address) = self.host.parse::<Ipv6Addr>() {
            return address.is_loopback();
        }
        self.host == "localhost"
    }

    /// True when the host is `domain` or a name below it. `domain` is lower case without dots at
    /// its ends.
    pub fn host_is_under(&self, domain: &str) -> bool {
        match self.host.strip_suffix(domain) {
            Some(rest) => rest.is_empty() || rest.ends_with('.'),
            None => false,
        }
    }

    /// The URL of a path (and query) on this origin; `path` begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{self}{path}")
    }
}

/// `scheme://host[:port]`, as it stands in fingerprints and files.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.https { "https://" } else { "http://" })?;
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

pub(crate) fn parse_uri(url: &str) -> Result<Uri, HttpError> {
    if url.len() > limits::URL_BYTES {
        return Err(HttpError::InvalidUrl);
    }
    url.parse().map_err(|_| HttpError::InvalidUrl)
}

const fn default_port(https: bool) -> u16 {
    if https { 443 } else { 80 }
}

/// `Authority::port` reads an empty or overlong port as none; that would connect elsewhere.
fn explicit_port(authority: &http::uri::Authority) -> Result<Option<u16>, HttpError> {
    let after_host = &authority.as_str()[authority.host().len()..];
    match after_host.strip_prefix(':') {
        None => Ok(None),
        Some(port) => match port.parse() {
            Ok(0) | Err(_) => Err(HttpError::InvalidUrl),
            Ok(port) => Ok(Some(port)),
        },
    }
}

fn plain_host(host: &str) -> Option<String> {
    if let Some(inner) = host.strip_prefix('[') {
        let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(address.to_string());
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let dots_at_ends = host.starts_with('.') || host.ends_with('.');
    (!host.is_empty() && !dots_at_ends && host.bytes().all(plain))
        .then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(url: &str) -> Origin {
        Origin::parse(url).expect(url)
    }

    #[test]
    fn is_normalised() {
        for (url, want) in [
            ("https://API.Example.com:443/v1?x=1", "https://api.example.com"),
            ("http://example.com:80/", "http://example.com"),
            ("https://example.com:8443", "https://example.com:8443"),
            ("http://[::1]:9000/x", "http://[::1]:9000"),
            ("http://[0:0:0:0:0:0:0:1]", "http://[::1]"),
        ] {
            assert_eq!(origin(url).to_string(), want);
            assert_eq!(origin(want).to_string(), want, "stable");
        }
        assert_eq!(origin("https://a.example").port(), 443);
        assert_eq!(origin("https://a.example").join("/x?y"), "https://a.example/x?y");
    }

    #[test]
    fn refuses_what_could_lead_elsewhere() {
        for url in [
            "",
            "example.com",
            "/path",
            "ftp://example.com",
            "https://",
            "https://user@example.com",
            "https://user:pass@example.com",
            "https://example.com:",
            "https://example.com:0",
            "https://example.com:99999",
            "https://exämple.com",
            "https://a%2eb",
            "https://example.com.",
            "https://.example.com",
            "https://[::1",
            "https://[v1.x]",
        ] {
            assert_eq!(Origin::parse(url), Err(HttpError::InvalidUrl), "{url}");
        }
    }

    #[test]
    fn a_domain_ends_at_a_dot() {
        assert!(origin("https://weixin.qq.com").host_is_under("weixin.qq.com"));
        assert!(origin("https://idc2.Weixin.qq.com").host_is_under("weixin.qq.com"));
        assert!(!origin("https://evilweixin.qq.com").host_is_under("weixin.qq.com"));
        assert!(!origin("https://weixin.qq.com.evil.example").host_is_under("weixin.qq.com"));
        assert!(!origin("https://evil.example/.weixin.qq.com").host_is_under("weixin.qq.com"));
    }

    #[test]
    fn loopback_is_this_machine_and_nothing_that_looks_like_it() {
        for url in ["http://localhost:1", "http://127.8.0.1", "http://[::1]", "https://localhost"] {
            assert!(origin(url).is_loopback(), "{url}");
        }
        for url in
            ["http://example.com", "http://localhost.example", "http://0.0.0.0", "http://10.0.0.1"]
        {
            assert!(!origin(url).is_loopback(), "{url}");
        }
    }
}
