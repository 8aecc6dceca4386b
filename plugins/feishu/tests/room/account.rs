//! A signed-in account on a simulated platform.

use std::{fs, time::Duration};

use scv_channel_feishu::{Feishu as Plugin, FeishuSession};
use scv_plugin_api::{
    Channel, Result, Session, Stop,
    wire::{
        Batch, ConnectRequest, CreateConfig, Inbound, InboundKind, NetworkConfig, Outgoing,
        Recipient, ReplyTo, Secret,
    },
};
use scv_simulators::{Feishu, feishu::OWNER};
use serde_json::{Value, json};

/// How long a test waits for what must happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A platform, and what leads a plugin there.
pub(crate) fn platform() -> Feishu {
    Feishu::start().expect("a platform")
}

/// How a plugin reaches the platform: the way it would take on a machine behind a proxy.
pub(crate) fn config(platform: &Feishu) -> CreateConfig {
    let authority = fs::read_to_string(platform.authority()).expect("the authority");
    let network = NetworkConfig {
        https_proxy: Some(Secret::new(platform.proxy())),
        extra_ca_pem: Some(authority),
        ..NetworkConfig::default()
    };
    CreateConfig { network, ..CreateConfig::default() }
}

/// The plugin as the host makes it.
pub(crate) fn plugin(platform: &Feishu) -> Plugin {
    Plugin::create(config(platform)).expect("the plugin")
}

/// The saved credentials of the platform's bot.
pub(crate) fn saved(platform: &Feishu) -> Value {
    serde_json::from_str(&platform.credentials().to_json()).expect("JSON")
}

/// A host that makes every batch durable at once.
pub(crate) struct Host {
    pub(crate) session: FeishuSession,
    pub(crate) stop: Stop,
    pub(crate) checkpoint: String,
    ack: Option<String>,
}

impl Host {
    /// Connects, and takes the first sign of life.
    pub(crate) async fn connect(platform: &Feishu, checkpoint: &str) -> Self {
        let mut host = Self::try_connect(platform, checkpoint).await.expect("a session");
        assert!(host.next().await.expect("the first batch").messages.is_empty());
        host
    }

    pub(crate) async fn try_connect(platform: &Feishu, checkpoint: &str) -> Result<Self> {
        let stop = Stop::new();
        let request = ConnectRequest {
            session_id: "s1".to_owned(),
            channel: "feishu".to_owned(),
            account: "default".to_owned(),
            credentials: Secret::new(saved(platform)),
            checkpoint: Some(checkpoint.to_owned()).filter(|text| !text.is_empty()),
        };
        let session = plugin(platform).connect(request, stop.clone()).await?;
        Ok(Self { session, stop, checkpoint: checkpoint.to_owned(), ack: None })
    }

    pub(crate) async fn next(&mut self) -> Result<Batch> {
        let batch = self.session.next_batch(self.ack.clone()).await?;
        self.ack = Some(batch.token.clone());
        if !batch.checkpoint.is_empty() {
            self.checkpoint.clone_from(&batch.checkpoint);
        }
        Ok(batch)
    }

    /// The next messages, ignored ones included, once there are this many.
    pub(crate) async fn messages(&mut self, count: usize) -> Vec<Inbound> {
        let reading = async {
            let mut messages = Vec::new();
            while messages.len() < count {
                messages.extend(self.next().await.expect("a batch").messages);
            }
            messages
        };
        tokio::time::timeout(LIMIT, reading).await.expect("messages in time")
    }

    /// The texts of the next messages, once there are this many of any kind.
    pub(crate) async fn texts(&mut self, count: usize) -> Vec<String> {
        let messages = self.messages(count).await.into_iter();
        let texts = messages.filter(|message| message.kind == InboundKind::Text);
        texts.filter_map(|message| message.text).collect()
    }

    /// Reads on while something else happens, and acknowledges what comes.
    pub(crate) async fn meanwhile<T>(&mut self, other: impl Future<Output = T>) -> T {
        let reading = async { while self.next().await.is_ok() {} };
        tokio::select! {
            () = reading => panic!("the session ended"),
            other = other => other,
        }
    }

    /// The checkpoint as JSON.
    pub(crate) fn stored(&self) -> Value {
        serde_json::from_str(&self.checkpoint).unwrap_or_default()
    }
}

/// A reply to a message of the owner.
pub(crate) fn reply(client_id: &str, message_id: &str, text: &str) -> Outgoing {
    Outgoing {
        client_id: client_id.to_owned(),
        text: text.to_owned(),
        reply: Some(ReplyTo { message_id: message_id.to_owned(), reply_token: None }),
        recipient: Recipient { user: OWNER.to_owned(), group: None },
    }
}

/// A script for the platform, in the words of the case files.
pub(crate) fn script(platform: &Feishu, script: Value) {
    let script = serde_json::from_value(script).expect("a script");
    platform.script(script).expect("a path");
}

/// A checkpoint that knows the owner's chat up to this time.
pub(crate) fn knows(chat: &str, group: bool, last_ms: u64) -> String {
    json!({"chats": {chat: {"group": group, "last_ms": last_ms}}}).to_string()
}
