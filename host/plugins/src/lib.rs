//! Finds, checks and loads scv plugins, and speaks to them.
//!
//! [`scan`] looks at files and runs none of their code. [`PluginHost`] loads what passes and
//! hands out [`LoadedChannel`]s, whose transports hide bytes, deadlines and panics.
//! This crate knows no session, no account and no platform.

mod cache;
mod deadlines;
mod elf;
mod entry;
#[cfg(feature = "fake")]
pub mod fake;
mod find;
mod host;
mod in_process;
mod inspect;
mod isolation;
mod library;
mod limits;
mod load;
mod private_group;
mod rate;
mod read;
mod report;
mod sanitize;
mod scan;
mod search;
mod trust;

pub use deadlines::Deadlines;
pub use host::{Claim, HostOptions, LoadedChannel, PluginHost};
pub use isolation::Isolation;
pub use report::{PluginReport, PluginState, Refusal, Step};
pub use scan::scan;
pub use search::{SearchOptions, SearchPath};
