//! The answer to a poll, from its bytes.

use scv_plugin_api::{
    Result,
    limits::MAX_CHECKPOINT_BYTES,
    wire::{Fault, Inbound, InboundKind},
};

use crate::{
    decode::decode,
    fields::Fields,
    limits::POLL_MESSAGES_COUNT,
    refusal::{Refusal, SIGNED_OUT, refusal},
    retry_after::retry_after_ms,
};

/// What one poll brought.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Updates {
    /// Every element that has an id, in order.
    pub(crate) messages: Vec<Inbound>,
    /// Where the platform goes on; empty: where it was.
    pub(crate) cursor: String,
    /// How long the next poll will be held.
    pub(crate) hold_ms: Option<u64>,
    /// Elements without an id, left out.
    pub(crate) left_out: usize,
}

impl Updates {
    /// Messages that are only marked seen.
    pub(crate) fn ignored(&self) -> usize {
        self.messages.iter().filter(|message| message.kind == InboundKind::Ignored).count()
    }
}

/// Reads an answer. Nothing of it counts unless all of it does: on a fault the cursor stays.
pub(crate) fn read_updates(status: u16, retry_after: Option<&str>, body: &[u8]) -> Result<Updates> {
    if !(200..300).contains(&status) {
        let fault =
            Fault::retry(format!("WeChat answered with HTTP status {status}; it is tried again"));
        let after_ms = retry_after_ms(retry_after);
        return Err(Fault { after_ms, ..fault.with_code(format!("http {status}")) });
    }
    let text = String::from_utf8_lossy(body);
    let answer = Fields::parse(&text).ok_or_else(|| broken("it is no JSON object"))?;
    if let Some(refusal) = refusal(&answer) {
        return Err(refused(&refusal));
    }
    let elements = answer.array("msgs").ok_or_else(|| broken("`msgs` is not an array"))?;
    if elements.len() > POLL_MESSAGES_COUNT {
        return Err(broken("it has more than 4096 messages"));
    }
    let cursor =
        answer.text("get_updates_buf").ok_or_else(|| broken("`get_updates_buf` is no string"))?;
    if cursor.len() > MAX_CHECKPOINT_BYTES {
        return Err(broken("its cursor is longer than 64 KiB"));
    }
    let messages: Vec<Inbound> = elements.iter().filter_map(|element| decode(element)).collect();
    let left_out = elements.len() - messages.len();
    let hold_ms = answer.unsigned("longpolling_timeout_ms").filter(|hold| *hold != 0);
    Ok(Updates { messages, cursor, hold_ms, left_out })
}

fn refused(refusal: &Refusal) -> Fault {
    let Refusal { code, words } = refusal;
    let fault = match *code {
        // The command that helps is the host's to name: it knows the account.
        SIGNED_OUT => Fault::auth("WeChat has signed this bot out; sign in again"),
        _ if words.is_empty() => {
            Fault::retry(format!("WeChat gives no messages (code {code}); it is tried again"))
        }
        _ => Fault::retry(format!(
            "WeChat gives no messages (code {code}: {words}); it is tried again"
        )),
    };
    fault.with_code(code.to_string())
}

fn broken(what: &str) -> Fault {
    Fault::protocol(format!(
        "WeChat's answer cannot be used: {what}; nothing of it was taken, and it is tried again"
    ))
}

#[cfg(test)]
mod tests {
    use scv_plugin_api::wire::FaultKind;
    use scv_simulators::cases::wechat_case;

    use super::*;

    fn read(body: &str) -> Result<Updates> {
        read_updates(200, None, body.as_bytes())
    }

    fn first_poll(id: &str) -> String {
        wechat_case(id).expect("a case").polls().remove(0)
    }

    fn fault(body: &str) -> Fault {
        read(body).expect_err(body)
    }

    #[test]
    fn a_poll_that_brings_nothing() {
        for body in [
            r#"{"msgs":[],"get_updates_buf":""}"#,
            r#"{"ret":0,"msgs":[],"get_updates_buf":"","sync_buf":"x"}"#,
        ] {
            assert_eq!(read(body).expect("readable"), Updates::default());
        }
        let hinted = r#"{"msgs":[],"get_updates_buf":"b","longpolling_timeout_ms":25000}"#;
        assert_eq!(read(hinted).expect("readable").hold_ms, Some(25_000));
    }

    #[test]
    fn cursor_missing_and_msgs_missing_ret0() {
        for (id, what) in [("cursor-missing", "get_updates_buf"), ("msgs-missing-ret0", "msgs")] {
            let fault = fault(&first_poll(id));
            assert_eq!(fault.kind, FaultKind::Protocol);
            assert!(fault.message.contains(what), "{}", fault.message);
        }
        for body in [
            "",
            "<html>",
            "[]",
            r#"{"msgs":{},"get_updates_buf":"b"}"#,
            r#"{"msgs":[],"get_updates_buf":5}"#,
        ] {
            assert_eq!(fault(body).kind, FaultKind::Protocol, "{body}");
        }
    }

    #[test]
    fn batch_4097() {
        let body = |count| {
            let messages = vec![r#"{"message_id":1}"#; count].join(",");
            format!(r#"{{"msgs":[{messages}],"get_updates_buf":"b1"}}"#)
        };
        assert_eq!(read(&body(4096)).expect("readable").messages.len(), 4096);
        let fault = fault(&body(4097));
        assert_eq!(fault.kind, FaultKind::Protocol);
        assert!(fault.message.contains("4096"), "{}", fault.message);
    }

    #[test]
    fn a_cursor_that_no_checkpoint_holds() {
        let body = |len| format!(r#"{{"msgs":[],"get_updates_buf":"{}"}}"#, "x".repeat(len));
        assert!(read(&body(MAX_CHECKPOINT_BYTES)).is_ok());
        assert_eq!(fault(&body(MAX_CHECKPOINT_BYTES + 1)).kind, FaultKind::Protocol);
    }

    #[test]
    fn codes_are_refusals() {
        let signed_out = fault(&first_poll("stale-a"));
        assert_eq!((signed_out.kind, signed_out.code.as_deref()), (FaultKind::Auth, Some("-14")));
        assert_eq!(fault(r#"{"ret":-14}"#).kind, FaultKind::Auth);
        let other = fault(r#"{"ret":-1,"errmsg":"busy","msgs":[],"get_updates_buf":"b"}"#);
        assert_eq!((other.kind, other.code.as_deref()), (FaultKind::Retry, Some("-1")));
    }

    #[test]
    fn http_trouble_is_tried_again() {
        for status in [401, 404, 408, 429, 500, 502, 524, 302] {
            let fault = read_updates(status, Some("3"), b"{}").expect_err("a fault");
            assert_eq!((fault.kind, fault.after_ms), (FaultKind::Retry, Some(3000)), "{status}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_spoil_one_message() {
        let mut body =
            br#"{"msgs":[{"message_id":1,"x":"@"},{"message_id":2}],"get_updates_buf":"b"}"#
                .to_vec();
        let at = body.iter().position(|byte| *byte == b'@').expect("a place");
        body[at] = 0xff;
        assert_eq!(read_updates(200, None, &body).expect("readable").messages.len(), 2);
    }
}
