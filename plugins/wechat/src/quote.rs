//! What a message quotes. The platform has changed this shape at least four times (2026-04 to
//! 2026-11): a text item, a bot message without text, only a message id, only a server id.

use scv_plugin_api::wire::{Quote, QuoteAuthor};

use crate::{blank::is_blank, fields::Fields, limits::QUOTE_BYTES};

/// Seen only where a message of a bot is quoted.
const BOT_MESSAGE_ITEM: i64 = 8;

/// The quote in an item, when it has words. A quote that only names a message cannot be shown,
/// and the message runs without it.
pub(crate) fn read_quote(item: &Fields<'_>) -> Option<Quote> {
    let reference = item.object("ref_msg")?;
    let quoted = reference.object("message_item");
    let words = quoted
        .as_ref()
        .and_then(|quoted| words(quoted, "text_item").or_else(|| words(quoted, "voice_item")))
        .or_else(|| reference.text("title").filter(|title| !is_blank(title)))?;
    let by_bot = quoted.and_then(|quoted| quoted.integer("type")) == Some(BOT_MESSAGE_ITEM);
    Some(Quote { text: cut(words), author: by_bot.then_some(QuoteAuthor::Bot) })
}

/// The text, or the transcript of speech, in an item.
fn words(quoted: &Fields<'_>, holder: &str) -> Option<String> {
    quoted.object(holder)?.text("text").filter(|text| !is_blank(text))
}

fn cut(mut words: String) -> String {
    if words.len() > QUOTE_BYTES {
        let end = (0..=QUOTE_BYTES).rev().find(|end| words.is_char_boundary(*end));
        words.truncate(end.unwrap_or(0));
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quote(item: &str) -> Option<Quote> {
        read_quote(&Fields::parse(item).expect("an object"))
    }

    #[test]
    fn all_four_shapes() {
        let text = quote(
            r#"{"ref_msg":{"title":"","message_item":{"type":1,"text_item":{"text":"earlier"}}}}"#,
        );
        assert_eq!(text, Some(Quote { text: "earlier".into(), author: None }));
        let of_bot = quote(r#"{"ref_msg":{"title":"a title","message_item":{"type":8}}}"#);
        assert_eq!(of_bot, Some(Quote { text: "a title".into(), author: Some(QuoteAuthor::Bot) }));
        let spoken =
            quote(r#"{"ref_msg":{"message_item":{"type":3,"voice_item":{"text":"said"}}}}"#);
        assert_eq!(spoken, Some(Quote { text: "said".into(), author: None }));
        for wordless in [
            r#"{"ref_msg":{"message_item":{"type":8}}}"#,
            r#"{"ref_msg":{"message_item":{"type":0,"msg_id":"7492913259736647000"}}}"#,
            r#"{"ref_msg":{"svr_id":7492913259736647000}}"#,
            r#"{"ref_msg":{"message_item":{}}}"#,
            r#"{"ref_msg":null}"#,
            r#"{"ref_msg":"x"}"#,
            "{}",
        ] {
            assert_eq!(quote(wordless), None, "{wordless}");
        }
    }

    #[test]
    fn a_long_quote_is_cut_between_characters() {
        let words = "好".repeat(QUOTE_BYTES);
        let item = format!(r#"{{"ref_msg":{{"title":"{words}"}}}}"#);
        let cut = quote(&item).expect("a quote").text;
        assert!(cut.len() <= QUOTE_BYTES + '…'.len_utf8());
        assert!(cut.ends_with("好…"));
    }
}
