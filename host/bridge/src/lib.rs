//! What every chat channel of scv shares: accounts, durable state, conversations, delivery.
//!
//! It knows no platform and no HTTP, not how a plugin is loaded, and not the agent's insides:
//! it is handed a [`ChannelTransport`](scv_plugin_api::host::ChannelTransport) and a
//! [`Dialer`], and speaks the plugin documents on one side and the client protocol on the other.
//!
//! - [`Accounts`]: who is signed in and how each account is set, under its two locks.
//! - [`store`]: the state file and its journal; every change is durable or did not happen.
//! - [`machine`]: claims, turns, replies, retries, as one pure `step`.
//! - [`run_account`]: the shell that gives the machine its files, sessions and sockets.

pub mod accounts;
pub mod backoff;
pub mod clock;
pub mod fs;
pub mod health;
pub mod limits;
pub mod machine;
pub mod store;

mod conversation;
mod desk;
mod home;
mod names;
mod rest;
mod runner;

pub use accounts::{
    Accounts, AccountsError, Settings, SettingsChange, Snapshot, Ticket, fingerprint,
};
pub use backoff::Backoff;
pub use clock::{Clock, SystemClock};
pub use conversation::Dialer;
pub use desk::{Desk, DeskError};
pub use health::{Health, HealthReport};
pub use home::Home;
pub use names::{AccountArgs, AccountName, ChannelId, NameError};
pub use rest::RestError;
pub use runner::{AccountContext, RunError, RunErrorKind, run_account};
