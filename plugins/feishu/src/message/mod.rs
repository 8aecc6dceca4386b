//! Messages, from events and from history, as the boundary knows them.

mod content;
mod event;
mod history;
mod incoming;
mod mentions;
mod post;

pub(crate) use self::{
    event::{Event, read_event},
    history::read_items,
    incoming::{Incoming, Read, encoded_bytes, read},
    mentions::Mention,
};
