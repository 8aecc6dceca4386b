//! What a plugin logs: sanitized, bounded, under its name in the host's log.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use serde::Deserialize;
use serde_json::{Map, Value};
use tracing::{debug, enabled, error, info, trace, warn};

use crate::{
    limits::{MAX_LOG_LINE_CHARS_COUNT, UUID_CHARS_COUNT},
    rate::RateLimit,
    sanitize,
};

/// The log of one plugin.
pub(super) struct Log {
    plugin: String,
    rate: Mutex<RateLimit>,
}

/// A line as the plugin wrote it.
#[derive(Deserialize)]
struct Record {
    text: String,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    login_id: Option<String>,
    #[serde(default)]
    fields: Map<String, Value>,
}

/// The most talkative level that is kept: 0 none, 1 error … 5 trace.
pub(crate) fn level() -> u8 {
    let kept = (1..=5).rev().find(|level| is_enabled(*level));
    kept.unwrap_or(0)
}

fn is_enabled(level: u8) -> bool {
    match level {
        0 | 1 => enabled!(tracing::Level::ERROR),
        2 => enabled!(tracing::Level::WARN),
        3 => enabled!(tracing::Level::INFO),
        4 => enabled!(tracing::Level::DEBUG),
        _ => enabled!(tracing::Level::TRACE),
    }
}

impl Log {
    pub(super) fn new(plugin: &str) -> Self {
        Self { plugin: plugin.to_owned(), rate: Mutex::new(RateLimit::new(Instant::now())) }
    }

    /// Whether a line of this level would be kept: 1 error … 5 trace.
    pub(super) fn enabled(&self, level: u8) -> bool {
        is_enabled(level)
    }

    pub(super) fn line(&self, level: u8, target: &str, record: &str) {
        if !self.enabled(level) {
            return;
        }
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = rate.pass(Instant::now());
        drop(rate);
        let Some(dropped) = passed else { return };
        let plugin = &self.plugin;
        if dropped > 0 {
            warn!(%plugin, "{dropped} lines of its log were dropped");
        }
        let text = text(target, record);
        match level {
            0 | 1 => error!(%plugin, "{text}"),
            2 => warn!(%plugin, "{text}"),
            3 => info!(%plugin, "{text}"),
            4 => debug!(%plugin, "{text}"),
            _ => trace!(%plugin, "{text}"),
        }
    }
}

/// `target: text session=… key=value …`, one line.
fn text(target: &str, record: &str) -> String {
    let record: Record = serde_json::from_str(record).unwrap_or_else(|_| Record {
        text: record.to_owned(),
        session_id: None,
        login_id: None,
        fields: Map::new(),
    });
    let clean = |text: &str| sanitize::line(text, MAX_LOG_LINE_CHARS_COUNT);
    let mut words = vec![clean(&format!("{target}: {}", record.text))];
    for (name, id) in [("session", record.session_id), ("login", record.login_id)] {
        words.extend(id.map(|id| format!("{name}={}", shown_id(id))));
    }
    for (name, value) in record.fields {
        let value = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        words.push(clean(&format!("{name}={value}")));
    }
    words.join(" ").chars().take(MAX_LOG_LINE_CHARS_COUNT).collect()
}

/// The host's own ids are UUIDs, which are as long as a secret and are none. What else a plugin
/// puts in their place may be one.
fn shown_id(id: String) -> String {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, u8)| match is_dash(at) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    match id.len() == UUID_CHARS_COUNT && id.bytes().enumerate().all(fits) {
        true => id,
        false => sanitize::line(&id, UUID_CHARS_COUNT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_becomes_one_line() {
        let record = r#"{"text":"hello\nthere","session_id":"s1","fields":{"n":3,"who":"x"}}"#;
        assert_eq!(text("mod", record), "mod: hello there session=s1 n=3 who=x");
    }

    #[test]
    fn what_is_no_record_is_the_text() {
        assert_eq!(text("mod", "plain"), "mod: plain");
        assert_eq!(text("mod", "{}"), "mod: {}");
    }

    #[test]
    fn the_session_s_id_is_shown_and_a_secret_in_its_place_is_not() {
        let of = |id: &str| text("mod", &format!(r#"{{"text":"x","session_id":"{id}"}}"#));
        let id = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
        assert_eq!(of(id), format!("mod: x session={id}"));
        for secret in ["7c9e6679742540de944be07fc1f90ae7", "7c9e6679-7425-40de-944b-e07fc1f90ae7a"]
        {
            assert_eq!(of(secret), "mod: x session=[masked]");
        }
    }

    #[test]
    fn secrets_in_fields_are_masked() {
        let record = r#"{"text":"x","fields":{"token":"abcdefghij0123456789abcdefghij0123"}}"#;
        assert_eq!(text("mod", record), "mod: x token=[masked]");
    }
}
