//! The answer to a `sendmessage`: accepted, refused, or try again.

use scv_plugin_api::wire::{Scope, SendOutcome};

use crate::{
    fields::Fields,
    ledger::Cause,
    refusal::{Refusal, SIGNED_OUT, refusal},
    retry_after::retry_after_ms,
};

/// The platform's one code for everything that it does not want to send.
const NOT_SENT: i64 = -2;

/// Judges an answer. A 2xx need not be JSON and need not have `ret`; only a non-zero code in it
/// is a refusal. Without a message id the message is accepted, but nothing confirms it.
/// `suspect` names the likely cause of a refusal with these words of the platform.
pub(crate) fn read_outcome(
    status: u16,
    retry_after: Option<&str>,
    body: &[u8],
    suspect: impl FnOnce(&str) -> Cause,
) -> SendOutcome {
    match status {
        200..=299 => read_success(body, suspect),
        401 | 408 | 429 => again(status, retry_after),
        400..=499 => refused(format!("http {status}"), None),
        // A redirect is a gateway of the network, not the platform.
        _ => again(status, retry_after),
    }
}

fn read_success(body: &[u8], suspect: impl FnOnce(&str) -> Cause) -> SendOutcome {
    let text = String::from_utf8_lossy(body);
    let Some(answer) = Fields::parse(&text) else {
        return SendOutcome::Accepted { receipt: None };
    };
    match refusal(&answer) {
        None => SendOutcome::Accepted { receipt: answer.id("message_id") },
        Some(refusal) => judge(&refusal, suspect),
    }
}

fn judge(refusal: &Refusal, suspect: impl FnOnce(&str) -> Cause) -> SendOutcome {
    let Refusal { code, words } = refusal;
    match *code {
        SIGNED_OUT => SendOutcome::Refused {
            code: code.to_string(),
            message: Some("WeChat has signed this bot out; sign in again".to_owned()),
            signed_out: true,
            pause_ms: None,
            scope: Scope::Account,
        },
        NOT_SENT => not_sent(code.to_string(), words, suspect(words)),
        _ => refused(code.to_string(), Some(words.clone()).filter(|words| !words.is_empty())),
    }
}

fn not_sent(code: String, words: &str, cause: Cause) -> SendOutcome {
    let message = match words {
        "" => cause.words().to_owned(),
        words => format!("{words}: {}", cause.words()),
    };
    let Cause::Burst { pause_ms } = cause else {
        return refused(code, Some(message));
    };
    SendOutcome::Refused {
        code,
        message: Some(message),
        signed_out: false,
        pause_ms: Some(pause_ms),
        scope: Scope::Account,
    }
}

fn refused(code: String, message: Option<String>) -> SendOutcome {
    SendOutcome::Refused { code, message, signed_out: false, pause_ms: None, scope: Scope::Message }
}

fn again(status: u16, retry_after: Option<&str>) -> SendOutcome {
    SendOutcome::Retry {
        reason: format!("WeChat answered with HTTP status {status}"),
        after_ms: retry_after_ms(retry_after),
        scope: if status == 429 { Scope::Account } else { Scope::Message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: u16, body: &str) -> SendOutcome {
        read_outcome(status, None, body.as_bytes(), |_| Cause::Budget)
    }

    fn accepted(receipt: Option<&str>) -> SendOutcome {
        SendOutcome::Accepted { receipt: receipt.map(str::to_owned) }
    }

    /// Cases `send-ok-shapes` and `send-ret0-no-id`.
    #[test]
    fn every_2xx_without_a_code_is_accepted() {
        for (body, receipt) in [
            (r#"{"message_id":7492913259736649001}"#, Some("7492913259736649001")),
            (r#"{"ret":0,"message_id":"1"}"#, Some("1")),
            ("{}", None),
            ("", None),
            ("ok", None),
            (r#"{"ret":0}"#, None),
            ("[]", None),
            ("\u{feff}<html>", None),
        ] {
            assert_eq!(outcome(200, body), accepted(receipt), "{body}");
        }
        assert_eq!(outcome(204, ""), accepted(None));
    }

    /// Case `send-retryable`, and what belongs to the same kind.
    #[test]
    fn trouble_on_the_way_is_tried_again() {
        for status in [401, 408, 429, 500, 502, 503, 524, 302] {
            let again = outcome(status, "<html>secret</html>");
            let SendOutcome::Retry { reason, after_ms: None, .. } = again else {
                panic!("{status}: {again:?}")
            };
            assert!(!reason.contains("secret"));
        }
        let hinted = read_outcome(429, Some("7"), b"", |_| Cause::Unknown);
        assert!(
            matches!(
                hinted,
                SendOutcome::Retry { after_ms: Some(7000), scope: Scope::Account, .. }
            ),
            "{hinted:?}"
        );
    }

    #[test]
    fn other_4xx_and_codes_are_final() {
        for status in [400, 403, 404, 413] {
            let refused = outcome(status, "body");
            assert!(
                matches!(&refused, SendOutcome::Refused { code, message: None, .. } if *code == format!("http {status}")),
                "{refused:?}"
            );
        }
        let refused = outcome(200, r#"{"ret":-2,"errmsg":"prepare failed"}"#);
        assert!(
            matches!(&refused, SendOutcome::Refused { code, message: Some(message), pause_ms: None, .. }
                if code == "-2" && message.starts_with("prepare failed: probably")),
            "{refused:?}"
        );
    }

    #[test]
    fn a_burst_pauses_the_account() {
        let suspect = |words: &str| {
            assert_eq!(words, "rate limited");
            Cause::Burst { pause_ms: 7 }
        };
        let body = br#"{"ret":-2,"errmsg":"rate limited"}"#;
        let refused = read_outcome(200, None, body, suspect);
        assert!(
            matches!(
                refused,
                SendOutcome::Refused { pause_ms: Some(7), scope: Scope::Account, .. }
            ),
            "{refused:?}"
        );
    }

    /// Case `send-stale`.
    #[test]
    fn signed_out_is_said_so() {
        for body in [r#"{"errcode":-14,"errmsg":"session timeout"}"#, r#"{"ret":-14}"#] {
            assert!(
                matches!(outcome(200, body), SendOutcome::Refused { signed_out: true, .. }),
                "{body}"
            );
        }
    }
}
