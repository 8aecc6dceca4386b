//! The chores of scv: building plugins, installing, checking the house, running every test,
//! and the harness that drives the built `scv` for whole-binary tests and for demonstrations.
//!
//! A library as well as a command, so that the end-to-end tests build and start things in
//! exactly the way that the commands do. It knows the client protocol and the simulators, and
//! no room of the host: it must run while the host does not compile.
#![allow(clippy::print_stdout, reason = "a command for people; what it finds is its output")]

pub mod abi_check;
pub mod bench;
pub mod cargo;
pub mod cli;
pub mod demo;
pub mod dist;
pub mod fuzz;
pub mod harness;
pub mod install;
pub mod new_plugin;
pub mod place;
pub mod plugins;
pub mod schema;
pub mod test;
pub mod tidy;
pub mod workspace;
