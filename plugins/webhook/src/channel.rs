//! The plugin: what its accounts share, and how one is made.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use scv_plugin_api::{
    Channel, LoginUi, Result, Stop,
    wire::{
        ConnectRequest, CreateConfig, Fault, Identity, InspectRequest, LoginRequest, LoginResult,
        Secret,
    },
};
use tokio::net::TcpListener;

use crate::{
    credentials::{Callback, Credentials},
    nonces::Nonces,
    outbox::Outbox,
    routes::{Door, Endpoint},
    session::WebhookSession,
    signature::hex,
};

/// Where requests come to.
pub(crate) const LISTEN: &str = "listen";
/// Where replies go.
pub(crate) const CALLBACK: &str = "callback";
/// Who may be granted tools.
pub(crate) const OWNER: &str = "owner";

/// The webhook channel.
pub struct Webhook {
    /// By address: an account that connects again finds its replies and nonces.
    endpoints: Mutex<BTreeMap<SocketAddr, Arc<Endpoint>>>,
}

impl Channel for Webhook {
    type Session = WebhookSession;

    fn create(_: CreateConfig) -> Result<Self> {
        Ok(Self { endpoints: Mutex::default() })
    }

    fn inspect(&self, request: InspectRequest) -> Result<Identity> {
        Ok(Credentials::read(request.credentials.expose())?.identity())
    }

    async fn login(&self, request: LoginRequest, ui: LoginUi) -> Result<LoginResult> {
        let option = |name| request.options.get(name).filter(|value| !value.is_empty()).cloned();
        let listen = option(LISTEN).unwrap_or_else(|| "127.0.0.1:8787".to_owned());
        let listen: SocketAddr = listen
            .parse()
            .map_err(|_| Fault::config("--listen is no address; use 127.0.0.1:PORT"))?;
        let callback = option(CALLBACK).map(Callback::try_from).transpose();
        let callback = callback.map_err(Fault::config)?;
        let question = "A secret of 16 bytes or more, which the other program knows too:";
        let secret = ui.prompt_secret("secret", question).await?;
        let credentials = Credentials { listen, secret, callback, owner: option(OWNER) }.check()?;
        if credentials.owner.is_none() {
            let text = "No sender is the owner, so nobody can be granted tools; to name one, sign \
                        in again with --owner NAME.";
            ui.notice(text).await?;
        }
        let document = serde_json::to_value(credentials)
            .map_err(|_| Fault::other("the credentials cannot be written; this is a bug"))?;
        let summary = format!("messages are taken at http://{listen}/v1/messages");
        Ok(LoginResult::SignedIn { credentials: Secret::new(document), summary })
    }

    async fn connect(&self, request: ConnectRequest, stop: Stop) -> Result<WebhookSession> {
        let credentials = Credentials::read(request.credentials.expose())?;
        let listener = TcpListener::bind(credentials.listen).await.map_err(|e| not_bound(&e))?;
        let door = Arc::new(Door {
            secret: credentials.secret,
            inbox: Arc::default(),
            endpoint: self.endpoint(credentials.listen)?,
            stop,
        });
        tracing::info!(account = %request.account, listen = %credentials.listen, "listening");
        Ok(WebhookSession::new(listener, door, credentials.callback))
    }
}

impl Webhook {
    fn endpoint(&self, address: SocketAddr) -> Result<Arc<Endpoint>> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = endpoints.get(&address) {
            return Ok(known.clone());
        }
        let outbox = Outbox::new(random_hex()?);
        let endpoint = Arc::new(Endpoint { nonces: Nonces::default(), outbox });
        endpoints.insert(address, endpoint.clone());
        Ok(endpoint)
    }
}

fn not_bound(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            Fault::retry("another program listens at this address; end it or use another --listen")
        }
        io::ErrorKind::PermissionDenied => {
            Fault::config("this port needs rights; use one of 1024 or above")
        }
        kind => Fault::retry(format!("the address cannot be listened at ({kind}); check --listen")),
    }
}

/// 128 random bits.
pub(crate) fn random_hex() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Fault::retry("the system gives no random bytes"))?;
    Ok(hex(&bytes))
}
