//! The checks of a case by their names: `sent`, `sent_min`, `sent_max`, `prompts_re` and so on.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use anyhow::Result;
use regex::Regex;
use scv_e2e::feishu_scene::FeishuScene;
use scv_simulators::feishu::{Ack, Sent};
use serde_json::{Map, Value};

/// How a sign-in on the command line went.
pub(super) struct Login {
    pub(super) succeeded: bool,
    pub(super) text: String,
    pub(super) took: Duration,
}

/// All that a case is judged by.
pub(super) struct Seen {
    pub(super) prompts: Vec<String>,
    /// Requests to the model that offered tools.
    pub(super) with_tools: usize,
    pub(super) sent: Vec<Sent>,
    pub(super) acks: Vec<Ack>,
    pub(super) unacknowledged: usize,
    pub(super) conns: usize,
    pub(super) lists: usize,
    pub(super) tokens: usize,
    pub(super) pings: usize,
    pub(super) polls: Vec<Instant>,
    pub(super) violations: Vec<String>,
    pub(super) log: String,
    pub(super) login: Option<Login>,
}

/// A busy machine may take this many times as long as a case says.
const SLACK: f64 = 5.0;

/// Waits until every least number of a case is reached.
pub(super) async fn until_it_may_be_right(
    expect: &Map<String, Value>,
    scene: &FeishuScene,
    limit: Duration,
) -> Result<()> {
    for (name, value) in expect {
        let count = value.as_u64().unwrap_or(0) as usize;
        let texts = value.as_array().map_or(0, Vec::len);
        match name.as_str() {
            "prompts" | "prompts_re" => scene.model.wait_requests(texts, limit).await?,
            "prompts_min" => scene.model.wait_requests(count, limit).await?,
            "sent" | "sent_min" => scene.feishu.wait_shown(count, limit).await?,
            "sent_re" => scene.feishu.wait_shown(texts, limit).await?,
            "calls" | "calls_min" => scene.feishu.wait_calls(count, limit).await?,
            "acks" | "acks_min" => drop(scene.feishu.wait_acks(count, limit).await?),
            "ack" => drop(scene.feishu.wait_acks(1, limit).await?),
            "conns" | "conns_min" => scene.feishu.wait_conns(count, limit).await?,
            _ => {}
        }
    }
    Ok(())
}

/// Everything that is not as the case says.
pub(super) fn problems(expect: &Map<String, Value>, seen: &Seen) -> Vec<String> {
    let mut problems: Vec<String> = seen.violations.clone();
    for (name, value) in expect {
        match check(name, value, seen) {
            Some(true) => {}
            Some(false) => problems.push(format!("{name} is not {value}; {}", seen.about(name))),
            None => problems.push(format!("there is no check {name} = {value}")),
        }
    }
    problems
}

/// Whether it is as it should be; none for a check that is not known.
fn check(name: &str, value: &Value, seen: &Seen) -> Option<bool> {
    if let Some(right) = by_name(name, value, seen) {
        return Some(right);
    }
    if let Some(texts) = name.strip_suffix("_re").and_then(|name| seen.texts(name)) {
        return matches(&texts, value);
    }
    if let Some(base) = name.strip_suffix("_max") {
        return Some(seen.number(base)? <= value.as_f64()?);
    }
    if let Some(base) = name.strip_suffix("_min") {
        return Some(seen.number(base)? >= value.as_f64()?);
    }
    if let (Some(texts), Some(wanted)) = (seen.texts(name), value.as_array()) {
        return Some(sorted(&texts) == sorted(wanted.iter().filter_map(Value::as_str)));
    }
    let (number, wanted) = (seen.number(name)?, value.as_f64()?);
    // Each of these is waited for, and may be passed by then.
    Some(if name == "conns" { number >= wanted } else { (number - wanted).abs() < f64::EPSILON })
}

fn by_name(name: &str, value: &Value, seen: &Seen) -> Option<bool> {
    let shown = || seen.sent.iter().filter(|sent| sent.shown);
    let text = value.as_str();
    Some(match name {
        "ack" => {
            let right = |ack: &Ack| ack.code == value.as_i64();
            !seen.acks.is_empty() && seen.acks.iter().all(right) && seen.unacknowledged == 0
        }
        "same_uuid" => seen.has_one_uuid_for_each_message() == value.as_bool()?,
        "no_at" => shown().all(|sent| !sent.text.contains("<at")) == value.as_bool()?,
        "no_link_schemes" => shown().any(|sent| has_odd_link(&sent.text)) != value.as_bool()?,
        "owner" => (seen.with_tools > 0) == value.as_bool()?,
        "reply_to" => shown().all(|sent| sent.reply_to.as_deref() == text),
        "log_without" => !seen.log.contains(text?),
        "log_has" => seen.log.contains(text?),
        "login" => seen.login.as_ref()?.succeeded == (text? == "ok"),
        "out_has" => seen.login.as_ref()?.text.contains(text?),
        "out_has_not" => !seen.login.as_ref()?.text.contains(text?),
        "within" => {
            let took = seen.login.as_ref()?.took.as_secs_f64();
            took <= value.as_f64()? * SLACK
        }
        _ => return None,
    })
}

fn matches(texts: &[&str], patterns: &Value) -> Option<bool> {
    let patterns = patterns.as_array()?;
    let fits = |(text, pattern): (&&str, &Value)| {
        let pattern = pattern.as_str().and_then(|pattern| Regex::new(pattern).ok());
        pattern.is_some_and(|pattern| pattern.is_match(text))
    };
    Some(texts.len() == patterns.len() && texts.iter().zip(patterns).all(fits))
}

fn has_odd_link(text: &str) -> bool {
    let links = text.split("](").skip(1);
    links.map(str::trim_start).any(|target| {
        let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
        !scheme.is_empty()
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !["http", "https"].contains(&scheme.to_lowercase().as_str())
    })
}

fn sorted<'a>(texts: impl IntoIterator<Item = impl AsRef<str> + 'a>) -> Vec<String> {
    let mut texts: Vec<_> = texts.into_iter().map(|text| text.as_ref().to_owned()).collect();
    texts.sort();
    texts
}

impl Seen {
    fn number(&self, name: &str) -> Option<f64> {
        let gaps = self.polls.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
        Some(match name {
            "sent" => self.sent.iter().filter(|sent| sent.shown).count() as f64,
            "calls" => self.sent.len() as f64,
            "prompts" => self.prompts.len() as f64,
            "acks" => self.acks.len() as f64,
            "conns" => self.conns as f64,
            "pings" => self.pings as f64,
            "lists" => self.lists as f64,
            "tokens" => self.tokens as f64,
            "polls" => self.polls.len() as f64,
            "gap" => gaps.fold(0.0, f64::max),
            _ => return None,
        })
    }

    fn texts(&self, name: &str) -> Option<Vec<&str>> {
        let shown = self.sent.iter().filter(|sent| sent.shown);
        match name {
            "prompts" => Some(self.prompts.iter().map(String::as_str).collect()),
            "sent" | "texts" => Some(shown.map(|sent| sent.text.as_str()).collect()),
            _ => None,
        }
    }

    /// Every try of a message comes under the id of the first.
    fn has_one_uuid_for_each_message(&self) -> bool {
        let mut uuids: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for sent in &self.sent {
            uuids.entry((&sent.reply_to, &sent.text)).or_default().insert(&sent.uuid);
        }
        uuids.values().all(|uuids| uuids.len() == 1)
    }

    fn about(&self, name: &str) -> String {
        match (&self.login, name) {
            (Some(login), _) => format!("after {:?} it said: {}", login.took, login.text),
            (None, "log_without" | "log_has") => self.log.clone(),
            _ => format!(
                "prompts {:?}, {} conns, {} pings, {} lists, acks {:?} ({} missing), sends {:#?}",
                self.prompts,
                self.conns,
                self.pings,
                self.lists,
                self.acks,
                self.unacknowledged,
                self.sent,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// One question that was answered on the second try.
    fn answered() -> Seen {
        let sent = |accepted: bool| Sent {
            uuid: "u-1".to_owned(),
            reply_to: Some("om_1".to_owned()),
            chat: "oc_1".to_owned(),
            person: "ou_1".to_owned(),
            text: "see [log](https://example.test)".to_owned(),
            accepted,
            shown: accepted,
            code: 0,
        };
        let ack = Ack { id: "om_1".to_owned(), code: Some(200), after: Duration::ZERO };
        Seen {
            prompts: vec!["where?".to_owned()],
            with_tools: 0,
            sent: vec![sent(false), sent(true)],
            acks: vec![ack],
            unacknowledged: 0,
            conns: 1,
            lists: 0,
            tokens: 1,
            pings: 1,
            polls: Vec::new(),
            violations: Vec::new(),
            log: "refused with code 230028".to_owned(),
            login: None,
        }
    }

    #[test]
    fn every_check_can_fail() {
        let seen = answered();
        for (name, right, wrong) in [
            ("prompts", json!(["where?"]), json!(["where?", "where?"])),
            ("prompts_re", json!(["^where"]), json!(["there"])),
            ("prompts_max", json!(1), json!(0)),
            ("sent", json!(1), json!(2)),
            ("sent_min", json!(1), json!(2)),
            ("calls_max", json!(2), json!(1)),
            ("ack", json!(200), json!(500)),
            ("acks", json!(1), json!(2)),
            ("conns", json!(1), json!(2)),
            ("same_uuid", json!(true), json!(false)),
            ("no_at", json!(true), json!(false)),
            ("no_link_schemes", json!(true), json!(false)),
            ("owner", json!(false), json!(true)),
            ("reply_to", json!("om_1"), json!("om_2")),
            ("log_without", json!("sensitive"), json!("230028")),
        ] {
            let problems_with =
                |value: Value| problems(&Map::from_iter([(name.to_owned(), value)]), &seen);
            assert_eq!(problems_with(right), [""; 0], "{name}");
            assert_eq!(problems_with(wrong).len(), 1, "{name}");
        }
        let unknown = Map::from_iter([("moon".to_owned(), json!("full"))]);
        assert_eq!(problems(&unknown, &seen).len(), 1);
    }

    #[test]
    fn only_odd_schemes_are_odd_links() {
        assert!(has_odd_link("see [log](file:///tmp/a)") && has_odd_link("[x](vscode://file/y)"));
        assert!(!has_odd_link("[a](https://b) [c](/d) file:///tmp/a"));
    }
}
