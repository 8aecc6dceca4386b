//! Which way a request goes: straight, through a forwarding proxy, or through a tunnel.

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::config::HttpConfig;
use crate::error::HttpError;
use crate::origin::Origin;

/// The way to one origin.
pub(crate) enum Route {
    Direct,
    /// The proxy gets the request itself, with the whole URL in its first line.
    Forward(Intercept),
    /// The proxy gets a `CONNECT`, then carries bytes.
    Tunnel(Intercept),
}

/// The proxy settings of one client.
pub(crate) struct Routes {
    matcher: Matcher,
}

impl Routes {
    pub(crate) fn new(config: &HttpConfig) -> Result<Self, HttpError> {
        let https = proxy_of(config.https_proxy.as_deref())?;
        let http = proxy_of(config.http_proxy.as_deref())?;
        let no = config.no_proxy.as_deref().unwrap_or_default();
        let matcher = Matcher::builder()
            .https(https.to_owned())
            .http(http.to_owned())
            .no(no.to_owned())
            .build();
        Ok(Self { matcher })
    }

    pub(crate) fn route(&self, target: &Uri, origin: &Origin) -> Route {
        if origin.is_loopback() {
            return Route::Direct;
        }
        match self.matcher.intercept(target) {
            None => Route::Direct,
            Some(proxy) if origin.is_https() => Route::Tunnel(proxy),
            Some(proxy) => Route::Forward(proxy),
        }
    }
}

/// The matcher ignores what it cannot read; a request that silently goes around the proxy would
/// be worse than an error.
fn proxy_of(setting: Option<&str>) -> Result<&str, HttpError> {
    let text = setting.unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(text);
    }
    let probe = Uri::from_static("http://probe.invalid/");
    let read = Matcher::builder().http(text.to_owned()).build().intercept(&probe);
    let known = read.is_some_and(|proxy| {
        matches!(proxy.uri().scheme(), Some(scheme) if [Scheme::HTTP, Scheme::HTTPS].contains(scheme))
    });
    if known { Ok(text) } else { Err(HttpError::InvalidProxy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(config: HttpConfig, url: &'static str) -> &'static str {
        let routes = Routes::new(&config).expect("proxies");
        match routes.route(&Uri::from_static(url), &Origin::parse(url).expect("url")) {
            Route::Direct => "direct",
            Route::Forward(_) => "forward",
            Route::Tunnel(_) => "tunnel",
        }
    }

    fn both() -> HttpConfig {
        HttpConfig {
            https_proxy: Some("http://u:p@proxy.example:3128".into()),
            http_proxy: Some("proxy.example:3128".into()),
            no_proxy: Some("direct.example, 10.0.0.0/8".into()),
            ..HttpConfig::default()
        }
    }

    #[test]
    fn scheme_and_exceptions_decide() {
        assert_eq!(way(both(), "https://api.example/v1"), "tunnel");
        assert_eq!(way(both(), "http://api.example/v1"), "forward");
        assert_eq!(way(both(), "https://a.direct.example/"), "direct");
        assert_eq!(way(both(), "https://notdirect.example/"), "tunnel");
        assert_eq!(way(both(), "http://10.1.2.3/"), "direct");
        assert_eq!(way(HttpConfig::default(), "https://api.example/"), "direct");
    }

    #[test]
    fn loopback_never_goes_through_a_proxy() {
        for url in ["http://127.0.0.1:8080/", "https://localhost/", "http://[::1]:1/"] {
            assert_eq!(way(both(), url), "direct", "{url}");
        }
    }

    #[test]
    fn an_unusable_proxy_is_an_error_and_no_detour() {
        for proxy in ["socks5://proxy.example:1080", "not a proxy", "ftp://x", "http://"] {
            let config = HttpConfig { https_proxy: Some(proxy.into()), ..HttpConfig::default() };
            assert!(matches!(Routes::new(&config), Err(HttpError::InvalidProxy)), "{proxy}");
        }
    }
}
