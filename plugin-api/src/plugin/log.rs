//! What a plugin logs goes to its host: `tracing` events, and where panics happened.
//!
//! A plugin has its own copy of `tracing` and of the panic machinery, so both are set here,
//! once, before the author's `create`. Spans are not forwarded; the session or sign-in that a
//! line belongs to is added to it where the line comes from an operation's own task.

use std::{
    cell::Cell,
    fmt::{self, Write},
    panic,
    sync::{Once, PoisonError, RwLock},
};

use serde_json::{Map, Value, json};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::Interest,
};

use super::host::Host;

/// Which host gets the lines: the one of the latest `create`.
static HOST: RwLock<Option<Host>> = RwLock::new(None);
static INSTALL: Once = Once::new();

thread_local! {
    /// A host in the same process may log while it takes a line; that must not come back here.
    static LOGGING: Cell<bool> = const { Cell::new(false) };
}

tokio::task_local! {
    /// What the current task's lines are marked with.
    pub(super) static SCOPE: Scope;
}

/// Marks log lines with the session or the sign-in that they belong to.
#[derive(Clone, Default)]
pub(super) enum Scope {
    #[default]
    Plugin,
    Session(String),
    Login(String),
}

/// Sends everything to this host from now on. Later calls only change the host.
pub(super) fn install(host: Host) {
    *HOST.write().unwrap_or_else(PoisonError::into_inner) = Some(host);
    INSTALL.call_once(|| {
        // Taken already only where a test links the plugin into its own binary.
        let _ = tracing::subscriber::set_global_default(Forward);
        panic::set_hook(Box::new(|info| {
            let place = info.location().map_or_else(String::new, ToString::to_string);
            log(1, "panic", &json!({ "text": format!("the plugin panicked at {place}") }));
        }));
    });
}

fn host() -> Option<Host> {
    HOST.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn log(level: u8, target: &str, record: &Value) {
    if LOGGING.replace(true) {
        return;
    }
    if let Some(host) = host() {
        host.log(level, target, &record.to_string());
    }
    LOGGING.set(false);
}

struct Forward;

impl Subscriber for Forward {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // The host's level may change while the plugin runs.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && !LOGGING.get()
            && host().is_some_and(|host| host.log_enabled(level(metadata)))
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        log(level(event.metadata()), event.metadata().target(), &fields.into_record());
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

fn level(metadata: &Metadata<'_>) -> u8 {
    match *metadata.level() {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

#[derive(Default)]
struct Fields {
    text: String,
    fields: Map<String, Value>,
}

impl Fields {
    fn into_record(self) -> Value {
        let mut record = json!({ "text": self.text });
        if !self.fields.is_empty() {
            record["fields"] = Value::Object(self.fields);
        }
        match SCOPE.try_with(Clone::clone).unwrap_or_default() {
            Scope::Plugin => {}
            Scope::Session(id) => record["session_id"] = id.into(),
            Scope::Login(id) => record["login_id"] = id.into(),
        }
        record
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.text, "{value:?}");
        } else {
            self.fields.insert(field.name().into(), format!("{value:?}").into());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.text.push_str(value);
        } else {
            self.fields.insert(field.name().into(), value.into());
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.insert(field.name().into(), value.into());
    }
}
