//! Rich text as plain text: one paragraph a line, as a person would copy it.

use std::fmt::Write;

use serde_json::Value;

use super::mentions::Mentions;

/// Where sending nests a post; receiving does not, except that it sometimes does.
const LOCALES: [&str; 4] = ["zh_cn", "en_us", "ja_jp", "zh_hk"];

/// What a post says.
pub(super) struct Post {
    pub(super) text: String,
    /// Whether an element names the bot by its id.
    pub(super) mentions_bot: bool,
}

/// Reads a post in any of its forms: flat, by locale, with one level of content, or with its
/// content repeated as `content_v2`, which counts only when the first says nothing.
pub(super) fn read(content: &Value, mentions: Mentions<'_>) -> Option<Post> {
    let is_body = |body: &&Value| !body["content"].is_null() || !body["content_v2"].is_null();
    let locales = LOCALES.iter().map(|locale| &content[*locale]);
    let body = std::iter::once(content).chain(locales).find(is_body)?;
    let mut text = rows(&body["content"], mentions);
    if text.trim().is_empty() {
        text = rows(&body["content_v2"], mentions);
    }
    if let Some(title) = body["title"].as_str().filter(|title| !title.trim().is_empty()) {
        let rest = text;
        text = mentions.write(title);
        if !rest.is_empty() {
            text.push('\n');
            text.push_str(&rest);
        }
    }
    let named = |content: &Value| elements(content).any(|element| names_bot(element, mentions));
    let mentions_bot = named(&body["content"]) || named(&body["content_v2"]);
    Some(Post { text: text.trim_matches('\n').to_owned(), mentions_bot })
}

fn rows(content: &Value, mentions: Mentions<'_>) -> String {
    let Some(content) = content.as_array() else { return String::new() };
    // One level: all elements are one paragraph.
    if content.iter().any(Value::is_object) {
        return row(content.iter().filter(|one| one.is_object()), mentions);
    }
    let lines: Vec<String> = content
        .iter()
        .filter_map(Value::as_array)
        .map(|elements| row(elements.iter(), mentions))
        .collect();
    lines.join("\n")
}

fn row<'a>(elements: impl Iterator<Item = &'a Value>, mentions: Mentions<'_>) -> String {
    let mut line = String::new();
    for element in elements {
        write_element(element, mentions, &mut line);
    }
    line
}

fn write_element(element: &Value, mentions: Mentions<'_>, line: &mut String) {
    let text = element["text"].as_str().unwrap_or_default();
    match element["tag"].as_str().unwrap_or_default() {
        "a" => write_link(text, element["href"].as_str().unwrap_or_default(), line),
        "at" => write_at(element, mentions, line),
        "code_block" => {
            let language = element["language"].as_str().unwrap_or_default().to_lowercase();
            begin_line(line);
            let _ = write!(line, "```{language}\n{}\n```", text.trim_end_matches('\n'));
        }
        "emotion" => {
            let name = element["emoji_type"].as_str().unwrap_or_default();
            let _ = write!(line, "[{name}]");
        }
        "hr" => {
            begin_line(line);
            line.push_str("---");
        }
        // Pictures and videos say nothing here.
        "img" | "media" => {}
        // `text`, `md`, `markdown`, and what is to come.
        _ => line.push_str(&mentions.write(text)),
    }
}

fn begin_line(line: &mut String) {
    if !line.is_empty() && !line.ends_with('\n') {
        line.push('\n');
    }
}

fn write_link(text: &str, href: &str, line: &mut String) {
    line.push_str(if text.is_empty() { href } else { text });
    if !text.is_empty() && !href.is_empty() && text != href {
        let _ = write!(line, " ({href})");
    }
}

/// The mark is in `user_id`, the name as a rule only in `mentions`.
fn write_at(element: &Value, mentions: Mentions<'_>, line: &mut String) {
    let key = element["user_id"].as_str().unwrap_or_default();
    if names_bot(element, mentions) {
        return;
    }
    let own = element["user_name"].as_str().filter(|name| !name.is_empty());
    match mentions.name(key).or(own) {
        Some(name) => {
            line.push('@');
            line.push_str(name);
        }
        None if matches!(key, "all" | "@_all") => line.push_str("@all"),
        None => line.push_str(key),
    }
}

fn names_bot(element: &Value, mentions: Mentions<'_>) -> bool {
    let key = element["user_id"].as_str().unwrap_or_default();
    element["tag"] == "at" && (mentions.is_bots_mark(key) || mentions.is_bot(key))
}

/// The elements of either level.
fn elements(content: &Value) -> impl Iterator<Item = &Value> {
    let outer = content.as_array().into_iter().flatten();
    outer.flat_map(|one| one.as_array().map_or(std::slice::from_ref(one), Vec::as_slice))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::message::Mention;

    fn people() -> Vec<Mention> {
        Mention::list(&json!([
            {"key": "@_user_1", "id": {"open_id": "ou_bot"}, "name": "Test Bot"},
            {"key": "@_user_2", "id": {"open_id": "ou_2"}, "name": "Bob"},
        ]))
    }

    fn post(content: &Value) -> Option<Post> {
        read(content, Mentions { list: &people(), bot: Some("ou_bot") })
    }

    fn text(content: &Value) -> String {
        post(content).expect("a post").text
    }

    #[test]
    fn every_form_is_read() {
        let rows = json!([[{"tag": "text", "text": "step one", "style": []}], [{"tag": "text", "text": "step two"}]]);
        for (content, want) in [
            (json!({"title": "Plan", "content": rows}), "Plan\nstep one\nstep two"),
            (json!({"title": null, "content": rows}), "step one\nstep two"),
            (json!({"zh_cn": {"title": "Plan", "content": rows}}), "Plan\nstep one\nstep two"),
            (
                json!({"content": [{"tag": "text", "text": "left "}, {"tag": "text", "text": "right"}]}),
                "left right",
            ),
            (
                json!({"content": rows, "content_v2": [[{"tag": "md", "text": "again"}]]}),
                "step one\nstep two",
            ),
            (json!({"content": [[]], "content_v2": [[{"tag": "md", "text": "**b**"}]]}), "**b**"),
            (json!({"title": "", "content": [[]], "content_v2": [[]], "files": [{}]}), ""),
            (json!({"title": "", "content": [[{"tag": "img", "image_key": "k"}]]}), ""),
            (json!({"title": "Only", "content": [[]]}), "Only"),
        ] {
            assert_eq!(text(&content), want, "{content}");
        }
        for odd in [json!({}), json!(null), json!([]), json!({"text": "x"})] {
            assert!(post(&odd).is_none(), "{odd}");
        }
        assert_eq!(text(&json!({"content": "x", "title": 7})), "");
    }

    #[test]
    fn code_links_and_the_rest() {
        let content = json!({"title": "", "content": [
            [{"tag": "text", "text": "why?"}],
            [{"tag": "code_block", "language": "RUST", "text": "fn main() {}\nfn x() {}\n"}],
            [{"tag": "text", "text": "see "}, {"tag": "a", "text": "the issue", "href": "https://example.test/1?a=b&c=d"}],
            [{"tag": "a", "text": "", "href": "https://a.test"}, {"tag": "emotion", "emoji_type": "SMILE"}],
            [{"tag": "hr"}],
            [{"tag": "novelty", "text": "new"}, 7, null, {"tag": 5}],
        ]});
        assert_eq!(
            text(&content),
            "why?\n```rust\nfn main() {}\nfn x() {}\n```\nsee the issue (https://example.test/1?a=b&c=d)\n\
             https://a.test[SMILE]\n---\nnew"
        );
    }

    #[test]
    fn mentions_in_posts() {
        let at = |key: &str, name: &str| json!({"tag": "at", "user_id": key, "user_name": name});
        let own = post(
            &json!({"content": [[at("@_user_1", "Test Bot"), {"tag": "text", "text": " fix it"}]]}),
        );
        let own = own.expect("a post");
        assert_eq!((own.text.as_str(), own.mentions_bot), (" fix it", true));
        let by_id = post(&json!({"content": [[at("ou_bot", "")]]})).expect("a post");
        assert!(by_id.mentions_bot);
        for (key, name, want) in [
            ("@_user_2", "", "@Bob"),
            ("@_user_9", "Eve", "@Eve"),
            ("@_user_9", "", "@_user_9"),
            ("all", "", "@all"),
            ("@_all", "", "@all"),
        ] {
            let other = post(&json!({"content": [[at(key, name)]]})).expect("a post");
            assert_eq!((other.text.as_str(), other.mentions_bot), (want, false));
        }
    }

    proptest! {
        #[test]
        fn any_json_is_read(json in r#"[\{\}\[\]",:a-z0-9 ]{0,80}"#) {
            if let Ok(content) = serde_json::from_str(&json) {
                let _ = post(&content);
                let _ = post(&json!({"content": content}));
            }
        }
    }
}
