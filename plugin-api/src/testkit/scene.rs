//! What a case plays in: a fresh platform and a fresh plugin.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::Value;

use super::{
    PlatformScript, Subject,
    plugin::{Plugin, Trouble},
    report::{Case, Ended, ensure},
    session::{Reading, Session},
};
use crate::wire::{
    ChannelManifest, ConnectRequest, Inbound, LoginRequest, Outgoing, Recipient, ReplyTo,
};

/// One platform and one plugin.
pub(super) struct Scene<S> {
    pub(super) subject: Subject,
    pub(super) script: Arc<S>,
    pub(super) plugin: Plugin,
    /// The first channel of the manifest, which is the one that is tested.
    pub(super) channel: ChannelManifest,
    ids: AtomicU32,
}

impl<S: PlatformScript> Scene<S> {
    pub(super) async fn set(subject: &Subject) -> Result<Self, Ended> {
        let manifest = subject.manifest().map_err(|fault| Ended::Failed(fault.message))?;
        let script = Arc::new(S::start().await);
        let plugin = Plugin::create(subject, script.config()).await?;
        // A manifest that was read has a channel.
        let channel = manifest.channels[0].clone();
        Ok(Self { subject: subject.clone(), script, plugin, channel, ids: AtomicU32::new(0) })
    }

    /// Ends the plugin, which must leave nothing behind.
    pub(super) async fn strike(&self) -> Case {
        let left = self.plugin.shutdown().await?.tasks_left;
        ensure!(left == 0, "{left} tasks were left after shutdown");
        Ok(())
    }

    pub(super) fn connect_request(
        &self,
        credentials: Value,
        checkpoint: Option<String>,
    ) -> ConnectRequest {
        ConnectRequest {
            session_id: self.id("session"),
            channel: self.channel.id.clone(),
            account: "default".into(),
            credentials: credentials.into(),
            checkpoint,
        }
    }

    pub(super) async fn connect(&self, checkpoint: Option<String>) -> Result<Session, Trouble> {
        let request = self.connect_request(self.script.credentials(), checkpoint);
        self.plugin.connect(&request).await
    }

    pub(super) fn login_request(&self) -> LoginRequest {
        LoginRequest {
            login_id: self.id("login"),
            channel: self.channel.id.clone(),
            called_as: self.channel.id.clone(),
            account: "default".into(),
            options: self.script.login_options(),
            saved: None,
        }
    }

    /// Puts the script's own person before the sign-ins of a plugin.
    pub(super) fn seat_the_person(&self, plugin: &Plugin) {
        let script = self.script.clone();
        plugin.watch.seat(Box::new(move |event| Some(script.person(event))));
    }

    /// One message comes and is read.
    pub(super) async fn received(&self, reading: &mut Reading<'_>) -> Result<Inbound, Ended> {
        self.script.inbound(&["a question".to_owned()]).await;
        let mut texts = reading.texts(1).await?;
        Ok(texts.remove(0))
    }

    /// An answer to it.
    pub(super) fn reply(&self, to: &Inbound, text: &str) -> Outgoing {
        let group = to.conversation.group.then(|| to.conversation.id.clone());
        Outgoing {
            client_id: self.id("client"),
            text: text.into(),
            reply: Some(ReplyTo { message_id: to.id.clone(), reply_token: to.reply_token.clone() }),
            recipient: Recipient { user: to.sender.clone(), group },
        }
    }

    fn id(&self, what: &str) -> String {
        format!("{what}-{}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

/// Texts that differ.
pub(super) fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("message {n}")).collect()
}

/// A login request's options and one that nobody declared.
pub(super) fn with_unknown_option(
    mut options: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    options.insert("no-such-option".into(), "x".into());
    options
}
