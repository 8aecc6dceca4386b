//! Posts a reply to a program of the person's own.

use std::{io, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, StatusCode, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use scv_plugin_api::wire::{Scope, SendOutcome};
use tokio::{net::TcpStream, time::timeout};

use crate::{
    credentials::Callback,
    limits::{CALLBACK_MS, RETRY_AFTER_MS},
    outbox::Reply,
    routes::{NONCE, SIGNATURE, TIMESTAMP, unix_seconds},
    signature::{Signed, sign},
};

/// Posts and judges the answer. Nothing that the other side says goes further.
pub(crate) async fn post(
    callback: &Callback,
    secret: &str,
    nonce: &str,
    reply: &Reply,
) -> SendOutcome {
    let posting = exchange(callback, secret, nonce, reply);
    let status = match timeout(Duration::from_millis(CALLBACK_MS), posting).await {
        Ok(Ok(status)) => status,
        Ok(Err(_)) => return again("the callback is not there".into(), Scope::Account),
        Err(_) => return again("the callback did not answer in time".into(), Scope::Account),
    };
    judge(status, nonce)
}

fn judge(status: StatusCode, nonce: &str) -> SendOutcome {
    match status.as_u16() {
        200..=299 => SendOutcome::Accepted { receipt: Some(nonce.to_owned()) },
        408 | 425 | 429 | 500..=599 => {
            again(format!("the callback answered {}", status.as_u16()), Scope::Message)
        }
        code => SendOutcome::Refused {
            code: code.to_string(),
            message: Some(format!("the callback answered {code}; look into its own log")),
            signed_out: false,
            pause_ms: None,
            scope: Scope::Message,
        },
    }
}

fn again(reason: String, scope: Scope) -> SendOutcome {
    SendOutcome::Retry { reason, after_ms: Some(RETRY_AFTER_MS), scope }
}

async fn exchange(
    callback: &Callback,
    secret: &str,
    nonce: &str,
    reply: &Reply,
) -> Result<StatusCode, io::Error> {
    let body = serde_json::to_vec(reply)?;
    let timestamp = unix_seconds().to_string();
    let target = format!("POST {}", callback.target);
    let signed = Signed { timestamp: &timestamp, nonce, target: &target, body: &body };
    let request = Request::post(&callback.target)
        .header(header::HOST, callback.address.to_string())
        .header(header::CONTENT_TYPE, "application/json")
        .header(TIMESTAMP, &timestamp)
        .header(NONCE, nonce)
        .header(SIGNATURE, sign(secret, &signed))
        .body(Full::new(Bytes::from(body)))
        .map_err(io::Error::other)?;
    let stream = TcpStream::connect(callback.address).await?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // It ends by itself when the sender is dropped.
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    Ok(answer.status())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_becomes_of_a_reply() {
        let of = |code| judge(StatusCode::from_u16(code).unwrap(), "n");
        assert!(matches!(of(204), SendOutcome::Accepted { receipt: Some(_) }));
        for code in [408, 425, 429, 500, 503] {
            assert!(matches!(of(code), SendOutcome::Retry { .. }), "{code}");
        }
        for code in [301, 400, 404, 410] {
            assert!(matches!(of(code), SendOutcome::Refused { .. }), "{code}");
        }
    }
}
