//! Sends one message, and judges what the platform says to it.

use std::time::Duration;

use scv_http::Request;
use scv_plugin_api::{
    Result,
    wire::{Fault, FaultKind, Outgoing, Scope, SendOutcome},
};
use serde_json::json;
use tokio::time::timeout;

use crate::{
    limits::{BODY_BYTES, SEND_MS},
    outgoing::{neutralise, plain, uuid},
    rest::{Answer, Api, Class, meaning},
};

/// Sends a message; everything that can happen is an outcome.
pub(crate) async fn send(api: &Api, message: &Outgoing) -> SendOutcome {
    match timeout(Duration::from_millis(SEND_MS), try_to_send(api, message)).await {
        Ok(Ok(answer)) => judge(&answer, api.title()),
        Ok(Err(fault)) => unanswered(fault),
        Err(_) => again(format!("{} did not answer in time", api.title()), None, Scope::Message),
    }
}

/// The text as it is, but for what must not mean anything; and once more as plain characters
/// when its content is refused. That is another message, under another name.
async fn try_to_send(api: &Api, message: &Outgoing) -> Result<Answer> {
    let text = neutralise(&message.text);
    let first = request(api, message, &text, &uuid(&message.client_id, ""));
    let answer = api.call(first, BODY_BYTES).await?;
    if answer.class() != Class::Content {
        return Ok(answer);
    }
    let text = plain(&message.text);
    let second = request(api, message, &text, &uuid(&message.client_id, "plain"));
    api.call(second, BODY_BYTES).await
}

fn request(api: &Api, message: &Outgoing, text: &str, uuid: &str) -> Request {
    let content = json!({ "text": text }).to_string();
    if let Some(reply) = &message.reply {
        // Replying to a message of a topic lands in the topic; asking for a thread would open one.
        let path = format!("/open-apis/im/v1/messages/{}/reply", path_part(&reply.message_id));
        let body = json!({"msg_type": "text", "content": content, "uuid": uuid});
        return Request::post(api.url(&path)).json(&body);
    }
    let (kind, id) = match &message.recipient.group {
        Some(group) => ("chat_id", group),
        None => ("open_id", &message.recipient.user),
    };
    let body = json!({"receive_id": id, "msg_type": "text", "content": content, "uuid": uuid});
    let url = api.url("/open-apis/im/v1/messages");
    Request::post(url).query(&[("receive_id_type", kind)]).json(&body)
}

/// An id in a path: anything but what ids are made of would lead elsewhere.
fn path_part(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let part = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    id.bytes().map(part).collect()
}

fn judge(answer: &Answer, title: &str) -> SendOutcome {
    let reason = || format!("{title} answered {}", answer.name());
    match answer.class() {
        Class::Good => {
            let receipt = answer.data()["message_id"].as_str().map(str::to_owned);
            SendOutcome::Accepted { receipt }
        }
        Class::Again | Class::Token => again(reason(), answer.reset_ms(), Scope::Message),
        Class::Slower => again(reason(), answer.reset_ms(), Scope::Account),
        Class::Withdrawn | Class::Content | Class::Final => SendOutcome::Refused {
            code: answer.name(),
            message: answer.code().and_then(meaning).map(str::to_owned),
            signed_out: false,
            pause_ms: None,
            scope: Scope::Message,
        },
    }
}

fn unanswered(fault: Fault) -> SendOutcome {
    match fault.kind {
        FaultKind::Auth => SendOutcome::Refused {
            code: fault.code.unwrap_or_default(),
            message: Some(fault.message),
            signed_out: true,
            pause_ms: None,
            scope: Scope::Account,
        },
        _ => again(fault.message, fault.after_ms, Scope::Message),
    }
}

const fn again(reason: String, after_ms: Option<u64>, scope: Scope) -> SendOutcome {
    SendOutcome::Retry { reason, after_ms, scope }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_place_in_the_path() {
        assert_eq!(path_part("om_a-1"), "om_a-1");
        assert_eq!(path_part("../x?y#好"), "%2E%2E%2Fx%3Fy%23%E5%A5%BD");
    }
}
