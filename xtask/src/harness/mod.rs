//! Drives the built `scv` from outside, as a person or a program would: over its command line,
//! its socket and its signals, on a home of its own, with the real plugins.
//!
//! Used by the end-to-end tests and by the commands that show or measure the whole.

pub mod built;
mod daemon;
mod home;
mod scv;
mod until;

pub use built::Built;
pub use daemon::{Daemon, Options};
pub use home::Home;
pub use scv::{Output, Scv};
pub use until::until;
