//! The long connection: one task that reads, pings and acknowledges, and what it shares with the
//! session.

mod dial;
mod inbox;
mod run;

pub(crate) use self::{
    dial::{Socket, dial},
    inbox::{Inbox, Live},
    run::run,
};
