//! What the author of an scv channel plugin uses, and what the host uses to talk to one.
//!
//! A plugin is a `cdylib` that implements [`Channel`] for one type and names it in
//! [`export_channel!`]. Everything that crosses the boundary is a document of [`wire`],
//! as bytes; the types here are the two typed ends of it.
//!
//! A whole plugin that repeats what it is told:
//!
//! ```
//! use scv_plugin_api::{wire::*, *};
//!
//! struct Echo;
//! struct EchoSession(Stop);
//!
//! impl Channel for Echo {
//!     type Session = EchoSession;
//!
//!     fn create(_: CreateConfig) -> Result<Self> {
//!         Ok(Self)
//!     }
//!
//!     fn inspect(&self, _: InspectRequest) -> Result<Identity> {
//!         Ok(Identity::default())
//!     }
//!
//!     async fn login(&self, _: LoginRequest, ui: LoginUi) -> Result<LoginResult> {
//!         let name = ui.prompt("name", "Who are you?").await?;
//!         let credentials = serde_json::json!({ "name": name }).into();
//!         Ok(LoginResult::SignedIn { credentials, summary: "hello".into() })
//!     }
//!
//!     async fn connect(&self, _: ConnectRequest, stop: Stop) -> Result<EchoSession> {
//!         Ok(EchoSession(stop))
//!     }
//! }
//!
//! impl Session for EchoSession {
//!     async fn next_batch(&self, _ack: Option<BatchToken>) -> Result<Batch> {
//!         self.0.fired().await; // nobody ever writes here
//!         Err(Fault::cancelled("closed"))
//!     }
//!
//!     async fn send(&self, message: Outgoing) -> Result<SendOutcome> {
//!         tracing::info!(bytes = message.text.len(), "sent");
//!         Ok(SendOutcome::Accepted { receipt: Some(message.client_id) })
//!     }
//! }
//!
//! const MANIFEST: &str = manifest!(r#"{
//!     "name": "echo",
//!     "channels": [{"id": "echo", "title": "Echo",
//!                   "limits": {"max_message_bytes": 4096, "max_wait_ms": 30000}}]
//! }"#); // better: manifest!(include_str!("../manifest.json"))
//! export_channel!(Echo, MANIFEST);
//! ```

pub mod limits;
#[doc(hidden)]
pub mod manifest;
pub mod wire;

#[cfg(feature = "host")]
pub mod host;

#[cfg(feature = "plugin")]
mod channel;
#[cfg(feature = "plugin")]
mod login_ui;
#[cfg(feature = "plugin")]
#[doc(hidden)]
pub mod plugin;
#[cfg(feature = "plugin")]
mod stop;
#[cfg(feature = "testkit")]
pub mod testkit;

#[cfg(feature = "plugin")]
pub use channel::{BatchToken, Channel, Result, Session};
#[cfg(feature = "plugin")]
pub use login_ui::LoginUi;
#[cfg(feature = "plugin")]
pub use stop::Stop;

/// The version of this SDK, as plugins report it in `built_with.plugin_api`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
