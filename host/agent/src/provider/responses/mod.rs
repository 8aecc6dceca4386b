//! Responses: `POST {base_url}/responses`.

mod event;
mod items;
mod request;

pub(super) use items::Items;
pub(super) use request::body;

/// What the URL ends in.
pub(super) const PATH: &str = "responses";
