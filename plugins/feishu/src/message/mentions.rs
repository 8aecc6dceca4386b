//! Mentions: marks in the text, and who they stand for.

use serde_json::Value;

use crate::limits::NAME_BYTES;

/// The mark of everybody. It is no mention of the bot.
const ALL: &str = "@_all";
const USER: &str = "@_user_";

/// One entry of `mentions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    key: String,
    open_id: String,
    name: String,
}

impl Mention {
    /// Reads the entries; odd ones stand for nobody. The id is an object in events and a text in
    /// histories.
    pub(crate) fn list(mentions: &Value) -> Vec<Self> {
        mentions.as_array().into_iter().flatten().filter_map(Self::read).collect()
    }

    fn read(mention: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let by_open_id = matches!(mention["id_type"].as_str(), None | Some("open_id"));
        let id = &mention["id"];
        let open_id = text(&id["open_id"]).or_else(|| text(id).filter(|_| by_open_id));
        let name = mention["name"].as_str().unwrap_or_default();
        Some(Self {
            key: text(&mention["key"])?,
            open_id: open_id.unwrap_or_default(),
            name: name.chars().take(NAME_BYTES).collect(),
        })
    }
}

/// The mentions of one message, as its bot reads them.
#[derive(Clone, Copy)]
pub(super) struct Mentions<'a> {
    pub(super) list: &'a [Mention],
    /// The bot's own `open_id`.
    pub(super) bot: Option<&'a str>,
}

impl<'a> Mentions<'a> {
    /// Whether the bot is among them: known by its id, never by its name.
    pub(super) fn name_bot(&self) -> bool {
        self.list.iter().any(|mention| self.is_bot(&mention.open_id))
    }

    /// Whether this is the bot's id.
    pub(super) fn is_bot(&self, open_id: &str) -> bool {
        !open_id.is_empty() && self.bot == Some(open_id)
    }

    /// Whether this is the mark of the bot.
    pub(super) fn is_bots_mark(&self, key: &str) -> bool {
        self.list.iter().any(|mention| mention.key == key && self.is_bot(&mention.open_id))
    }

    /// The name behind a mark, if there is one.
    pub(super) fn name(&self, key: &str) -> Option<&'a str> {
        let mention = self.list.iter().find(|mention| mention.key == key)?;
        Some(mention.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Marks become names, and the bot's own goes, with the blanks after it. One pass over whole
    /// marks: `@_user_1` is no part of `@_user_10`, and names are not looked into.
    pub(super) fn write(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("@_") {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let key = &from[..mark_len(from)];
            rest = &from[key.len()..];
            if self.is_bots_mark(key) {
                rest = rest.trim_start_matches([' ', '\u{a0}']);
            } else {
                self.write_name(key, &mut out);
            }
        }
        out.push_str(rest);
        out
    }

    fn write_name(&self, key: &str, out: &mut String) {
        match self.name(key) {
            Some(name) => {
                out.push('@');
                out.push_str(name);
            }
            None if key == ALL => out.push_str("@all"),
            None => out.push_str(key),
        }
    }
}

/// How long the mark at the beginning of a text is; at least the `@_` that was found.
fn mark_len(text: &str) -> usize {
    if let Some(number) = text.strip_prefix(USER) {
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        return USER.len() + digits;
    }
    if text.starts_with(ALL) { ALL.len() } else { 2 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn people(count: usize) -> Vec<Mention> {
        let one = |n| json!({"key": format!("@_user_{n}"), "id": {"open_id": format!("ou_{n}")}, "name": format!("P{n}")});
        Mention::list(&(1..=count).map(one).collect())
    }

    fn write(list: &[Mention], bot: Option<&str>, text: &str) -> String {
        Mentions { list, bot }.write(text)
    }

    #[test]
    fn whole_marks_in_one_pass() {
        let list = people(12);
        assert_eq!(
            write(&list, None, "assign @_user_1 @_user_2 @_user_10 @_user_11 @_user_12"),
            "assign @P1 @P2 @P10 @P11 @P12"
        );
        let tricky = Mention::list(&json!([
            {"key": "@_user_1", "id": {}, "name": "@_user_2"},
            {"key": "@_user_2", "name": "Bob"},
        ]));
        assert_eq!(write(&tricky, None, "@_user_1 @_user_2"), "@@_user_2 @Bob");
    }

    #[test]
    fn the_bots_own_mark_goes_and_nobody_elses() {
        let list = people(2);
        assert_eq!(write(&list, Some("ou_1"), "@_user_1 /help me"), "/help me");
        assert_eq!(write(&list, Some("ou_2"), "@_user_1 @_user_2 deploy"), "@P1 deploy");
        assert_eq!(write(&list, Some("ou_1"), "do\n@_user_1\nthis"), "do\n\nthis");
        assert_eq!(write(&list, Some("P1"), "@_user_1"), "@P1");
    }

    #[test]
    fn everybody_is_not_the_bot() {
        let entry = Mention::list(&json!([{"key": "@_all", "id": {"open_id": ""}, "name": "all"}]));
        for list in [vec![], entry] {
            let mentions = Mentions { list: &list, bot: Some("ou_bot") };
            assert!(!mentions.name_bot());
            assert_eq!(mentions.write("@_all meeting"), "@all meeting");
        }
        let nobody = Mentions { list: &people(1), bot: None };
        assert!(!nobody.name_bot());
    }

    #[test]
    fn ids_come_in_two_forms_and_other_kinds_are_nobody() {
        for (entry, is_bot) in [
            (json!({"key": "@_user_1", "id": {"open_id": "ou_bot"}}), true),
            (json!({"key": "@_user_1", "id": "ou_bot", "id_type": "open_id"}), true),
            (json!({"key": "@_user_1", "id": "ou_bot"}), true),
            (json!({"key": "@_user_1", "id": "ou_bot", "id_type": "user_id"}), false),
            (json!({"key": "@_user_1", "name": "ou_bot"}), false),
            (json!({"id": "ou_bot"}), false),
            (json!("ou_bot"), false),
        ] {
            let list = Mention::list(&json!([entry]));
            let mentions = Mentions { list: &list, bot: Some("ou_bot") };
            assert_eq!(mentions.name_bot(), is_bot, "{entry}");
        }
    }

    #[test]
    fn what_stands_for_nobody_stays() {
        let list = people(1);
        for text in ["@_", "@_user_", "@_user_7", "@_userx", "a@_b", "@_x @_"] {
            assert_eq!(write(&list, None, text), text);
        }
        assert_eq!(write(&list, None, "@_user_1帮我"), "@P1帮我");
    }

    proptest! {
        #[test]
        fn any_text_is_written(text in "[@_user1-9 a好]{0,60}") {
            let list = people(9);
            write(&list, Some("ou_1"), &text);
            prop_assert_eq!(write(&[], Some("ou_1"), &text), text);
        }
    }
}
