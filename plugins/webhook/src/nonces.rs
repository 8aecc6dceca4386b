//! Which requests were seen already.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Mutex, PoisonError},
};

use crate::limits::{MAX_NONCES_COUNT, WINDOW_SECONDS};

/// The nonces of the last minutes: twice the window, since a time may lie ahead of ours.
#[derive(Default)]
pub(crate) struct Nonces(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    nonces: HashSet<String>,
    /// With the moment at which they came, oldest first.
    order: VecDeque<(u64, String)>,
}

/// What a nonce is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Nonce {
    New,
    Seen,
    /// Too many came to know.
    Unknowable,
}

impl Nonces {
    /// Looks at a nonce and remembers it.
    pub(crate) fn see(&self, nonce: &str, now: u64) -> Nonce {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.forget(now);
        if seen.nonces.contains(nonce) {
            return Nonce::Seen;
        }
        if seen.order.len() >= MAX_NONCES_COUNT {
            return Nonce::Unknowable;
        }
        seen.nonces.insert(nonce.to_owned());
        seen.order.push_back((now, nonce.to_owned()));
        Nonce::New
    }
}

impl Seen {
    fn forget(&mut self, now: u64) {
        let old = |(at, _): &(u64, String)| at + 2 * WINDOW_SECONDS < now;
        while self.order.front().is_some_and(old) {
            if let Some((_, nonce)) = self.order.pop_front() {
                self.nonces.remove(&nonce);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_counts_once_until_its_signature_is_too_old() {
        let nonces = Nonces::default();
        assert_eq!(nonces.see("a", 1000), Nonce::New);
        assert_eq!(nonces.see("a", 1000 + 2 * WINDOW_SECONDS), Nonce::Seen);
        assert_eq!(nonces.see("a", 1001 + 2 * WINDOW_SECONDS), Nonce::New);
    }

    #[test]
    fn a_flood_is_refused_and_passes() {
        let nonces = Nonces::default();
        for n in 0..MAX_NONCES_COUNT {
            assert_eq!(nonces.see(&n.to_string(), 1000), Nonce::New);
        }
        assert_eq!(nonces.see("more", 1000), Nonce::Unknowable);
        assert_eq!(nonces.see("more", 5000), Nonce::New);
    }
}
