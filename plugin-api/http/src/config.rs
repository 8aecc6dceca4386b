//! What a client is made of: proxies, extra certificates, its name.

use std::fmt;

/// The settings of a client. Empty texts count as not set.
#[derive(Clone, Default)]
pub struct HttpConfig {
    /// The proxy for `https` targets, reached by `CONNECT`; may carry `user:password@`.
    pub https_proxy: Option<String>,
    /// The proxy for `http` targets.
    pub http_proxy: Option<String>,
    /// Hosts that are reached directly, in the form that curl reads: names (their subdomains
    /// too), addresses, networks, `*`. Loopback is always reached directly.
    pub no_proxy: Option<String>,
    /// Certificates in PEM that are trusted beside those of the machine.
    pub extra_ca_pem: Option<Vec<u8>>,
    /// The `User-Agent` of every request; none is sent when empty.
    pub user_agent: String,
}

impl HttpConfig {
    /// Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, then their lower-case names.
    pub fn from_env(user_agent: impl Into<String>) -> Self {
        Self::from_lookup(user_agent, |name| std::env::var(name).ok())
    }

    fn from_lookup(user_agent: impl Into<String>, lookup: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| {
            [name.to_owned(), name.to_ascii_lowercase()]
                .iter()
                .filter_map(|name| lookup(name))
                .find(|value| !value.trim().is_empty())
        };
        Self {
            https_proxy: read("HTTPS_PROXY"),
            http_proxy: read("HTTP_PROXY"),
            no_proxy: read("NO_PROXY"),
            extra_ca_pem: None,
            user_agent: user_agent.into(),
        }
    }
}

/// Says only what is set: a proxy address may hold a password.
impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("https_proxy", &self.https_proxy.is_some())
            .field("http_proxy", &self.http_proxy.is_some())
            .field("no_proxy", &self.no_proxy.is_some())
            .field("extra_ca_pem", &self.extra_ca_pem.is_some())
            .field("user_agent", &self.user_agent)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_spellings_and_skips_empty_ones() {
        let config = HttpConfig::from_lookup("scv/0", |name| match name {
            "HTTPS_PROXY" => Some(" ".into()),
            "https_proxy" => Some("http://lower:1".into()),
            "HTTP_PROXY" => Some("http://upper:2".into()),
            "http_proxy" => Some("http://lower:2".into()),
            _ => None,
        });
        assert_eq!(config.https_proxy.as_deref(), Some("http://lower:1"));
        assert_eq!(config.http_proxy.as_deref(), Some("http://upper:2"));
        assert_eq!(config.no_proxy, None);
        assert_eq!(config.user_agent, "scv/0");
    }

    #[test]
    fn debug_shows_no_address() {
        let config = HttpConfig {
            https_proxy: Some("http://user:hunter22@proxy.example:1".into()),
            ..HttpConfig::default()
        };
        let text = format!("{config:?}");
        assert!(!text.contains("hunter22") && !text.contains("proxy.example"), "{text}");
    }
}
