//! Where the long connection goes: asked anew for each, because its keys are good for one.

use std::time::Duration;

use http::Uri;
use scv_http::{Origin, Request};
use scv_plugin_api::{
    Result,
    wire::{Fault, Secret},
};
use serde_json::json;

use crate::{
    brand::Brand,
    limits::{BODY_BYTES, CROWDED_MS},
    rest::{Answer, Api, Class},
    wire::{ping_interval, reconnect_spread},
};

/// An address that was checked. The URL carries one-time keys and is never told.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) url: Secret,
    pub(crate) origin: Origin,
    /// What pings name.
    pub(crate) service: i32,
    pub(crate) ping_interval: Option<Duration>,
    pub(crate) reconnect_spread: Option<Duration>,
}

/// Asks for the address of a connection.
///
/// # Errors
/// When the platform gives none, by its code, or one that is not to be dialled.
pub(crate) async fn discover(api: &Api) -> Result<Endpoint> {
    let credentials = api.credentials();
    let body = json!({
        "AppID": credentials.app_id,
        "AppSecret": credentials.app_secret.expose(),
    });
    let request =
        Request::post(api.url("/callback/ws/endpoint")).header("locale", "zh").json(&body);
    let answer = api.exchange(request, BODY_BYTES).await?;
    read(&answer, credentials.brand)
}

fn read(answer: &Answer, brand: Brand) -> Result<Endpoint> {
    if answer.class() != Class::Good {
        return Err(refused(answer, brand));
    }
    let data = answer.data();
    let url = data["URL"].as_str().unwrap_or_default();
    let (origin, service) = check(url, brand).ok_or_else(|| {
        Fault::retry(format!(
            "{} named an address for the long connection that is not its own; it was not dialled",
            brand.title()
        ))
    })?;
    Ok(Endpoint {
        url: Secret::new(url.to_owned()),
        origin,
        service,
        ping_interval: ping_interval(&data["ClientConfig"]),
        reconnect_spread: reconnect_spread(&data["ClientConfig"]),
    })
}

/// The origin and the service of an address on the brand's domain, over TLS, on the usual port.
fn check(url: &str, brand: Brand) -> Option<(Origin, i32)> {
    let rest = url.strip_prefix("wss://")?;
    // The keys of a websocket URL follow the same rules as those of https.
    let origin = Origin::parse(&format!("https://{rest}")).ok()?;
    let uri: Uri = url.parse().ok()?;
    let query = uri.query().unwrap_or_default();
    let service = query.split('&').find_map(|pair| pair.strip_prefix("service_id="));
    let service = service.and_then(|text| text.parse().ok()).unwrap_or_default();
    brand.owns(&origin).then_some((origin, service))
}

/// What each refusal means. None is the end: the host asks again, more and more slowly.
fn refused(answer: &Answer, brand: Brand) -> Fault {
    let title = brand.title();
    let fault = match answer.code() {
        Some(1_000_040_344 | 1_000_040_345) => Fault::auth(format!(
            "{title} refuses the app id or its secret, or the app is not published; check it in \
             the developer console, or sign in again"
        )),
        Some(1_000_040_350) => return crowded(answer.name()),
        Some(1_000_040_351) => Fault::config(format!(
            "this app is not {title}'s; log out, then sign in with the other edition (`feishu` or \
             `lark`)"
        )),
        _ => Fault::retry(format!("{title} gives no long connection now; it is asked again")),
    };
    answer.fault(fault)
}

/// The app has as many connections as it may.
pub(crate) fn crowded(code: impl Into<String>) -> Fault {
    let text = "this app has too many long connections; stop its other copies, it is tried again";
    Fault { after_ms: Some(CROWDED_MS), ..Fault::retry(text).with_code(code) }
}

#[cfg(test)]
mod tests {
    use scv_http::Response;
    use scv_plugin_api::wire::FaultKind;

    use super::*;

    const URL: &str = "wss://msg-frontier.feishu.cn/ws/v2?fpid=493&device_id=7300000000000000000&access_key=hunter22&service_id=33554678&ticket=t";

    fn answer(status: u16, body: impl Into<String>) -> Answer {
        let body = body.into().into();
        Answer::read(&Response { status, headers: http::HeaderMap::new(), body })
    }

    fn named(url: &str, brand: Brand) -> Result<Endpoint> {
        let body = json!({"code": 0, "data": {"URL": url, "ClientConfig": {"PingInterval": 90}}});
        read(&answer(200, body.to_string()), brand)
    }

    #[test]
    fn the_service_and_the_interval_are_read() {
        let endpoint = named(URL, Brand::Feishu).expect("an endpoint");
        assert_eq!(endpoint.service, 33_554_678);
        assert_eq!(endpoint.ping_interval, Some(Duration::from_secs(90)));
        assert!(!format!("{endpoint:?}").contains("hunter22"));
        let bare =
            read(&answer(200, json!({"code": 0, "data": {"URL": URL}}).to_string()), Brand::Feishu);
        assert_eq!(bare.expect("an endpoint").ping_interval, None);
    }

    #[test]
    fn only_the_brands_own_hosts_over_tls_are_dialled() {
        let lark = "wss://msg-frontier.larksuite.com:443/ws/v2?service_id=1";
        assert!(named(lark, Brand::Lark).is_ok());
        for (url, brand) in [
            (URL, Brand::Lark),
            (lark, Brand::Feishu),
            ("ws://msg-frontier.feishu.cn/ws?access_key=hunter22", Brand::Feishu),
            ("wss://msg-frontier.feishu.cn:8443/ws?access_key=hunter22", Brand::Feishu),
            ("wss://feishu.cn.evil.example/ws?access_key=hunter22", Brand::Feishu),
            ("wss://evilfeishu.cn/ws?access_key=hunter22", Brand::Feishu),
            ("wss://u:hunter22@msg-frontier.feishu.cn/ws", Brand::Feishu),
            ("wss://127.0.0.1/ws?access_key=hunter22", Brand::Feishu),
            ("https://open.feishu.cn/ws?access_key=hunter22", Brand::Feishu),
            ("hunter22", Brand::Feishu),
            ("", Brand::Feishu),
        ] {
            let fault = named(url, brand).expect_err(url);
            assert!(!fault.message.contains("hunter22"), "{}", fault.message);
            assert_eq!(fault.kind, FaultKind::Retry);
        }
    }

    #[test]
    fn every_refusal_has_its_kind_and_its_code() {
        for (code, kind) in [
            (1, FaultKind::Retry),
            (1_000_040_343, FaultKind::Retry),
            (1_000_040_344, FaultKind::Auth),
            (1_000_040_345, FaultKind::Auth),
            (1_000_040_350, FaultKind::Retry),
            (1_000_040_351, FaultKind::Config),
            (7, FaultKind::Retry),
        ] {
            let body = json!({"code": code, "msg": "system busy hunter22"}).to_string();
            let fault = read(&answer(200, body), Brand::Feishu).expect_err("refused");
            assert_eq!(
                (fault.kind, fault.code.as_deref()),
                (kind, Some(code.to_string().as_str()))
            );
            assert!(!fault.message.contains("hunter22"));
        }
    }

    #[test]
    fn what_is_no_answer_is_tried_again() {
        for (status, body) in [
            (200, "<html>captive portal</html>"),
            (200, ""),
            (200, r#"{"code":0}"#),
            (200, r#"{"code":0,"data":null}"#),
            (502, "<html>"),
            (500, r#"{"code":"x"}"#),
        ] {
            let fault = read(&answer(status, body), Brand::Feishu).expect_err(body);
            assert_eq!(fault.kind, FaultKind::Retry, "{body}");
        }
    }
}
