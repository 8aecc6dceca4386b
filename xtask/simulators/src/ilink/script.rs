//! What a test tells the platform to do, and what it finds out afterwards.

use std::time::Duration;

/// The person whose account the bot belongs to.
pub const OWNER: &str = "o9cq8TESTUSER0000000000000001@im.wechat";
/// Somebody else.
pub const STRANGER: &str = "o9cq8TESTUSER0000000000000002@im.wechat";
/// The bot.
pub const BOT: &str = "abcdef012345@im.bot";

/// What polling with an old or empty cursor brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replay {
    /// A message that was once given out never comes again (seen live).
    #[default]
    Never,
    /// An empty cursor brings the last ten messages again (seen live).
    EmptyCursor,
    /// A message comes until a poll carries a newer cursor: a platform that loses nothing, for
    /// tests that kill the client at every moment.
    OldCursor,
}

/// What the phone shows of a second message on one context token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecondSend {
    /// Nothing, although it was accepted (seen live).
    #[default]
    Dropped,
    /// It is shown like the first.
    Shown,
}

/// What goes wrong with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection is closed and nothing was done.
    HangupBefore,
    /// Everything is done, then the connection is closed without an answer.
    HangupAfter,
    /// The answer to a request that is otherwise served comes this much later.
    Delay(Duration),
    /// Nothing is done; this status and body are the answer.
    Answer(u16, String),
}

/// One message that a client asked to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The client's id.
    pub client_id: String,
    /// The handle that it answers to; none for an unprompted message.
    pub context_token: Option<String>,
    /// The receiver.
    pub to_user_id: String,
    /// The group that it is written in; none for a direct chat.
    pub group_id: Option<String>,
    /// The text.
    pub text: String,
    /// The platform's answer was a success.
    pub accepted: bool,
    /// The phone shows it: accepted, no repetition, and not dropped silently.
    pub shown: bool,
}

/// What a signed-in client owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The bot token.
    pub token: String,
    /// Where its calls go.
    pub base_url: String,
    /// The bot.
    pub bot_id: String,
    /// Its owner.
    pub user_id: String,
}

impl Credentials {
    /// The JSON of scv's credentials file.
    pub fn to_json(&self) -> String {
        serde_json::json!({
            "token": self.token,
            "base_url": self.base_url,
            "bot_id": self.bot_id,
            "user_id": self.user_id,
        })
        .to_string()
    }
}
