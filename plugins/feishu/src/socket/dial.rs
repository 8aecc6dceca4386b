//! Makes the connection: TCP, proxy, TLS, and the upgrade to a websocket.

use std::time::Duration;

use scv_http::{HttpClient, Stream};
use scv_plugin_api::{Result, wire::Fault};
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, client::IntoClientRequest, protocol::WebSocketConfig},
};

use crate::{
    brand::Brand,
    endpoint::{Endpoint, crowded},
    limits::{CONNECT_MS, FRAME_BYTES, UPGRADE_MS},
    rest::told,
};

/// An open connection.
pub(crate) type Socket = WebSocketStream<Stream>;

/// Connects.
///
/// # Errors
/// When there is no way there, or the platform refuses; none of them tells the URL.
pub(crate) async fn dial(http: &HttpClient, brand: Brand, endpoint: &Endpoint) -> Result<Socket> {
    let connect = Duration::from_millis(CONNECT_MS);
    let stream = http.dial(&endpoint.origin, connect).await.map_err(|error| told(&error, brand))?;
    let request = endpoint.url.expose().as_str().into_client_request();
    let request = request.map_err(|_| no_upgrade(brand))?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(FRAME_BYTES))
        .max_frame_size(Some(FRAME_BYTES));
    let upgrade = client_async_with_config(request, stream, Some(config));
    match timeout(Duration::from_millis(UPGRADE_MS), upgrade).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(tungstenite::Error::Http(answer))) => Err(refused(&answer, brand)),
        Ok(Err(_)) | Err(_) => Err(no_upgrade(brand)),
    }
}

fn no_upgrade(brand: Brand) -> Fault {
    let title = brand.title();
    Fault::retry(format!("{title} did not open the long connection; it is tried again"))
}

/// The platform says why in headers of its own.
fn refused<T>(answer: &http::Response<T>, brand: Brand) -> Fault {
    let header = |name: &str| answer.headers().get(name)?.to_str().ok()?.parse::<i64>().ok();
    if header("Handshake-Autherrcode") == Some(1_000_040_350) {
        return crowded("1000040350");
    }
    let status = header("Handshake-Status").unwrap_or(i64::from(answer.status().as_u16()));
    // 514 is a key that is no longer good: the next discovery gives a new one.
    let title = brand.title();
    Fault::retry(format!("{title} refused the long connection; it is tried again"))
        .with_code(format!("handshake {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_handshake_is_told_by_numbers_only() {
        let answer = |headers: &[(&str, &str)]| {
            let mut answer = http::Response::builder().status(400);
            for (name, value) in headers {
                answer = answer.header(*name, *value);
            }
            refused(&answer.body(()).expect("a response"), Brand::Lark)
        };
        let crowd = answer(&[("Handshake-Status", "514"), ("Handshake-Autherrcode", "1000040350")]);
        assert!(crowd.after_ms.is_some(), "{crowd:?}");
        let fault = answer(&[("Handshake-Status", "514"), ("Handshake-Msg", "hunter22")]);
        assert_eq!(fault.code.as_deref(), Some("handshake 514"));
        assert!(fault.message.starts_with("Lark "), "{}", fault.message);
        assert!(!fault.message.contains("hunter22"));
        assert_eq!(answer(&[]).code.as_deref(), Some("handshake 400"));
    }
}
