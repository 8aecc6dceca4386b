//! What plugins log arrives under their names, and says nothing that it must not.

use std::{
    io::{self, Write},
    sync::OnceLock,
    time::Duration,
};

use scv_plugin_host::PluginHost;
use serde_json::json;
use tokio::{sync::watch, time::timeout};
use tracing_subscriber::fmt::MakeWriter;

use crate::common::*;

/// Everything that any test of this process logs.
#[derive(Clone, Default)]
struct Captured(watch::Sender<String>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.send_modify(|captured| captured.push_str(&text));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn captured() -> &'static Captured {
    static CAPTURED: OnceLock<Captured> = OnceLock::new();
    CAPTURED.get_or_init(|| {
        let captured = Captured::default();
        tracing_subscriber::fmt().with_ansi(false).with_writer(captured.clone()).init();
        captured
    })
}

/// Waits for the words and gives the line that holds them.
async fn line_with(words: &str) -> String {
    let mut log = captured().0.subscribe();
    let seen = timeout(Duration::from_secs(10), log.wait_for(|log| log.contains(words))).await;
    assert!(seen.is_ok(), "{words:?} is not in\n{}", *captured().0.borrow());
    let log = captured().0.borrow();
    let line = log.lines().find(|line| line.contains(words));
    line.expect("it was seen").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_arrive_under_the_plugins_name_and_its_session() {
    captured();
    let room = Room::with_fixture();
    let (_host, channel) = loaded(room.options()).await;
    let _session = connected(&channel, json!({})).await;
    line_with("scv_channel_fixture: connected session=session-1 account=default").await;
    let line = line_with("scv_channel_fixture: creating").await;
    assert!(line.contains("plugin=fixture") && line.contains(" INFO "), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_leaves_its_place_and_not_its_words() {
    captured();
    let room = Room::with_fixture();
    let host = PluginHost::new(room.options_with("create:panic", short_deadlines()));
    host.load_all().await;
    line_with("panic: the plugin panicked at host/plugins/fixture/src/fault.rs:").await;
    assert!(!captured().0.borrow().contains(CANARY));
}
