//! What a test tells the platform to do, and what it finds out afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

/// The app that the bot belongs to.
pub const APP: &str = "cli_a1b2c3d4e5f60718";
/// Its secret.
pub const SECRET: &str = "sEcReT-app-0123456789abcdefghij";
/// The bot, as its own app sees it.
pub const BOT: &str = "ou_bot_0000000000000000000000001";
/// The bot's name.
pub const BOT_NAME: &str = "Test Bot";
/// The person who made the app.
pub const OWNER: &str = "ou_owner_00000000000000000000001";
/// Somebody else.
pub const STRANGER: &str = "ou_stranger_0000000000000000001";
/// The owner's chat with the bot.
pub const P2P: &str = "oc_p2p_owner_000000000000000001";
/// A group with the bot in it.
pub const GROUP: &str = "oc_group_0000000000000000000001";

/// The direct chat of a person with the bot.
pub fn p2p_of(person: &str) -> String {
    match person {
        OWNER => P2P.to_owned(),
        other => format!("oc_p2p_{other}"),
    }
}

/// Which edition of the platform an account belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Brand {
    /// The one of `feishu.cn`.
    #[default]
    Feishu,
    /// The one of `larksuite.com`.
    Lark,
}

impl Brand {
    /// The domain of all its hosts.
    pub const fn domain(self) -> &'static str {
        match self {
            Self::Feishu => "feishu.cn",
            Self::Lark => "larksuite.com",
        }
    }

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Feishu => "feishu",
            Self::Lark => "lark",
        }
    }

    pub(super) fn of_host(host: &str) -> Option<Self> {
        let is_below = |brand: &Self| host.ends_with(&format!(".{}", brand.domain()));
        [Self::Feishu, Self::Lark].into_iter().find(is_below)
    }
}

/// Answers the next calls that fit it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// The HTTP method; any when absent.
    pub method: Option<String>,
    /// A regular expression that the path must contain; any path when empty.
    pub path: String,
    /// How many calls; one when absent.
    pub times: Option<u64>,
    /// The HTTP status; 200 when absent.
    pub http: Option<u16>,
    /// The platform's code, in a JSON body with `msg`.
    pub code: Option<i64>,
    /// The text beside the code.
    pub msg: Option<String>,
    /// The whole body instead: a text as it is, anything else as JSON.
    pub body: Option<Value>,
    /// Response headers.
    pub headers: BTreeMap<String, String>,
    /// Seconds before anything happens.
    pub delay: Option<f64>,
    /// The connection is closed without an answer.
    pub drop: Option<Drop>,
}

/// When a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Drop {
    /// Nothing was done.
    Before,
    /// Everything was done.
    After,
}

/// What is left of a script once a call has met it.
#[derive(Debug, Clone)]
pub(super) struct Met {
    pub(super) delay: Duration,
    pub(super) drop: Option<Drop>,
    /// The answer in place of the platform's own.
    pub(super) answer: Option<Answer>,
}

/// A response in full.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) is_json: bool,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, is_json: true, headers: Vec::new(), body: body.to_string() }
    }

    /// The platform's usual form of a success.
    pub(super) fn data(data: Value) -> Self {
        Self::json(200, &json!({"code": 0, "msg": "success", "data": data}))
    }

    /// The platform's usual form of a refusal.
    pub(super) fn refusal(code: i64, msg: &str) -> Self {
        Self::json(400, &json!({"code": code, "msg": msg}))
    }
}

/// The scripts that wait for calls, in order.
#[derive(Default)]
pub(super) struct Scripts(Vec<(Script, Regex, u64)>);

impl Scripts {
    pub(super) fn push(&mut self, script: Script) -> anyhow::Result<()> {
        let path = Regex::new(&script.path).context("the path of a script")?;
        let times = script.times.unwrap_or(1);
        self.0.push((script, path, times));
        Ok(())
    }

    /// The first script that fits, used up once more.
    pub(super) fn meet(&mut self, method: &str, path: &str) -> Option<Met> {
        let (script, _, times) = self.0.iter_mut().find(|(script, pattern, times)| {
            let method_fits = script.method.as_deref().is_none_or(|wanted| wanted == method);
            *times > 0 && method_fits && pattern.is_match(path)
        })?;
        *times -= 1;
        Some(Met {
            delay: Duration::from_secs_f64(script.delay.unwrap_or_default().max(0.0)),
            drop: script.drop,
            answer: script.answer(),
        })
    }
}

impl Script {
    /// None when it only delays or drops.
    fn answer(&self) -> Option<Answer> {
        let says_something = self.http.is_some() || self.code.is_some() || self.body.is_some();
        if !says_something {
            return None;
        }
        let status = self.http.unwrap_or(200);
        let headers = self.headers.clone().into_iter().collect();
        let (is_json, body) = match (&self.body, self.code) {
            (Some(Value::String(text)), _) => (false, text.clone()),
            (Some(body), _) => (true, body.to_string()),
            (None, Some(code)) => {
                let msg = self.msg.as_deref().unwrap_or("scripted");
                (true, json!({"code": code, "msg": msg}).to_string())
            }
            (None, None) => (false, String::new()),
        };
        Some(Answer { status, is_json, headers, body })
    }
}

/// What happens to an event while nobody is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Offline {
    /// It is never pushed; the chat's history has it (seen live).
    #[default]
    Lost,
    /// It counts as a first try that failed: it comes again by the tiers (seen live, too).
    FailedTry,
}

/// Under which ids an event comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The same (documented).
    SameIds,
    /// A new event id and message id, with everything else as it was (seen live).
    NewIds,
}

/// One message that a client asked to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The client's id of it.
    pub uuid: String,
    /// The message that it replies to.
    pub reply_to: Option<String>,
    /// The chat that shows it; empty when the platform does not know one.
    pub chat: String,
    /// The person, for an unprompted message, or the sender of the message replied to.
    pub person: String,
    /// The text.
    pub text: String,
    /// The platform took it.
    pub accepted: bool,
    /// The chat shows it: accepted, and no repetition of an accepted one.
    pub shown: bool,
    /// The platform's own code, when it judged the message itself; 0 for accepted.
    pub code: i64,
}

/// An acknowledgement of one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ack {
    /// `message_id` of the event's message, or the event id where it has none.
    pub id: String,
    /// The code in its payload; none when that is no JSON with a code.
    pub code: Option<i64>,
    /// From the last byte of the delivery to the acknowledgement.
    pub after: Duration,
}

/// What a signed-in client owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The app.
    pub app_id: String,
    /// Its secret.
    pub app_secret: String,
    /// The edition.
    pub brand: Brand,
    /// The owner, by the app's own ids.
    pub owner_open_id: Option<String>,
}

impl Credentials {
    /// The JSON of scv's credentials file.
    pub fn to_json(&self) -> String {
        json!({
            "app_id": self.app_id,
            "app_secret": self.app_secret,
            "brand": self.brand.name(),
            "owner_open_id": self.owner_open_id,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(value: Value) -> Script {
        serde_json::from_value(value).expect("a script")
    }

    #[test]
    fn a_script_is_used_as_often_as_it_says() {
        let mut scripts = Scripts::default();
        scripts.push(script(json!({"path": "/reply$", "code": 7, "times": 2}))).expect("pushed");
        assert!(scripts.meet("GET", "/reply/x").is_none());
        for _ in 0..2 {
            let answer = scripts.meet("POST", "/a/reply").and_then(|met| met.answer);
            let answer = answer.expect("an answer");
            assert_eq!((answer.status, answer.body.contains("\"code\":7")), (200, true));
        }
        assert!(scripts.meet("POST", "/a/reply").is_none());
    }

    #[test]
    fn bodies_are_texts_or_json_or_nothing() {
        let text = script(json!({"http": 502, "body": "<html>"})).answer().expect("an answer");
        assert_eq!((text.status, text.is_json, text.body.as_str()), (502, false, "<html>"));
        let json = script(json!({"body": {"code": 1}})).answer().expect("an answer");
        assert_eq!((json.is_json, json.body.as_str()), (true, r#"{"code":1}"#));
        assert!(script(json!({"drop": "after"})).answer().is_none());
    }
}
