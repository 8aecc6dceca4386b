//! The plugin with real sockets, all on loopback.

mod client;
mod conformance;
mod endpoint;
