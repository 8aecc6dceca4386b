//! Text that goes out: what a model writes must not mention anybody, and the platform must take
//! it.

use sha2::{Digest, Sha256};

use crate::limits::UUID_BYTES;

/// Between characters that would mean something together; nobody sees it.
const BREAK: char = '\u{200b}';

/// Breaks mentions (`<at`), and links whose scheme is neither http nor https: the platform reads
/// `[text](url)` in plain text, too, and refuses the whole message for those.
pub(crate) fn neutralise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', ']']) {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let breaks = match out.ends_with('<') {
            true => is_mention(rest),
            false => rest.strip_prefix('(').is_some_and(has_other_scheme),
        };
        if breaks {
            out.push(BREAK);
        }
    }
    out.push_str(rest);
    out
}

/// The text with all that could mean something broken, for a platform that did not take it.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        out.push(c);
        if matches!(c, '<' | ']') {
            out.push(BREAK);
        }
    }
    out
}

fn is_mention(rest: &str) -> bool {
    rest.get(..2).is_some_and(|tag| tag.eq_ignore_ascii_case("at"))
}

/// Whether a link's target, after the bracket, begins with a scheme that is not http or https.
fn has_other_scheme(target: &str) -> bool {
    let target = target.trim_start_matches(|c: char| c.is_whitespace() || c == '<');
    let Some((scheme, _)) = target.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    is_scheme && !is_web
}

/// The platform's name for a message that is sent again: the client id where it fits, else made
/// from it. Another text under one client id has another name.
pub(crate) fn uuid(client_id: &str, variant: &str) -> String {
    let fits = |id: &str| !id.is_empty() && id.len() <= UUID_BYTES;
    if variant.is_empty() && fits(client_id) {
        return client_id.to_owned();
    }
    let digest = Sha256::digest(format!("{client_id}\0{variant}"));
    digest[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mentions_are_broken() {
        for (text, want) in [
            ("ok <at user_id=\"all\">all</at>", "ok <\u{200b}at user_id=\"all\">all</at>"),
            ("<AT user_id='ou_x'></at>", "<\u{200b}AT user_id='ou_x'></at>"),
            ("a < at, <b>, x<a", "a < at, <b>, x<a"),
            ("<<at", "<<\u{200b}at"),
            ("<好", "<好"),
        ] {
            assert_eq!(neutralise(text), want);
        }
    }

    #[test]
    fn links_that_are_no_web_links_are_broken() {
        for link in [
            "[log](file:///tmp/a.log)",
            "[main.rs](vscode://file/src/main.rs)",
            "[x]( mailto:a@b.c)",
            "[x](<javascript:alert(1)>)",
            "[x](C:/windows)",
        ] {
            let broken = link.replacen("](", "]\u{200b}(", 1);
            assert_eq!(neutralise(&format!("see {link}.")), format!("see {broken}."));
        }
        for kept in [
            "[x](https://a.test/b:c)",
            "[x](HTTP://a.test)",
            "[x](src/main.rs)",
            "[x](#a:b)",
            "a[0](b), c",
            "[x] (file:///y)",
            "file:///tmp/a.log",
        ] {
            assert_eq!(neutralise(kept), kept);
        }
    }

    #[test]
    fn plain_text_has_no_link_and_no_tag() {
        assert_eq!(plain("[a](b) <at x>"), "[a]\u{200b}(b) <\u{200b}at x>");
    }

    #[test]
    fn the_uuid_is_stable_short_and_of_one_text() {
        let id = "0b6a5f0e-7e0c-4d5e-9d4b-0a8a5c7f1e2d";
        assert_eq!(uuid(id, ""), id);
        assert_eq!(uuid(id, "plain"), uuid(id, "plain"));
        assert_ne!(uuid(id, "plain"), id);
        let long = "x".repeat(UUID_BYTES + 1);
        assert!(uuid(&long, "").len() <= UUID_BYTES);
        assert_ne!(uuid(&long, ""), uuid(&format!("{long}y"), ""));
        assert_eq!(uuid("", "").len(), 32);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_twice_is_once(text in "[<at\\]\\(file:/ 好]{0,60}") {
            let broken = neutralise(&text);
            prop_assert_eq!(broken.replace(BREAK, ""), text);
            prop_assert!(!broken.to_ascii_lowercase().contains("<at"));
            prop_assert_eq!(neutralise(&broken), broken);
        }
    }
}
