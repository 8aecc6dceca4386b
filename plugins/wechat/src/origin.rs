//! Which addresses may be spoken to: tokens and codes go to the platform, or to this machine.

use scv_http::Origin;
use scv_plugin_api::{Result, wire::Fault};

/// Where every sign-in starts, unless a person says otherwise.
pub(crate) const DEFAULT_ORIGIN: &str = "https://ilinkai.weixin.qq.com";

const PLATFORM_DOMAIN: &str = "weixin.qq.com";

/// The origin that a person or a saved file names: `https` on the platform's domain, or loopback
/// (tests, local gateways).
pub(crate) fn trusted(url: &str) -> Result<Origin> {
    let origin = Origin::parse(url).map_err(|_| {
        Fault::config("the WeChat address is not a usable URL; write it as https://HOST")
    })?;
    if origin.is_loopback() || is_platform(&origin) {
        return Ok(origin);
    }
    Err(Fault::config(
        "the WeChat address is not https under weixin.qq.com; use such an address, or loopback",
    ))
}

/// The origin that the platform names during a sign-in that began at `login`; none when it is not
/// the platform's. Only a sign-in on this machine may be sent to this machine.
pub(crate) fn named_by_platform(login: &Origin, url: &str) -> Option<Origin> {
    let origin = Origin::parse(url).ok()?;
    let local = login.is_loopback() && origin.is_loopback();
    (local || is_platform(&origin)).then_some(origin)
}

fn is_platform(origin: &Origin) -> bool {
    origin.is_https() && origin.host_is_under(PLATFORM_DOMAIN)
}

/// Whether a person may be asked to open this link from a sign-in that began at `login`.
pub(crate) fn may_be_opened(login: &Origin, link: &str) -> bool {
    let safe = |origin: Origin| origin.is_https() || login.is_loopback() && origin.is_loopback();
    Origin::parse(link).is_ok_and(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trusts_the_platform_and_this_machine() {
        for url in [DEFAULT_ORIGIN, "https://idc2.weixin.qq.com:8443/", "http://127.0.0.1:9"] {
            assert!(trusted(url).is_ok(), "{url}");
        }
        for url in [
            "http://ilinkai.weixin.qq.com",
            "https://evil.example",
            "https://weixin.qq.com.evil.example",
            "https://evilweixin.qq.com",
            "https://user@ilinkai.weixin.qq.com",
            "ilinkai.weixin.qq.com",
            "",
        ] {
            assert!(trusted(url).is_err(), "{url}");
        }
    }

    #[test]
    fn links_to_open_are_https_or_of_this_machine() {
        let real = trusted(DEFAULT_ORIGIN).expect("trusted");
        let local = trusted("http://127.0.0.1:9").expect("trusted");
        for (link, of_real, of_local) in [
            ("https://liteapp.weixin.qq.com/q/x?qrcode=h", true, true),
            ("http://127.0.0.1:10/q", false, true),
            ("http://liteapp.weixin.qq.com/q", false, false),
            ("javascript:alert(1)", false, false),
            ("file:///etc/passwd", false, false),
            ("weixin://q/x", false, false),
            ("https://liteapp.weixin.qq.com@evil.example/q", false, false),
            ("x", false, false),
        ] {
            assert_eq!(may_be_opened(&real, link), of_real, "{link}");
            assert_eq!(may_be_opened(&local, link), of_local, "{link}");
        }
    }

    #[test]
    fn the_platform_cannot_send_a_sign_in_to_this_machine() {
        let real = trusted(DEFAULT_ORIGIN).expect("trusted");
        let local = trusted("http://127.0.0.1:9").expect("trusted");
        assert!(named_by_platform(&real, "https://idc2.weixin.qq.com").is_some());
        assert!(named_by_platform(&real, "http://127.0.0.1:9").is_none());
        assert!(named_by_platform(&local, "http://localhost:10").is_some());
        assert!(named_by_platform(&local, "https://idc2.weixin.qq.com").is_some());
        assert!(named_by_platform(&local, "https://evil.example").is_none());
    }
}
