//! The text of a message, from its `content`: JSON in a JSON text.

use serde_json::Value;

use super::{
    Incoming,
    mentions::Mentions,
    post::{self, Post},
};

/// What a message says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// May be blank; the host starts no turn for that.
    pub(crate) text: String,
    /// Whether the bot is addressed.
    pub(crate) mentions_bot: bool,
}

/// Reads texts and posts; none for anything else, and for what is not what it says it is.
pub(crate) fn read_content(incoming: &Incoming, bot: Option<&str>) -> Option<Content> {
    let mentions = Mentions { list: &incoming.mentions, bot };
    let content: Value = serde_json::from_str(&incoming.content).ok()?;
    let (text, mentions_bot) = match incoming.kind.as_str() {
        "text" => (mentions.write(content["text"].as_str()?), mentions.name_bot()),
        "post" => {
            let Post { text, mentions_bot } = post::read(&content, mentions)?;
            (text, mentions_bot || mentions.name_bot())
        }
        _ => return None,
    };
    // What stood beside the dropped mention.
    let text = if mentions_bot { text.trim().to_owned() } else { text };
    Some(Content { text, mentions_bot })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::Mention;

    fn content(kind: &str, content: &str, mentions: &Value) -> Option<Content> {
        let incoming = Incoming {
            kind: kind.into(),
            content: content.into(),
            mentions: Mention::list(mentions),
            ..Incoming::default()
        };
        read_content(&incoming, Some("ou_bot"))
    }

    fn bot() -> Value {
        json!([{"key": "@_user_1", "id": {"open_id": "ou_bot"}, "name": "Test Bot"}])
    }

    #[test]
    fn texts() {
        for (raw, want) in [
            (r#"{"text":"run the tests"}"#, Some("run the tests")),
            (r#"{"text":"  two\n lines ","extra":{"a":[1]}}"#, Some("  two\n lines ")),
            ("plain words", None),
            ("{}", None),
            (r#"{"text":null}"#, None),
            ("", None),
            ("[]", None),
        ] {
            let read = content("text", raw, &json!(null));
            assert_eq!(read.as_ref().map(|content| content.text.as_str()), want, "{raw}");
        }
    }

    #[test]
    fn the_bots_mention_leaves_no_blanks() {
        for (raw, want) in [
            (r#"{"text":"@_user_1"}"#, ""),
            (r#"{"text":"@_user_1 in a topic"}"#, "in a topic"),
            (r#"{"text":"in a topic @_user_1 "}"#, "in a topic"),
        ] {
            let read = content("text", raw, &bot()).expect("text");
            assert_eq!(read, Content { text: want.into(), mentions_bot: true });
        }
    }

    #[test]
    fn other_kinds_have_no_text() {
        for kind in ["image", "audio", "sticker", "interactive", "file", "merge_forward", ""] {
            assert_eq!(
                content(kind, r#"{"text":"x","image_key":"k"}"#, &json!([])),
                None,
                "{kind}"
            );
        }
    }
}
