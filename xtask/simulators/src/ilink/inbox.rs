//! What people write to the bot, and what a poll gets of it.

use std::collections::VecDeque;
use std::time::Duration;

use super::script::{BOT, Replay};
use crate::limits;

/// A status and a body.
pub(super) type Answer = (u16, String);

const FIRST_MESSAGE_ID: u64 = 7_492_913_259_736_648_001;
const FIRST_MESSAGE_MOMENT: u64 = 1_790_000_001_000;

pub(super) struct Inbox {
    /// Raw JSON, so that ids beyond 2^53 stay what they are.
    messages: Vec<String>,
    /// How many of them were given out at least once.
    given: usize,
    scripted: VecDeque<Answer>,
    /// How long the next polls are held whatever waits for them.
    forced_holds: VecDeque<Duration>,
    pub(super) hold: Duration,
    /// How far the times of new messages are from where they were.
    pub(super) ahead_ms: i64,
    pub(super) replay: Replay,
    /// The cursors that polls carried, in order.
    pub(super) cursors: Vec<String>,
    /// Polls that are being held at this moment.
    pub(super) held: usize,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            messages: Vec::new(),
            given: 0,
            scripted: VecDeque::new(),
            forced_holds: VecDeque::new(),
            ahead_ms: 0,
            hold: Duration::from_millis(limits::POLL_HOLD_MS),
            replay: Replay::default(),
            cursors: Vec::new(),
            held: 0,
        }
    }

    pub(super) fn script(&mut self, answer: Answer) {
        self.scripted.push_back(answer);
    }

    pub(super) fn force_hold(&mut self, hold: Duration) {
        self.forced_holds.push_back(hold);
    }

    pub(super) fn push_raw(&mut self, message: String) {
        self.messages.push(message);
    }

    /// Writes a text message as the platform does and returns its id.
    pub(super) fn push_text(&mut self, user: &str, text: &str) -> String {
        let number = self.messages.len() as u64;
        let id = FIRST_MESSAGE_ID + number;
        let moment = FIRST_MESSAGE_MOMENT + number * 1000;
        let message = serde_json::json!({
            "seq": number + 1,
            "message_id": id,
            "from_user_id": user,
            "to_user_id": BOT,
            "client_id": "",
            "create_time_ms": moment.saturating_add_signed(self.ahead_ms),
            "update_time_ms": 0,
            "delete_time_ms": 0,
            "session_id": "",
            "group_id": "",
            "message_type": 1,
            "message_state": 2,
            "item_list": [{"type": 1, "text_item": {"text": text}}],
            "context_token": format!("ctx-{}", number + 1),
        });
        self.messages.push(message.to_string());
        id.to_string()
    }

    /// A poll arrives; the time that it is held in any case.
    pub(super) fn begin(&mut self, cursor: &str) -> Option<Duration> {
        self.cursors.push(cursor.to_owned());
        self.forced_holds.pop_front()
    }

    /// The answer to a poll, when there is something to say.
    pub(super) fn answer(&mut self, cursor: &str) -> Option<Answer> {
        if let Some(scripted) = self.scripted.pop_front() {
            return Some(scripted);
        }
        let first = self.first_for(cursor);
        (first < self.messages.len()).then(|| {
            self.given = self.messages.len();
            self.batch(first)
        })
    }

    /// The answer to a poll whose time is over.
    pub(super) fn nothing(&self) -> Answer {
        self.batch(self.messages.len())
    }

    fn first_for(&self, cursor: &str) -> usize {
        let known = cursor.strip_prefix("buf-").and_then(|count| count.parse().ok());
        match self.replay {
            Replay::Never => self.given,
            Replay::EmptyCursor if cursor.is_empty() => {
                self.given.min(self.messages.len().saturating_sub(limits::HISTORY_COUNT))
            }
            Replay::EmptyCursor => self.given,
            Replay::OldCursor if cursor.is_empty() => 0,
            Replay::OldCursor => known.unwrap_or(self.given),
        }
    }

    fn batch(&self, first: usize) -> Answer {
        let messages = self.messages[first..].join(",");
        let (count, hold) = (self.messages.len(), self.hold.as_millis());
        let body = format!(
            r#"{{"msgs":[{messages}],"get_updates_buf":"buf-{count}","longpolling_timeout_ms":{hold}}}"#
        );
        (200, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(answer: Option<Answer>) -> usize {
        answer.map_or(0, |(_, body)| body.matches("message_id").count())
    }

    fn two_given(replay: Replay) -> Inbox {
        let mut inbox = Inbox { replay, ..Inbox::new() };
        inbox.push_text("u", "one");
        inbox.push_text("u", "two");
        assert_eq!(texts(inbox.answer("")), 2);
        inbox
    }

    #[test]
    fn a_given_message_comes_again_as_the_replay_says() {
        for (replay, empty, old, new) in
            [(Replay::Never, 0, 0, 0), (Replay::EmptyCursor, 2, 0, 0), (Replay::OldCursor, 2, 1, 0)]
        {
            assert_eq!(texts(two_given(replay).answer("")), empty, "{replay:?}");
            assert_eq!(texts(two_given(replay).answer("buf-1")), old, "{replay:?}");
            assert_eq!(texts(two_given(replay).answer("buf-2")), new, "{replay:?}");
        }
    }

    #[test]
    fn history_is_the_last_ten() {
        let mut inbox = Inbox { replay: Replay::EmptyCursor, ..Inbox::new() };
        for _ in 0..25 {
            inbox.push_text("u", "x");
        }
        assert_eq!(texts(inbox.answer("")), 25, "nothing new is lost");
        assert_eq!(texts(inbox.answer("")), 10);
    }
}
