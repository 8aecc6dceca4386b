//! The Feishu platform on loopback, with its international edition Lark: strict about what a
//! client must send, and scriptable.
//!
//! It is a proxy. A client that is told of it by `HTTPS_PROXY`, and of its authority by
//! `SSL_CERT_FILE` ([`Feishu::environment`]), reaches it under the real names of the platform's
//! hosts and needs no door for tests. Without a script it behaves like the platform: events are
//! pushed to the newest connection and come again until they are acknowledged, sends are answered,
//! a sign-in waits for the person. What a script says comes first.

mod certificate;
mod door;
mod endpoint;
mod events;
mod frame;
mod history;
mod ids;
mod outbox;
mod people;
mod registration;
mod script;
mod seen;
mod socket;
mod state;
mod tokens;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::NamedTempFile;

pub use frame::Frame;
pub use registration::RegistrationKnobs;
pub use script::{
    APP, Ack, Again, BOT, BOT_NAME, Brand, Credentials, Drop, GROUP, OWNER, Offline, P2P, SECRET,
    STRANGER, Script, Sent, p2p_of,
};

use crate::server::Server;
use crate::watched::Watched;
use state::{Out, State};

/// A running platform with one app, whose owner is [`OWNER`].
pub struct Feishu {
    server: Server,
    authority: NamedTempFile,
    shared: Arc<Watched<State>>,
}

impl Feishu {
    /// Listens on a free loopback port.
    ///
    /// # Errors
    /// When there is no port, no thread or no temporary file.
    pub fn start() -> anyhow::Result<Self> {
        let (pem, tls) = certificate::issue()?;
        let mut authority = tempfile::Builder::new().suffix(".pem").tempfile()?;
        authority.write_all(pem.as_bytes())?;
        let shared = Arc::new(Watched::new(State::new()?));
        let serving = shared.clone();
        let converse = move |stream| door::converse(stream, serving.clone(), tls.clone());
        Ok(Self { server: Server::listen(converse)?, authority, shared })
    }

    /// `http://127.0.0.1:PORT`, the proxy through which its hosts are reached.
    pub fn proxy(&self) -> String {
        self.server.origin()
    }

    /// The authority that its certificate is trusted by, in PEM.
    pub fn authority(&self) -> &Path {
        self.authority.path()
    }

    /// What a client needs in its environment to be taken here.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![
            ("HTTPS_PROXY".into(), self.proxy().into()),
            ("SSL_CERT_FILE".into(), self.authority().into()),
        ]
    }

    /// What a client owns after a sign-in; valid from the start, without one.
    pub fn credentials(&self) -> Credentials {
        self.shared.lock().credentials()
    }
}

/// What the platform does.
impl Feishu {
    /// The edition that the app belongs to.
    pub fn brand(&self, brand: Brand) {
        self.shared.change(|state| {
            state.brand = brand;
            state.registration.knobs.brand = brand;
        });
    }

    /// The next calls that fit get this answer.
    ///
    /// # Errors
    /// When its path is no regular expression.
    pub fn script(&self, script: Script) -> anyhow::Result<()> {
        self.shared.change(|state| state.scripts.push(script))
    }

    /// Replaces keys of `ClientConfig`, in discoveries and pongs from now on.
    pub fn config(&self, keys: &serde_json::Map<String, Value>) {
        self.shared.change(|state| {
            for (key, value) in keys {
                state.config[key] = value.clone();
            }
        });
    }

    /// How the registration behaves from now on.
    pub fn registration(&self, knobs: RegistrationKnobs) {
        self.shared.change(|state| state.registration.knobs = knobs);
    }

    /// Discoveries name this process by its address instead of the platform's websocket host, for
    /// clients that take no proxy there.
    pub fn direct_socket(&self) {
        self.socket_origin(self.server.origin().replace("http://127.0.0.1", "wss://localhost"));
    }

    /// Discoveries name this origin instead of the platform's websocket host.
    pub fn socket_origin(&self, origin: impl Into<String>) {
        let origin = origin.into();
        self.shared.change(|state| state.socket_origin = Some(origin));
    }

    /// In how many frames events travel from now on.
    pub fn split(&self, parts: usize) {
        self.shared.change(|state| state.events.parts = parts);
    }

    /// What happens to events while nobody is connected.
    pub fn offline(&self, offline: Offline) {
        self.shared.change(|state| state.events.offline = offline);
    }

    /// The newest connection ends without a close frame.
    pub fn cut(&self) {
        self.shared.change(|state| state.end(Out::Cut));
    }

    /// The newest connection is closed with this code.
    pub fn close(&self, code: u16) {
        self.shared.change(|state| state.end(Out::Close(code)));
    }

    /// Connections stay open and say nothing any more, until it is over.
    pub fn mute(&self, mute: bool) {
        self.shared.change(|state| state.mute = mute);
    }

    /// A text message on the newest connection; the platform never sends one. False when there
    /// is no connection.
    pub fn push_text_frame(&self, text: impl Into<String>) -> bool {
        self.shared.change(|state| state.say(Out::Text(text.into())))
    }

    /// A binary message with exactly these bytes on the newest connection. False when there is
    /// no connection.
    pub fn push_bytes(&self, bytes: Vec<u8>) -> bool {
        self.shared.change(|state| state.say(Out::Binary(bytes)))
    }

    /// The virtual clock goes on, and deliveries that are due by then are tried once more.
    pub fn advance(&self, time: Duration) {
        self.shared.change(|state| {
            state.ahead_ms += time.as_millis() as i64;
            state.retry();
        });
    }

    /// The virtual clock is set, back when this is negative, and nothing is tried once more.
    pub fn jump_clock(&self, by_ms: i64) {
        self.shared.change(|state| state.ahead_ms += by_ms);
    }

    /// An event that was pushed before comes once more, whatever was said about it: its message
    /// id names it. Returns the message id that it comes under, or none for an unknown event.
    pub fn redeliver(&self, id: &str, again: Again) -> Option<String> {
        self.shared.change(|state| {
            let payload = state.events.again(id, again, &mut state.ids)?;
            let id = events::id_of(&payload);
            state.push(payload);
            Some(id)
        })
    }

    /// No token that was handed out counts any more.
    pub fn void_tokens(&self) {
        self.shared.change(|state| state.tokens.void());
    }

    /// Every connection is refused or cut, until it is over. Open websockets stay.
    pub fn outage(&self, outage: bool) {
        self.shared.change(|state| state.outage = outage);
    }
}
