//! Reads what hyper says about a failed exchange.

use std::error::Error;
use std::iter::successors;

use hyper_util::client::legacy;

use crate::error::HttpError;
use crate::link::LinkState;

/// Why no response came.
pub(crate) enum Failure {
    /// A kept connection was dead: the request was written and not one byte came back.
    StaleLink,
    /// Everything else.
    Final(HttpError),
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Self::Final(error)
    }
}

impl From<Failure> for HttpError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::StaleLink => Self::Reset,
            Failure::Final(error) => error,
        }
    }
}

pub(crate) fn classify(error: &legacy::Error) -> Failure {
    if let Some(told) = causes(error).find_map(|cause| cause.downcast_ref::<HttpError>()) {
        return told.clone().into();
    }
    let hyper = causes(error).find_map(|cause| cause.downcast_ref::<hyper::Error>());
    if hyper.is_some_and(hyper::Error::is_parse) {
        return HttpError::Protocol.into();
    }
    match link_of(error) {
        Some(link) if link.is_stale() => Failure::StaleLink,
        Some(_) => HttpError::Reset.into(),
        None => HttpError::Connect.into(),
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}

fn link_of(error: &legacy::Error) -> Option<LinkState> {
    let mut extensions = http::Extensions::new();
    error.connect_info()?.get_extras(&mut extensions);
    extensions.remove()
}
