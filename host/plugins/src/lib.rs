//! Finds, checks and loads scv plugins, and speaks to them.
//!
//! [`scan`] looks at files and runs none of their code. [`PluginHost`] loads what passes and
//! hands out [`LoadedChannel`]s, whose transports hide bytes, deadlines and panics.
//! This crate knows no session, no account and no platform.

mod adapter;
mod cache;
mod check;
mod child;
mod deadlines;
mod elf;
mod entry;
#[cfg(feature = "fake")]
pub mod fake;
mod find;
mod host;
mod inspect;
mod instance;
mod isolation;
mod library;
mod limits;
mod load;
pub mod manage;
mod pins;
mod private_group;
mod probe;
mod process_plugin;
mod rate;
mod read;
mod report;
mod sanitize;
mod scan;
mod search;
mod sentinel;
mod trust;

pub use check::{Checked, CheckedStep, SearchedDir, check, intruders, searched_dirs};
pub use child::run_helper;
pub use deadlines::Deadlines;
pub use host::{Claim, HostOptions, LoadedChannel, PluginHost};
pub use isolation::Isolation;
pub use load::check_settings;
pub use report::{PluginReport, PluginState, Refusal, Step};
pub use scan::{Policy, scan};
pub use search::{SearchOptions, SearchPath};
