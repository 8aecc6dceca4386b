//! Sessions, turns, providers and tools of scv.
//!
//! [`Agent::start_session`] gives a [`Session`]: one task around a pure machine that turns client
//! messages, provider events and tool results into protocol events, written through the
//! connection's [`Outbox`]. This crate knows no channel, plugin, account or configuration file.

pub mod config;
pub mod limits;
pub mod outbox;

mod agent;
mod id;
mod machine;
mod message;
mod prompt;
mod provider;
mod session;
mod tools;

pub use agent::{Agent, AgentError};
pub use config::{AgentConfig, Secret};
pub use outbox::{Frames, Outbox, OutboxError, OutboxLimits, OutboxReader};
#[cfg(feature = "fuzz")]
pub use provider::fuzz;
pub use session::{Session, SessionError, SessionOptions, SubmitError};
#[cfg(target_os = "linux")]
pub use tools::run_keeper;
