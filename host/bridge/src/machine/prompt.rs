//! What the agent reads of a message.

use scv_plugin_api::wire::{Inbound, Quote, QuoteAuthor};

/// The prompt: the quoted text and a transcript are marked as what they are.
pub(super) fn write(message: &Inbound) -> String {
    let text = message.text.as_deref().unwrap_or_default();
    let mut prompt = message.quote.as_ref().map(quoted).unwrap_or_default();
    if message.spoken {
        prompt.push_str("[Transcript of a voice message]\n");
    }
    prompt.push_str(text);
    prompt
}

fn quoted(quote: &Quote) -> String {
    let whose = match quote.author {
        Some(QuoteAuthor::Bot) => "your earlier message",
        Some(QuoteAuthor::User) => "my own earlier message",
        Some(QuoteAuthor::Other) | None => "an earlier message",
    };
    let lines: String = quote.text.lines().map(|line| format!("> {line}\n")).collect();
    format!("[Quote of {whose}]\n{lines}\n")
}

/// Whether there is anything to read in a text.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || shows_nothing(c))
}

/// Control and format characters, which show nothing by themselves (Unicode 16, categories Cc
/// and Cf, and fillers).
pub(super) const fn shows_nothing(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Inbound {
        Inbound { text: Some(text.into()), ..Inbound::default() }
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(write(&message(" as it is\n")), " as it is\n");
    }

    #[test]
    fn quote_and_transcript_are_marked() {
        let spoken = Inbound {
            spoken: true,
            quote: Some(Quote { text: "one\ntwo".into(), author: Some(QuoteAuthor::Bot) }),
            ..message("shorter please")
        };
        assert_eq!(
            write(&spoken),
            "[Quote of your earlier message]\n> one\n> two\n\n[Transcript of a voice message]\nshorter please"
        );
    }

    #[test]
    fn blank_is_what_shows_nothing() {
        assert!(is_blank("   \n\u{200b}\u{feff}\t"));
        assert!(is_blank(""));
        assert!(!is_blank(" . "));
        assert!(!is_blank("👍"));
    }
}
