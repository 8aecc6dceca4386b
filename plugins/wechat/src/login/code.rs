//! A code to scan, from the platform's answer.

use scv_http::Origin;
use scv_plugin_api::{
    Result,
    wire::{Fault, Secret},
};

use crate::{
    fields::Fields,
    limits::{LINK_BYTES, NAME_BYTES},
    origin::may_be_opened,
    refusal::refusal,
};

/// A drawn code. Who has it can follow the sign-in, so it cannot be printed by accident.
#[derive(Debug)]
pub(crate) struct Code {
    handle: Secret,
    link: Secret,
}

impl Code {
    /// Reads the answer to `get_bot_qrcode` of a sign-in at `login`.
    pub(crate) fn read(login: &Origin, status: u16, body: &[u8]) -> Result<Self> {
        if status != 200 {
            let fault = Fault::retry("WeChat gives no code to scan now; try again later");
            return Err(fault.with_code(format!("http {status}")));
        }
        let text = String::from_utf8_lossy(body);
        let answer = Fields::parse(&text).ok_or_else(unusable)?;
        if let Some(refusal) = refusal(&answer) {
            let fault = Fault::other("WeChat refuses to give a code to scan; try again later");
            tracing::warn!(code = refusal.code, words = refusal.words, "no code to scan");
            return Err(fault.with_code(refusal.code.to_string()));
        }
        let handle = answer.filled("qrcode", NAME_BYTES).ok_or_else(unusable)?;
        let link = answer.filled("qrcode_img_content", LINK_BYTES).ok_or_else(unusable)?;
        // It is printed in a terminal, and a person opens it.
        if !link.bytes().all(|byte| byte.is_ascii_graphic()) || !may_be_opened(login, &link) {
            return Err(Fault::protocol(
                "WeChat's code to scan holds no https link and was not shown; try again, or check the --login-url",
            ));
        }
        Ok(Self { handle: Secret::new(handle), link: Secret::new(link) })
    }

    /// What status polls name it by.
    pub(crate) fn handle(&self) -> &str {
        self.handle.expose()
    }

    /// What the code holds: a link, not a picture.
    pub(crate) fn link(&self) -> &str {
        self.link.expose()
    }
}

fn unusable() -> Fault {
    Fault::protocol("WeChat's answer holds no code to scan; try again, or update scv")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::{DEFAULT_ORIGIN, trusted};

    fn read(status: u16, body: &str) -> Result<Code> {
        Code::read(&trusted(DEFAULT_ORIGIN).expect("trusted"), status, body.as_bytes())
    }

    #[test]
    fn needs_a_handle_and_a_link() {
        let whole = r#"{"ret":0,"qrcode":"h","qrcode_img_content":"https://a.example/q/x"}"#;
        let code = read(200, whole).expect("a code");
        assert_eq!((code.handle(), code.link()), ("h", "https://a.example/q/x"));
        assert!(!format!("{code:?}").contains("a.example"));
        for (status, body) in [
            (502, whole),
            (200, r#"{"ret":0,"qrcode":"h"}"#),
            (200, r#"{"ret":0,"qrcode_img_content":"https://a.example/x"}"#),
            (200, r#"{"ret":2,"qrcode":"h","qrcode_img_content":"https://a.example/x"}"#),
            (200, r#"{"ret":0,"qrcode":"h","qrcode_img_content":"https://a.example/\u001b[2J"}"#),
            (200, "<html>"),
        ] {
            assert!(read(status, body).is_err(), "{body}");
        }
    }

    #[test]
    fn a_link_that_nobody_should_open_is_refused_and_not_repeated() {
        for link in ["http://evil.example/q", "javascript:evil()", "evil"] {
            let body = format!(r#"{{"ret":0,"qrcode":"h","qrcode_img_content":"{link}"}}"#);
            let fault = read(200, &body).expect_err(link);
            assert!(fault.message.contains("https link"), "{}", fault.message);
            assert!(!fault.message.contains("evil"), "{}", fault.message);
        }
    }
}
