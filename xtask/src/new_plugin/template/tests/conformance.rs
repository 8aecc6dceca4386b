//! The conformance kit over this plugin, with a platform of our own.
//!
//! `cargo test` runs it over the linked code; with `SCV_TEST_PLUGIN=…/libscv_channel_parrot.so`
//! it runs over that file.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use scv_channel_parrot::Parrot;
use scv_plugin_api::{
    testkit::PlatformScript,
    wire::{LoginEventBody, PromptAnswer},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

scv_plugin_api::conformance!(Parrot, FakePlatform);

const TOKEN: &str = "canary-token-51c0";

#[derive(Clone)]
struct FakePlatform {
    address: String,
    state: Arc<Mutex<State>>,
    news: Arc<Notify>,
}

#[derive(Default)]
struct State {
    /// What was not acknowledged.
    messages: VecDeque<(String, String)>,
    count: usize,
    shown: Vec<String>,
}

impl FakePlatform {
    fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Speaks to one client, until it hangs up or connections are cut.
    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        let first: Value = serde_json::from_str(&lines.next_line().await.ok()??).ok()?;
        if first["token"] != TOKEN {
            return write.write_all(b"{\"refused\":true}\n").await.ok();
        }
        write.write_all(b"{\"welcome\":true}\n").await.ok()?;
        // A client takes them one by one: the next one goes out after the ack.
        let mut given = false;
        loop {
            if let (false, Some((id, text))) = (given, self.state(|s| s.messages.front().cloned()))
            {
                let line = json!({ "id": id, "from": "ann", "text": text });
                write.write_all(format!("{line}\n").as_bytes()).await.ok()?;
                given = true;
            }
            tokio::select! {
                line = lines.next_line() => {
                    let line: Value = serde_json::from_str(&line.ok()??).ok()?;
                    if line["ack"].is_string() {
                        self.state(|state| state.messages.pop_front());
                        given = false;
                    } else if let Some(text) = line["text"].as_str() {
                        self.state(|state| state.shown.push(text.to_owned()));
                        self.news.notify_waiters();
                    }
                }
                () = self.news.notified() => {}
                // A notice between the look and the wait is not missed for long.
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
    }
}

impl PlatformScript for FakePlatform {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let platform = Self {
            address,
            state: Arc::default(),
            news: Arc::default(),
        };
        let serving = platform.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let platform = serving.clone();
                tokio::spawn(async move { platform.serve(stream).await });
            }
        });
        platform
    }

    fn credentials(&self) -> Value {
        json!({ "address": self.address, "token": TOKEN, "owner": "ann" })
    }

    fn secrets(&self) -> Vec<String> {
        vec![TOKEN.to_owned()]
    }

    fn bad_credentials(&self) -> Option<Value> {
        Some(json!({ "address": self.address, "token": "another", "owner": "ann" }))
    }

    async fn inbound(&self, texts: &[String]) -> Vec<String> {
        let ids = self.state(|state| {
            let mut ids = Vec::new();
            for text in texts {
                state.count += 1;
                ids.push(state.count.to_string());
                state
                    .messages
                    .push_back((state.count.to_string(), text.clone()));
            }
            ids
        });
        self.news.notify_waiters();
        ids
    }

    async fn shown(&self) -> Vec<String> {
        self.state(|state| state.shown.clone())
    }

    fn login_options(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("address".to_owned(), self.address.clone())])
    }

    fn person(&self, event: &LoginEventBody) -> PromptAnswer {
        let answer = match event {
            LoginEventBody::Prompt { secret: true, .. } => Some(TOKEN),
            LoginEventBody::Prompt { .. } => Some("ann"),
            _ => None,
        };
        PromptAnswer {
            answer: answer.map(|text| text.to_owned().into()),
            cancelled: false,
        }
    }
}
