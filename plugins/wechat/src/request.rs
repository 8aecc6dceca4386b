//! The four requests, with the headers that the platform wants on each.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use scv_http::{Origin, Request};
use scv_plugin_api::{
    Result,
    wire::{Fault, Outgoing},
};
use serde::Serialize;

use crate::credentials::Credentials;

/// Free text for the platform; `CLIENT_VERSION` is the same number in its other form.
const CHANNEL_VERSION: &str = "1.0.0";
/// Major * 65536 + minor * 256 + patch.
const CLIENT_VERSION: &str = "65536";
/// A personal bot; other types are refused.
const BOT_TYPE: &str = "3";
const TEXT_ITEM: u8 = 1;
const FROM_BOT: u8 = 2;
const FINISHED: u8 = 2;

/// Draws a code to scan.
pub(crate) fn draw_code(login: &Origin) -> Request {
    let request = Request::get(login.join("/ilink/bot/get_bot_qrcode"));
    app(request.query(&[("bot_type", BOT_TYPE)]))
}

/// Asks how far the sign-in of a code is; `digits` are those that the phone shows.
pub(crate) fn code_status(origin: &Origin, handle: &str, digits: Option<&str>) -> Request {
    let request = Request::get(origin.join("/ilink/bot/get_qrcode_status"));
    let request = request.query(&[("qrcode", handle)]);
    app(match digits {
        Some(digits) => request.query(&[("verify_code", digits)]),
        None => request,
    })
}

/// Polls for what came after `cursor`, and so confirms all before it.
pub(crate) fn get_updates(credentials: &Credentials, cursor: &str) -> Result<Request> {
    #[derive(Serialize)]
    struct Body<'a> {
        get_updates_buf: &'a str,
        base_info: BaseInfo,
    }
    let body = Body { get_updates_buf: cursor, base_info: BASE_INFO };
    signed(credentials, "/ilink/bot/getupdates", &body)
}

/// Sends one text.
pub(crate) fn send_message(credentials: &Credentials, message: &Outgoing) -> Result<Request> {
    let token = message.reply.as_ref().and_then(|reply| reply.reply_token.as_ref());
    let token = token.map(|token| token.expose().as_str()).filter(|token| !token.is_empty());
    let body = SendBody {
        msg: WireMessage {
            from_user_id: "",
            to_user_id: &message.recipient.user,
            group_id: message.recipient.group.as_deref(),
            client_id: &message.client_id,
            message_type: FROM_BOT,
            message_state: FINISHED,
            item_list: [Item { kind: TEXT_ITEM, text_item: Text { text: &message.text } }],
            context_token: token,
        },
        base_info: BASE_INFO,
    };
    signed(credentials, "/ilink/bot/sendmessage", &body)
}

#[derive(Serialize)]
struct BaseInfo {
    channel_version: &'static str,
}

const BASE_INFO: BaseInfo = BaseInfo { channel_version: CHANNEL_VERSION };

#[derive(Serialize)]
struct SendBody<'a> {
    msg: WireMessage<'a>,
    base_info: BaseInfo,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    from_user_id: &'static str,
    to_user_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<&'a str>,
    client_id: &'a str,
    message_type: u8,
    message_state: u8,
    item_list: [Item<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    context_token: Option<&'a str>,
}

#[derive(Serialize)]
struct Item<'a> {
    #[serde(rename = "type")]
    kind: u8,
    text_item: Text<'a>,
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

fn signed(credentials: &Credentials, path: &str, body: &impl Serialize) -> Result<Request> {
    let request = Request::post(credentials.origin()?.join(path))
        .header("AuthorizationType", "ilink_bot_token")
        .header("X-WECHAT-UIN", &fresh_uin()?)
        .bearer(credentials.token().expose())
        .json(body);
    Ok(app(request))
}

fn app(request: Request) -> Request {
    request.header("iLink-App-Id", "bot").header("iLink-App-ClientVersion", CLIENT_VERSION)
}

/// New for each request: base64 of the decimal text of a random number, as every known client
/// does it, not of its four bytes (captured 2026-11).
fn fresh_uin() -> Result<String> {
    let number = getrandom::u32()
        .map_err(|_| Fault::other("this machine gives no random numbers; try again later"))?;
    Ok(STANDARD.encode(number.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uin_is_the_text_of_a_number() {
        let uin = STANDARD.decode(fresh_uin().expect("random")).expect("base64");
        let text = String::from_utf8(uin).expect("ASCII");
        assert!(text.parse::<u32>().is_ok(), "{text}");
    }
}
