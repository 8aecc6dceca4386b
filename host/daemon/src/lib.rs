//! The scv daemon: one home, one socket, its clients' connections, and the chat accounts that
//! it supervises.
//!
//! - [`Daemon::run`]: the whole of it, from the lock on the home to its release.
//! - [`InProcess`]: the same connections without a socket, for one command or for the bridge.
//! - [`Config`]: the layers of configuration, checked.
//!
//! It knows no platform: what a channel needs comes from its plugin's manifest.

pub mod limits;

mod components;
mod config;
mod connection;
mod control;
mod door;
mod error;
mod home;
mod import;
mod in_process;
mod lock;
mod logs;
mod mail;
mod plugins;
mod server;
mod sessions;
mod socket;
mod version_2;

pub use components::channel_fault;
pub use config::{
    Answering, ApprovalPolicy, Config, ConfigError, ConfigSources, Given, Overrides, PluginsConfig,
    Setting, Source, config_path, effective, init as init_config,
};
pub use error::DaemonError;
pub use home::prepare_home;
pub use import::import_single_file;
pub use in_process::InProcess;
pub use logs::LogRing;
pub use plugins::{plugin_info, plugin_options};
#[cfg(target_os = "linux")]
pub use scv_agent::run_keeper;
pub use server::{Daemon, DaemonOptions};
pub use socket::socket_path;
