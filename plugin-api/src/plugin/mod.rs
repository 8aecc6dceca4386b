//! The plugin's side of the boundary: everything between the raw objects and an author's types.
//!
//! `entry` makes a plugin; `served` and `session` are the raw objects; `tasks`, `guard` and
//! `owned` keep panics, drops and cancellation inside; `reader` owns a session's reading.

mod entry;
mod export;
mod guard;
mod host;
mod log;
mod owned;
mod reader;
mod reply;
mod runtime;
mod served;
mod session;
mod tasks;

pub use abi_stable::library::LibHeader;
#[cfg(feature = "testkit")]
pub(crate) use entry::module;
pub use entry::{Exported, header};

/// A manifest's text as the array that the exported symbol holds.
#[must_use]
pub const fn bytes<const N: usize>(text: &str) -> [u8; N] {
    *text.as_bytes().first_chunk().expect("N is its length")
}
