//! The program as scripts and people use it: its output and its exit status.

mod channels;
mod config;
mod daemon;
mod exec;
mod hostile;
mod instance;
mod keeper;
mod raw;
mod server;
mod support;
mod terminal;
