//! The durable state of one account: a JSON file as older releases know it (the base) and a
//! journal of the changes since.
//!
//! A change is durable when [`Log::append`] has returned, and only then is it applied to the
//! [`State`]; what a reopened store holds is exactly what was applied, plus at most the one
//! record whose commit was under way.

mod base;
mod change;
mod error;
mod held;
mod keys;
mod log;
mod open;
mod record;
mod seen;
mod state;

pub use change::{Change, Claim, Held, Pending};
pub use error::{File, StoreError};
pub use log::{Image, Log};
pub use open::{Opened, open, read};
pub use state::{Applied, Inconsistent, State};
