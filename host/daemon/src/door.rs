//! How many clients may be inside at once, and what becomes of the others.

use std::{io::Write, sync::Arc, time::Duration};

use scv_protocol::{codec::encode_event, limits::MAX_SERVER_FRAME_BYTES};
use tokio::{
    net::UnixStream,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::{
    connection::no_place,
    limits::{FULL_WARNING_SECONDS, MAX_CONNECTIONS_COUNT},
};

/// Counts the clients inside.
pub(crate) struct Door {
    places: Arc<Semaphore>,
    complaint: Complaint,
}

/// Says now and then how many were sent away. Pure.
#[derive(Default)]
struct Complaint {
    sent_away: u64,
    quiet_until: Option<Instant>,
}

impl Door {
    pub(crate) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS_COUNT)),
            complaint: Complaint::default(),
        }
    }

    /// Gives a client its place, or tells it that there is none.
    pub(crate) fn admit(
        &mut self,
        stream: UnixStream,
    ) -> Option<(UnixStream, OwnedSemaphorePermit)> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some((stream, place));
        }
        send_away(stream);
        if let Some(sent_away) = self.complaint.next(Instant::now()) {
            tracing::warn!(MAX_CONNECTIONS_COUNT, sent_away, "too many clients are connected");
        }
        None
    }
}

/// Never waits: the few bytes fit into a socket that nothing was written to yet.
fn send_away(stream: UnixStream) {
    let Ok(frame) = encode_event(&no_place(), MAX_SERVER_FRAME_BYTES) else {
        return;
    };
    // A client that is gone already needs to be told nothing.
    let _ = stream.into_std().and_then(|mut stream| stream.write_all(&frame));
}

impl Complaint {
    /// Counts one, and gives the number since the last time when it should be told.
    fn next(&mut self, now: Instant) -> Option<u64> {
        self.sent_away += 1;
        if self.quiet_until.is_some_and(|until| now < until) {
            return None;
        }
        self.quiet_until = Some(now + Duration::from_secs(FULL_WARNING_SECONDS));
        Some(std::mem::take(&mut self.sent_away))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_once_a_minute_with_its_number() {
        let mut complaint = Complaint::default();
        let now = Instant::now();
        assert_eq!(complaint.next(now), Some(1));
        assert_eq!((0..99).find_map(|_| complaint.next(now)), None);
        assert_eq!(complaint.next(now + Duration::from_secs(FULL_WARNING_SECONDS)), Some(100));
    }
}
