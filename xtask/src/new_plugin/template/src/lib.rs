//! The Parrot channel of scv: signing in, reading and sending.
//!
//! The traits say what each operation must do; `docs/plugins.md` of scv explains it at length.

mod platform;

use std::time::Duration;

use platform::{FromPlatform, Link, ToPlatform};
use scv_plugin_api::{
    BatchToken, Channel, LoginUi, Result, Session, Stop, export_channel, manifest,
    wire::{
        Batch, ConnectRequest, Conversation, CreateConfig, Fault, Identity, Inbound, InboundKind,
        InspectRequest, LoginRequest, LoginResult, Outgoing, Secret, SendOutcome,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{sync::Mutex, time::timeout};

/// One read; the manifest's `max_wait_ms`.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The plugin: one value for all accounts. Clients and pools would live here.
pub struct Parrot;

export_channel!(Parrot, manifest!(include_str!("../manifest.json")));

/// The credentials document. The host keeps it, readable by nobody else, and gives it back.
#[derive(Serialize, Deserialize)]
struct Credentials {
    address: String,
    /// A `Secret` cannot be printed by accident.
    token: Secret,
    owner: String,
}

impl Credentials {
    fn read(document: &Value) -> Result<Self> {
        Self::deserialize(document).map_err(|_| {
            Fault::config("the credentials have another form; run `scv channels login parrot`")
        })
    }
}

impl Channel for Parrot {
    type Session = Account;

    fn create(_: CreateConfig) -> Result<Self> {
        Ok(Self)
    }

    fn inspect(&self, request: InspectRequest) -> Result<Identity> {
        let credentials = Credentials::read(request.credentials.expose())?;
        Ok(Identity {
            bot_id: Some(credentials.address.clone()),
            // Who may be granted tools, as messages name the sender.
            owner_id: Some(credentials.owner),
            // Equal for as long as it is the same bot: what was answered is bound to this.
            fingerprint: vec![
                Some("parrot".to_owned().into()),
                Some(credentials.address.into()),
            ],
            ..Identity::default()
        })
    }

    async fn login(&self, request: LoginRequest, ui: LoginUi) -> Result<LoginResult> {
        let address = request.options.get("address").cloned();
        let address = address.unwrap_or_else(|| "127.0.0.1:7777".to_owned());
        let owner = ui.prompt("owner", "Your name on the platform:").await?;
        let token = ui.prompt_secret("token", "Its token for this bot:").await?;
        let summary = format!("{owner} at {address}");
        let document = serde_json::to_value(Credentials {
            address,
            token,
            owner,
        })
        .map_err(|_| Fault::other("the credentials cannot be written"))?;
        Ok(LoginResult::SignedIn {
            credentials: document.into(),
            summary,
        })
    }

    async fn connect(&self, request: ConnectRequest, stop: Stop) -> Result<Account> {
        let credentials = Credentials::read(request.credentials.expose())?;
        let link = Link::open(&credentials.address).await?;
        link.write(&ToPlatform::Token {
            token: credentials.token.expose(),
        })
        .await?;
        tracing::info!(account = %request.account, "connected");
        Ok(Account {
            link,
            stop,
            state: Mutex::default(),
        })
    }
}

/// One account at work.
pub struct Account {
    link: Link,
    stop: Stop,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The message of the last batch, and so its token.
    unacked: Option<String>,
    batches: u64,
}

impl Session for Account {
    async fn next_batch(&self, ack: Option<BatchToken>) -> Result<Batch> {
        // The host never asks twice at one time.
        let mut state = self.state.lock().await;
        // It has the last batch on disk now, and not before: this may tell the platform.
        if let (Some(_), Some(id)) = (ack, state.unacked.take()) {
            self.link.write(&ToPlatform::Ack { ack: &id }).await?;
        }
        let line = tokio::select! {
            () = self.stop.fired() => return Err(Fault::cancelled("closed")),
            line = timeout(MAX_WAIT, self.link.read()) => line,
        };
        // A wait in which nothing was heard is no sign of life.
        let quiet = line.is_err();
        let message = match line.ok().transpose()? {
            Some(FromPlatform::Refused { .. }) => {
                return Err(Fault::auth("the platform does not know this token"));
            }
            Some(FromPlatform::Message(message)) => Some(message),
            Some(FromPlatform::Welcome { .. }) | None => None,
        };
        state.batches += 1;
        state.unacked = message.as_ref().map(|message| message.id.clone());
        Ok(Batch {
            token: state.batches.to_string(),
            // Where to go on. This platform remembers by itself what was acknowledged.
            checkpoint: String::new(),
            messages: message.into_iter().map(inbound).collect(),
            quiet,
        })
    }

    async fn send(&self, message: Outgoing) -> Result<SendOutcome> {
        let reply = ToPlatform::Reply {
            reply_to: message
                .reply
                .as_ref()
                .map(|reply| reply.message_id.as_str()),
            client_id: &message.client_id,
            to: &message.recipient.user,
            text: &message.text,
        };
        self.link.write(&reply).await?;
        // Written is not confirmed: with a confirmation there would be a receipt.
        Ok(SendOutcome::Accepted { receipt: None })
    }
}

fn inbound(message: platform::Message) -> Inbound {
    Inbound {
        id: message.id,
        kind: InboundKind::Text,
        conversation: Conversation {
            id: message.from.clone(),
            ..Conversation::default()
        },
        sender: message.from,
        text: Some(message.text),
        ..Inbound::default()
    }
}
