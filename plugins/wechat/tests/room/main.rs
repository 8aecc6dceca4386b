//! The plugin through its author traits, against the simulated platform.

mod account;
mod conformance;
mod reading;
mod sending;
mod signing_in;
