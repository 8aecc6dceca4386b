//! The plugin through its author traits, against the simulated platform.

mod account;
mod catching_up;
mod conformance;
mod connecting;
mod reading;
mod sending;
mod signing_in;
