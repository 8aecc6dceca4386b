//! What the bot sends: judged, answered, and shown on the phone or not.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::inbox::Answer;
use super::script::{SecondSend, Sent};
use crate::limits;

const FIRST_RECEIPT: u64 = 7_492_913_259_736_700_001;

#[derive(Default)]
pub(super) struct Outbox {
    pub(super) sent: Vec<Sent>,
    pub(super) second: SecondSend,
    scripted: VecDeque<Answer>,
    /// What each client id stood for when it came first.
    contents: HashMap<String, Content>,
}

type Content = (String, Option<String>, String);

impl Outbox {
    pub(super) fn script(&mut self, answer: Answer) {
        self.scripted.push_back(answer);
    }

    /// Takes a send and answers it; the faults are those of its own content.
    pub(super) fn take(&mut self, body: &Value) -> (Answer, Vec<String>) {
        let message = &body["msg"];
        let mut faults = shape_faults(message);
        let refused = refusal(message);
        faults.extend(refused.as_ref().map(|(why, _)| (*why).to_owned()));
        let sent = read(message);
        faults.extend(self.reuse_fault(&sent));
        let answer = match refused {
            Some((_, answer)) => (200, answer.to_owned()),
            None => self.scripted.pop_front().unwrap_or_else(|| self.receipt()),
        };
        let accepted = is_success(&answer);
        // A message without these is accepted and never seen again (reports of 2026).
        let shown = accepted && faults.is_empty() && self.is_new_to_the_phone(&sent);
        self.sent.push(Sent { accepted, shown, ..sent });
        (answer, faults)
    }

    /// What this person sees in the direct chat.
    pub(super) fn shown_to(&self, user: &str) -> impl Iterator<Item = &Sent> {
        let of_user = move |sent: &&Sent| sent.to_user_id == user && sent.group_id.is_none();
        self.sent.iter().filter(|sent| sent.shown).filter(of_user)
    }

    fn receipt(&self) -> Answer {
        let id = FIRST_RECEIPT + self.sent.len() as u64;
        (200, format!(r#"{{"message_id":{id}}}"#))
    }

    fn reuse_fault(&mut self, sent: &Sent) -> Option<String> {
        let content = (sent.to_user_id.clone(), sent.context_token.clone(), sent.text.clone());
        let first = self.contents.entry(sent.client_id.clone()).or_insert_with(|| content.clone());
        (*first != content).then(|| "client_id stood for another message before".to_owned())
    }

    fn is_new_to_the_phone(&self, sent: &Sent) -> bool {
        let accepted = || self.sent.iter().filter(|earlier| earlier.accepted);
        if accepted().any(|earlier| earlier.client_id == sent.client_id) {
            return false;
        }
        let token_is_used = sent.context_token.is_some()
            && accepted().any(|earlier| earlier.context_token == sent.context_token);
        !token_is_used || self.second == SecondSend::Shown
    }
}

fn read(message: &Value) -> Sent {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Sent {
        client_id: text(&message["client_id"]),
        context_token: message["context_token"].as_str().map(str::to_owned),
        to_user_id: text(&message["to_user_id"]),
        group_id: message["group_id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned),
        text: text(&message["item_list"][0]["text_item"]["text"]),
        accepted: false,
        shown: false,
    }
}

fn shape_faults(message: &Value) -> Vec<String> {
    let is_filled = |name: &str| message[name].as_str().is_some_and(|text| !text.is_empty());
    let token = &message["context_token"];
    let rules = [
        ("from_user_id is not an empty text", message["from_user_id"] == ""),
        ("to_user_id is missing", is_filled("to_user_id")),
        ("client_id is missing", is_filled("client_id")),
        ("message_type is not 2", message["message_type"] == 2),
        ("message_state is not 2", message["message_state"] == 2),
        (
            "context_token is neither absent nor a text",
            token.is_null() || is_filled("context_token"),
        ),
    ];
    rules.iter().filter(|(_, right)| !right).map(|(fault, _)| (*fault).to_owned()).collect()
}

/// What the platform does not take, and how it says so.
fn refusal(message: &Value) -> Option<(&'static str, &'static str)> {
    let one_item = message["item_list"].as_array().is_some_and(|items| items.len() == 1);
    if !one_item {
        return Some(("item_list has not exactly one item", r#"{"ret":-2,"errmsg":""}"#));
    }
    let item = &message["item_list"][0];
    let text = item["text_item"]["text"].as_str().unwrap_or_default();
    if item["type"] != 1 || text.is_empty() {
        return Some(("the item is no text", r#"{"ret":-2,"errmsg":""}"#));
    }
    let too_long = "the text is above 16384 bytes";
    (text.len() > limits::SEND_TEXT_BYTES)
        .then_some((too_long, r#"{"ret":-2,"errmsg":"prepare failed"}"#))
}

fn is_success((status, body): &Answer) -> bool {
    let body: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    let is_zero = |name: &str| body[name].is_null() || body[name] == 0;
    (200..300).contains(status) && is_zero("ret") && is_zero("errcode")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(client_id: &str, token: Option<&str>, text: &str) -> Value {
        json!({"msg": {
            "from_user_id": "", "to_user_id": "u", "client_id": client_id, "message_type": 2,
            "message_state": 2, "context_token": token,
            "item_list": [{"type": 1, "text_item": {"text": text}}],
        }})
    }

    fn shown(outbox: &Outbox) -> Vec<&str> {
        outbox.sent.iter().filter(|sent| sent.shown).map(|sent| sent.text.as_str()).collect()
    }

    #[test]
    fn a_repetition_is_shown_once() {
        let mut outbox = Outbox::default();
        outbox.script((503, "<html>".into()));
        for _ in 0..3 {
            assert_eq!(outbox.take(&message("c1", Some("t1"), "hi")).1, [""; 0]);
        }
        assert_eq!(shown(&outbox), ["hi"]);
        assert!(!outbox.sent[0].accepted && outbox.sent[2].accepted);
    }

    #[test]
    fn a_second_send_on_a_token_is_dropped_unless_told_otherwise() {
        for (second, want) in
            [(SecondSend::Dropped, vec!["1", "3"]), (SecondSend::Shown, vec!["1", "2", "3"])]
        {
            let mut outbox = Outbox { second, ..Outbox::default() };
            outbox.take(&message("c1", Some("t1"), "1"));
            outbox.take(&message("c2", Some("t1"), "2"));
            outbox.take(&message("c3", None, "3"));
            assert_eq!(shown(&outbox), want);
        }
    }

    #[test]
    fn faults_are_noticed() {
        let mut outbox = Outbox::default();
        outbox.take(&message("c1", None, "first"));
        assert_eq!(outbox.take(&message("c1", None, "other")).1.len(), 1);
        assert_eq!(outbox.take(&message("", None, "x")).1, ["client_id is missing"]);
        let (answer, faults) = outbox.take(&message("c2", None, &"x".repeat(16_385)));
        assert_eq!(
            (answer.1.as_str(), faults.len()),
            (r#"{"ret":-2,"errmsg":"prepare failed"}"#, 1)
        );
        let (answer, faults) = outbox.take(&json!({"msg": {}}));
        assert!(!is_success(&answer) && faults.len() > 3, "{faults:?}");
        assert_eq!(shown(&outbox), ["first"]);
    }

    #[test]
    fn what_counts_as_accepted() {
        for (status, body, want) in [
            (200, "", true),
            (200, "ok", true),
            (200, "{}", true),
            (200, r#"{"ret":0,"message_id":"1"}"#, true),
            (200, r#"{"ret":-2}"#, false),
            (200, r#"{"errcode":-14}"#, false),
            (400, "{}", false),
        ] {
            assert_eq!(is_success(&(status, body.to_owned())), want, "{body}");
        }
    }
}
