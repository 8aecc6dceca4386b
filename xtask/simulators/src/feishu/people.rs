//! What the people do.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Feishu;
use super::script::{APP, BOT, BOT_NAME, Brand, GROUP, p2p_of};
use super::state::State;

impl Feishu {
    /// The person confirms the sign-in that is under way, or the next one.
    pub fn approve(&self) {
        self.shared.change(|state| state.registration.approve());
    }

    /// The same, as a person whose tenant is of this edition; the app is, too.
    pub fn approve_as(&self, brand: Brand) {
        self.brand(brand);
        self.approve();
    }

    /// The person declines.
    pub fn deny(&self) {
        self.shared.change(|state| state.registration.deny());
    }

    /// Someone writes to the bot in their own chat; returns the message id.
    pub fn push_message(&self, person: &str, text: &str) -> String {
        self.shared.change(|state| {
            let payload = text_event(state, person, &p2p_of(person), "p2p", text, &json!([]));
            say(state, &payload)
        })
    }

    /// Someone writes in [`GROUP`] and mentions the bot; returns the message id.
    pub fn push_mention(&self, person: &str, text: &str) -> String {
        self.shared.change(|state| {
            let mention = json!({
                "key": "@_user_1", "name": BOT_NAME, "mentioned_type": "bot",
                "id": {"union_id": "on_bot", "user_id": "", "open_id": BOT},
                "tenant_key": "tenant_key_0001",
            });
            let text = format!("@_user_1 {text}");
            let payload = text_event(state, person, GROUP, "group", &text, &json!([mention]));
            say(state, &payload)
        })
    }

    /// An event in full happens: the chat's history has it, and it is pushed.
    pub fn push_event(&self, payload: &Value) {
        self.shared.change(|state| state.event(payload.to_string()));
    }

    /// Messages that are in the history of their chats and were never pushed. With `endless`
    /// the lists say for ever that there is more.
    pub fn add_history(&self, chats: BTreeMap<String, Vec<Value>>, endless: bool) {
        self.shared.change(|state| state.add_history(chats, endless));
    }

    /// Someone writes to the bot in their own chat, and nothing is pushed; returns the message id.
    pub fn miss_message(&self, person: &str, text: &str) -> String {
        self.shared.change(|state| {
            let chat = p2p_of(person);
            let (id, moment) = (state.new_id("om"), state.now_ms().to_string());
            let item = json!({
                "message_id": id, "msg_type": "text", "chat_id": chat, "create_time": moment,
                "update_time": moment, "deleted": false, "updated": false,
                "sender": {"id": person, "id_type": "open_id", "sender_type": "user"},
                "body": {"content": json!({"text": text}).to_string()},
            });
            state.add_history(BTreeMap::from([(chat, vec![item])]), false);
            id
        })
    }

    /// A person withdraws a message. Apps of this kind are not told of it.
    pub fn recall(&self, message_id: &str) {
        self.shared.change(|state| state.recall(message_id));
    }

    /// The platform's clock in Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.shared.lock().now_ms()
    }
}

fn say(state: &mut State, payload: &Value) -> String {
    state.event(payload.to_string());
    payload["event"]["message"]["message_id"].as_str().unwrap_or_default().to_owned()
}

/// A text message as the platform pushes it.
fn text_event(
    state: &mut State,
    person: &str,
    chat: &str,
    chat_type: &str,
    text: &str,
    mentions: &Value,
) -> Value {
    let moment = state.now_ms().to_string();
    let sender_id = json!({"union_id": format!("on_{person}"), "user_id": "", "open_id": person});
    json!({
        "schema": "2.0",
        "header": {
            "event_id": state.new_id("ev"), "token": "", "create_time": moment, "app_id": APP,
            "event_type": "im.message.receive_v1", "tenant_key": "tenant_key_0001",
        },
        "event": {
            "sender": {
                "sender_id": sender_id, "sender_type": "user", "tenant_key": "tenant_key_0001",
            },
            "message": {
                "message_id": state.new_id("om"), "create_time": moment, "update_time": moment,
                "chat_id": chat, "chat_type": chat_type, "message_type": "text",
                "content": json!({"text": text}).to_string(), "mentions": mentions,
            },
        },
    })
}
