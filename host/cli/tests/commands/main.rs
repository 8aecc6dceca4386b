//! The program as scripts and people use it: its output and its exit status.

mod channels;
mod daemon;
mod exec;
mod support;
mod terminal;
