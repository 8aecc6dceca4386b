//! The platform's own "no": a non-zero `ret` or `errcode`, usually inside a 200.

use crate::{
    fields::Fields,
    limits::{REFUSAL_CHARS_COUNT, WORD_BYTES},
};

/// The bot token is no longer good.
pub(crate) const SIGNED_OUT: i64 = -14;

/// What an answer refuses with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// `ret` or `errcode`, not 0.
    pub(crate) code: i64,
    /// `errmsg`, one short line in which nothing can be a token or an address; may be empty.
    pub(crate) words: String,
}

/// The refusal in an answer, if it is one.
pub(crate) fn refusal(answer: &Fields<'_>) -> Option<Refusal> {
    let codes = ["errcode", "ret"].map(|name| code(answer, name));
    let code = match codes {
        [SIGNED_OUT, _] | [_, SIGNED_OUT] => SIGNED_OUT,
        [0, ret] => ret,
        [errcode, _] => errcode,
    };
    let words = || safe_words(&answer.text("errmsg").unwrap_or_default());
    (code != 0).then(|| Refusal { code, words: words() })
}

/// A number, also one that is written as text; 0 when there is none.
fn code(answer: &Fields<'_>, name: &str) -> i64 {
    let written = || answer.text(name)?.trim().parse().ok();
    answer.integer(name).or_else(written).unwrap_or(0)
}

fn safe_words(text: &str) -> String {
    let long = |word: &str| word.is_ascii() && word.len() > WORD_BYTES;
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .map(|word| if long(word) || word.contains("://") { "…" } else { word })
        .collect();
    words.join(" ").chars().take(REFUSAL_CHARS_COUNT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Refusal> {
        refusal(&Fields::parse(json).expect("an object"))
    }

    #[test]
    fn either_code_counts_and_signed_out_comes_first() {
        for (json, code) in [
            (r#"{"ret":-2}"#, Some(-2)),
            (r#"{"errcode":-1,"ret":-2}"#, Some(-1)),
            (r#"{"ret":0,"errcode":-14}"#, Some(-14)),
            (r#"{"ret":-14,"errcode":-2}"#, Some(-14)),
            (r#"{"ret":"-2"}"#, Some(-2)),
            (r#"{"ret":0}"#, None),
            (r#"{"ret":"0"}"#, None),
            (r#"{"ret":null,"errcode":"x"}"#, None),
            ("{}", None),
        ] {
            assert_eq!(read(json).map(|refusal| refusal.code), code, "{json}");
        }
    }

    #[test]
    fn the_words_are_short_and_tell_no_secret() {
        let token = "0123456789abcdef".repeat(4);
        let text = format!("bad {token} at https://a.example/?k=v\\n\\u0007 沟通失败");
        let refusal = read(&format!(r#"{{"ret":-2,"errmsg":"{text}"}}"#)).expect("a refusal");
        assert_eq!(refusal.words, "bad … at … 沟通失败");
        let long = read(&format!(r#"{{"ret":-2,"errmsg":"{}"}}"#, "w ".repeat(500)));
        assert_eq!(long.expect("a refusal").words.chars().count(), REFUSAL_CHARS_COUNT);
    }
}
