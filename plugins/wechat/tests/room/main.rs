//! The plugin through its author traits, against the simulated platform.

mod account;
mod reading;
mod sending;
mod signing_in;
