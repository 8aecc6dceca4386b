//! The last lines of the log, kept in memory for `scv logs`.

use std::{
    collections::VecDeque,
    fmt::{self, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use scv_protocol::{LogLine, LogPage};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use crate::limits::{
    LOG_LINE_BYTES, LOG_LINES_COUNT, LOG_PAGE_BYTES, LOG_PAGE_LINES_COUNT, LOG_RING_BYTES,
};

/// The last lines of this process's log. Clones are the same lines.
///
/// It is a layer for the subscriber of the process; a daemon that is given it serves the lines.
#[derive(Debug, Clone, Default)]
pub struct LogRing(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<LogLine>,
    /// Of all that were ever written.
    last: u64,
    bytes: usize,
}

impl LogRing {
    /// The lines after this number, the oldest first, of one plugin only where one is named.
    #[must_use]
    pub fn page(&self, after: u64, limit: Option<u32>, plugin: Option<&str>) -> LogPage {
        let lines = self.lines();
        let first = lines.last - lines.kept.len() as u64 + 1;
        let limit = limit.map_or(LOG_PAGE_LINES_COUNT, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX).min(LOG_PAGE_LINES_COUNT)
        });
        let wanted = |line: &&LogLine| {
            line.number > after && plugin.is_none_or(|name| line.plugin.as_deref() == Some(name))
        };
        let mut page = LogPage { missed: first.saturating_sub(after + 1), ..LogPage::default() };
        if after == 0 {
            // Nobody has missed what was before the first question.
            page.missed = 0;
        }
        let mut bytes = 0;
        page.next = lines.last;
        for line in lines.kept.iter().filter(wanted) {
            bytes += line.text.len();
            if page.lines.len() == limit || bytes > LOG_PAGE_BYTES {
                page.next = page.lines.last().map_or(after, |line| line.number);
                break;
            }
            page.lines.push(line.clone());
        }
        page
    }

    fn push(&self, line: LogLine) {
        let mut lines = self.lines();
        lines.last += 1;
        lines.bytes += line.text.len();
        let number = lines.last;
        lines.kept.push_back(LogLine { number, ..line });
        while lines.kept.len() > LOG_LINES_COUNT || lines.bytes > LOG_RING_BYTES {
            let Some(oldest) = lines.kept.pop_front() else { break };
            lines.bytes -= oldest.text.len();
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Layer<S> for LogRing {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut words = Words::default();
        event.record(&mut words);
        let Words { mut text, fields, plugin } = words;
        text.push_str(&fields);
        self.push(LogLine {
            number: 0,
            unix_ms: now_unix_ms(),
            level: event.metadata().level().as_str().to_ascii_lowercase(),
            target: event.metadata().target().to_owned(),
            plugin,
            text: cut(text),
        });
    }
}

/// An event as one line of text.
#[derive(Default)]
struct Words {
    text: String,
    fields: String,
    plugin: Option<String>,
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "plugin" {
            self.plugin = Some(value.to_owned());
        }
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.text, "{value:?}"),
            "plugin" => {
                self.plugin.get_or_insert_with(|| format!("{value:?}"));
                Ok(())
            }
            name => write!(self.fields, " {name}={value:?}"),
        };
        // A text takes whatever is written into it.
        let _ = written;
    }
}

/// One line, bounded, without what could steer a terminal.
fn cut(text: String) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let end = (0..=LOG_LINE_BYTES.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
    line.truncate(end.unwrap_or(0));
    line
}

fn now_unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tracing::{info, warn};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    fn ring_of(events: impl FnOnce()) -> LogRing {
        let ring = LogRing::default();
        let subscriber = tracing_subscriber::registry().with(ring.clone());
        tracing::subscriber::with_default(subscriber, events);
        ring
    }

    fn texts(page: &LogPage) -> Vec<&str> {
        page.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn an_event_is_a_line_with_its_level_and_its_plugin() {
        let name = "matrix".to_owned();
        let ring = ring_of(|| {
            info!(account = "a", count = 3, "hello\nthere");
            warn!(plugin = %name, "mod: from a plugin");
        });
        let page = ring.page(0, None, None);
        assert_eq!(texts(&page), ["hello there account=a count=3", "mod: from a plugin"]);
        assert_eq!((page.next, page.missed), (2, 0));
        assert_eq!((page.lines[0].level.as_str(), &page.lines[0].plugin), ("info", &None));
        let of_plugin = ring.page(0, None, Some("matrix"));
        assert_eq!((of_plugin.lines[0].number, of_plugin.next), (2, 2));
        assert_eq!(of_plugin.lines[0].level, "warn");
        assert!(ring.page(0, None, Some("other")).lines.is_empty());
    }

    #[test]
    fn a_reader_goes_on_where_it_was_and_learns_what_it_missed() {
        let ring = ring_of(|| (1..=LOG_LINES_COUNT + 10).for_each(|n| info!("line {n}")));
        let first = ring.page(3, Some(2), None);
        assert_eq!(texts(&first), ["line 11", "line 12"]);
        assert_eq!((first.missed, first.next), (7, 12));
        let second = ring.page(first.next, Some(2), None);
        assert_eq!((texts(&second), second.missed), (vec!["line 13", "line 14"], 0));
        let last = LOG_LINES_COUNT as u64 + 10;
        assert_eq!(ring.page(last, None, None), LogPage { next: last, ..LogPage::default() });
    }

    #[test]
    fn lines_and_their_sum_are_bounded() {
        let long = "é".repeat(LOG_LINE_BYTES);
        let ring = ring_of(|| (0..2_000).for_each(|_| info!("{long}")));
        assert!(ring.page(0, Some(1), None).lines[0].text.len() <= LOG_LINE_BYTES);
        assert!(ring.lines().bytes <= LOG_RING_BYTES);
        let page = ring.page(0, None, None);
        assert!(page.lines.iter().map(|line| line.text.len()).sum::<usize>() <= LOG_PAGE_BYTES);
        assert!(!page.lines.is_empty() && page.next < 2_000);
    }
}
