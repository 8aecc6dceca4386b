//! What the bot sends: judged, answered, and shown in the chat or not.

use std::collections::{HashMap, HashSet};

use regex::Regex;
use serde_json::{Value, json};

use super::script::{Answer, Sent, p2p_of};
use crate::limits;

pub(super) struct Outbox {
    pub(super) sent: Vec<Sent>,
    /// Messages that can be replied to: who wrote them where.
    known: HashMap<String, (String, String)>,
    recalled: HashSet<String>,
    /// By `uuid`: what was accepted under it, and the message that it became.
    uuids: HashMap<String, (Sent, Value)>,
    /// A link in the text syntax of the platform.
    link: Regex,
}

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Below this message.
    Reply(String),
    /// `receive_id_type`, from the query; the id is in the body.
    Create(String),
}

/// The answer, and what was wrong with the call.
pub(super) struct Judged {
    pub(super) answer: Answer,
    pub(super) faults: Vec<String>,
    /// A message that the chat shows from now on, with its content.
    pub(super) shown: Option<(String, String, String)>,
}

impl Outbox {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            sent: Vec::new(),
            known: HashMap::new(),
            recalled: HashSet::new(),
            uuids: HashMap::new(),
            link: Regex::new(r"\[[^\]\n]*\]\(\s*([A-Za-z][A-Za-z0-9+.-]*):")?,
        })
    }

    pub(super) fn learn(&mut self, event: &Value) {
        let message = &event["event"]["message"];
        let person = event["event"]["sender"]["sender_id"]["open_id"].as_str().unwrap_or_default();
        let chat = message["chat_id"].as_str().unwrap_or_default();
        if let Some(id) = message["message_id"].as_str() {
            self.known.insert(id.to_owned(), (chat.to_owned(), person.to_owned()));
        }
    }

    pub(super) fn learn_item(&mut self, item: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let place = (text(&item["chat_id"]), text(&item["sender"]["id"]));
        self.known.insert(text(&item["message_id"]), place);
    }

    pub(super) fn recall(&mut self, message_id: &str) {
        self.recalled.insert(message_id.to_owned());
    }

    /// A call that never got as far as this platform's judgement.
    pub(super) fn lost(&mut self, target: &Target, body: &Value) {
        let sent = self.read(target, body);
        self.sent.push(Sent { code: -1, ..sent });
    }

    /// Takes a call; a scripted answer takes the place of the platform's own.
    pub(super) fn take(
        &mut self,
        target: &Target,
        body: &Value,
        scripted: Option<Answer>,
        new_id: String,
    ) -> Judged {
        let sent = self.read(target, body);
        let mut faults = shape_faults(body);
        let first = self.uuids.get(&sent.uuid);
        if first.is_some_and(|(first, _)| (&first.text, &first.chat) != (&sent.text, &sent.chat)) {
            faults.push("send: the uuid stood for another message before".to_owned());
        }
        let repeated = first.map(|(_, message)| message.clone());
        let refused = self.refusal(target, body, &sent);
        let own = match (&repeated, refused) {
            (Some(message), _) => Answer::data(message.clone()),
            (None, Some((code, why))) => Answer::refusal(code, why),
            (None, None) => Answer::data(message(&sent, &new_id)),
        };
        let answer = scripted.unwrap_or(own);
        let (accepted, code) = outcome(&answer);
        let is_new = accepted && repeated.is_none();
        if is_new {
            self.uuids.insert(sent.uuid.clone(), (sent.clone(), message(&sent, &new_id)));
        }
        let content = body["content"].as_str().unwrap_or_default().to_owned();
        let shown = is_new.then(|| (new_id, sent.chat.clone(), content));
        self.sent.push(Sent { accepted, shown: is_new, code, ..sent });
        Judged { answer, faults, shown }
    }

    fn read(&self, target: &Target, body: &Value) -> Sent {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let content: Value = serde_json::from_str(body["content"].as_str().unwrap_or_default())
            .unwrap_or(Value::Null);
        let receiver = text(&body["receive_id"]);
        let (reply_to, (chat, person)) = match target {
            Target::Reply(id) => {
                (Some(id.clone()), self.known.get(id).cloned().unwrap_or_default())
            }
            Target::Create(kind) if kind == "chat_id" => (None, (receiver, String::new())),
            Target::Create(_) => (None, (p2p_of(&receiver), receiver)),
        };
        let (uuid, text) = (text(&body["uuid"]), text(&content["text"]));
        Sent { uuid, reply_to, chat, person, text, accepted: false, shown: false, code: 0 }
    }

    /// What the platform does not take, as its code and why.
    fn refusal(&self, target: &Target, body: &Value, sent: &Sent) -> Option<(i64, &'static str)> {
        let content = body["content"].as_str().unwrap_or_default();
        if sent.uuid.len() > limits::UUID_BYTES {
            return Some((99_992_402, "field validation failed, uuid"));
        }
        if body["msg_type"] != "text" || sent.text.is_empty() {
            return Some((230_001, "Your request contains an invalid request parameter."));
        }
        if content.len() > limits::SEND_CONTENT_BYTES {
            return Some((230_025, "The message content reaches its limit."));
        }
        let mut schemes = self.link.captures_iter(&sent.text).map(|link| link[1].to_lowercase());
        if schemes.any(|scheme| scheme != "http" && scheme != "https") {
            return Some((
                230_001,
                "invalid request parameter, ext=scheme not in scheme whitelist",
            ));
        }
        match target {
            Target::Reply(id) if !id.starts_with("om_") => Some((99_992_354, "id not exist")),
            Target::Reply(id) if !self.known.contains_key(id) => {
                Some((231_003, "The message was not found."))
            }
            Target::Reply(id) if self.recalled.contains(id) => {
                Some((230_011, "The message was withdrawn."))
            }
            _ => None,
        }
    }
}

fn message(sent: &Sent, id: &str) -> Value {
    json!({
        "message_id": id, "root_id": sent.reply_to, "parent_id": sent.reply_to,
        "msg_type": "text", "chat_id": sent.chat,
        "body": {"content": json!({"text": sent.text}).to_string()},
    })
}

fn outcome(answer: &Answer) -> (bool, i64) {
    let body: Value = serde_json::from_str(&answer.body).unwrap_or(Value::Null);
    let code = body["code"].as_i64();
    ((200..300).contains(&answer.status) && code == Some(0), code.unwrap_or(-1))
}

fn shape_faults(body: &Value) -> Vec<String> {
    let uuid = body["uuid"].as_str().unwrap_or_default();
    let content = body["content"].as_str().unwrap_or_default();
    let text = serde_json::from_str::<Value>(content).unwrap_or(Value::Null)["text"].is_string();
    let rules = [
        ("uuid is missing", !uuid.is_empty()),
        ("uuid is longer than 50 characters", uuid.len() <= limits::UUID_BYTES),
        ("msg_type is not text", body["msg_type"] == "text"),
        ("content is no JSON text with a text in it", text),
    ];
    rules.iter().filter(|(_, right)| !right).map(|(fault, _)| format!("send: {fault}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox() -> Outbox {
        let mut outbox = Outbox::new().expect("the expression");
        outbox.learn(&json!({"event": {
            "sender": {"sender_id": {"open_id": "ou_1"}},
            "message": {"message_id": "om_1", "chat_id": "oc_1"},
        }}));
        outbox
    }

    fn reply(outbox: &mut Outbox, uuid: &str, text: &str) -> (i64, Option<String>) {
        let content = json!({"text": text}).to_string();
        let body = json!({"msg_type": "text", "uuid": uuid, "content": content});
        let target = Target::Reply("om_1".to_owned());
        let new_id = format!("om_new_{}", outbox.sent.len());
        let judged = outbox.take(&target, &body, None, new_id);
        assert_eq!(judged.faults, [""; 0]);
        let answer: Value = serde_json::from_str(&judged.answer.body).expect("JSON");
        let id = answer["data"]["message_id"].as_str().map(str::to_owned);
        (answer["code"].as_i64().expect("a code"), id)
    }

    #[test]
    fn one_uuid_is_one_message() {
        let mut outbox = outbox();
        let first = reply(&mut outbox, "u1", "hello");
        assert_eq!(reply(&mut outbox, "u1", "hello"), first);
        assert_eq!(outbox.sent.iter().filter(|sent| sent.shown).count(), 1);
        assert_eq!(
            (outbox.sent[0].chat.as_str(), outbox.sent[0].person.as_str()),
            ("oc_1", "ou_1")
        );
    }

    #[test]
    fn schemes_and_withdrawn_targets_are_refused() {
        let mut outbox = outbox();
        assert_eq!(reply(&mut outbox, "u1", "[a](https://b) and (file:///c)").0, 0);
        assert_eq!(reply(&mut outbox, "u2", "[a](file:///b)").0, 230_001);
        outbox.recall("om_1");
        assert_eq!(reply(&mut outbox, "u3", "late").0, 230_011);
    }
}
