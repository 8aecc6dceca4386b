//! The scan of a code, from drawing it to the token.

use std::collections::VecDeque;

use super::inbox::Answer;
use super::script::Credentials;

#[derive(Default)]
pub(super) struct SignIn {
    drawn: usize,
    scripted: VecDeque<Answer>,
    stage: Stage,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Waiting,
    /// Scanned, and the client does not know it yet.
    Scanned,
    /// Scanned, and the client was told.
    ScannedAndTold,
    Approved,
    /// The token was handed out for the newest code.
    Confirmed,
}

impl SignIn {
    pub(super) fn script(&mut self, answer: Answer) {
        self.scripted.push_back(answer);
    }

    pub(super) fn scan(&mut self) {
        self.stage = Stage::Scanned;
    }

    pub(super) fn approve(&mut self) {
        self.stage = Stage::Approved;
    }

    /// A new code; the older ones are void. What the person did before counts for it, unless
    /// that was used up.
    pub(super) fn draw(&mut self) -> Answer {
        self.drawn += 1;
        if matches!(self.stage, Stage::Confirmed | Stage::ScannedAndTold) {
            self.stage = Stage::Waiting;
        }
        let handle = self.handle();
        let link = format!("https://liteapp.weixin.qq.com/q/sim?qrcode={handle}&bot_type=3");
        let body = serde_json::json!({"ret": 0, "qrcode": handle, "qrcode_img_content": link});
        (200, body.to_string())
    }

    /// The answer to a status poll, when there is something to say.
    pub(super) fn status(&mut self, handle: &str, credentials: &Credentials) -> Option<Answer> {
        if let Some(scripted) = self.scripted.pop_front() {
            return Some(scripted);
        }
        if self.drawn == 0 || handle != self.handle() {
            return Some(plain("expired"));
        }
        match self.stage {
            Stage::Waiting | Stage::ScannedAndTold => None,
            Stage::Scanned => {
                self.stage = Stage::ScannedAndTold;
                Some(plain("scaned"))
            }
            // Asked again after a lost answer, the platform says the same once more.
            Stage::Approved | Stage::Confirmed => {
                self.stage = Stage::Confirmed;
                Some(confirmed(credentials))
            }
        }
    }

    /// The answer to a status poll whose time is over.
    pub(super) fn nothing(&self) -> Answer {
        plain("wait")
    }

    /// True for every handle that was ever handed out.
    pub(super) fn knows(&self, handle: &str) -> bool {
        (1..=self.drawn).any(|number| handle == handle_of(number))
    }

    fn handle(&self) -> String {
        handle_of(self.drawn)
    }
}

fn handle_of(number: usize) -> String {
    format!("sim-qr-handle-{number}")
}

fn plain(status: &str) -> Answer {
    (200, serde_json::json!({"ret": 0, "status": status}).to_string())
}

fn confirmed(credentials: &Credentials) -> Answer {
    let body = serde_json::json!({
        "ret": 0,
        "status": "confirmed",
        "bot_token": credentials.token,
        "ilink_bot_id": credentials.bot_id,
        "ilink_user_id": credentials.user_id,
        "baseurl": credentials.base_url,
    });
    (200, body.to_string())
}
