//! The connection's task: reads frames, keeps the beat, sends acknowledgements.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use scv_plugin_api::{
    Stop,
    wire::{Fault, FaultKind},
};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{self, Message};

use super::{Inbox, Live, Socket};
use crate::{
    brand::Brand,
    endpoint::Endpoint,
    limits::WRITE_MS,
    message::{Event, read_event},
    wire::{Frame, Heart, Joined, Kind, Parts, ping_interval, reconnect_spread},
};

/// The reading side of one connection.
struct Reading<'a> {
    inbox: &'a Inbox,
    /// The platform's name for people.
    title: &'static str,
    heart: Heart,
    /// How far reconnects are to be spread.
    spread: Duration,
    parts: Parts,
    /// What was no frame, or none that fits.
    skipped: u64,
}

/// Serves the connection until it ends, and tells the inbox why.
pub(crate) async fn run(
    mut socket: Socket,
    inbox: &Inbox,
    endpoint: &Endpoint,
    brand: Brand,
    stop: &Stop,
) {
    let mut reading = Reading {
        inbox,
        title: brand.title(),
        heart: Heart::new(endpoint.ping_interval, Instant::now()),
        spread: endpoint.reconnect_spread.unwrap_or_default(),
        parts: Parts::default(),
        skipped: 0,
    };
    let fault = serve(&mut socket, &mut reading, endpoint.service, stop).await;
    // One that is closed politely takes no place from the next one.
    let _ = timeout(Duration::from_millis(WRITE_MS), socket.close(None)).await;
    inbox.end(match fault.kind {
        FaultKind::Retry => Fault { after_ms: Some(random_ms(reading.spread)), ..fault },
        _ => fault,
    });
}

/// Any part of a time.
fn random_ms(whole: Duration) -> u64 {
    // Each `RandomState` has other keys; who could guess them gains nothing here.
    RandomState::new().hash_one(()) % u64::try_from(whole.as_millis()).unwrap_or(u64::MAX).max(1)
}

async fn serve(socket: &mut Socket, reading: &mut Reading<'_>, service: i32, stop: &Stop) -> Fault {
    loop {
        let full = reading.inbox.is_full();
        let ended = tokio::select! {
            () = stop.fired() => Some(Fault::cancelled("the session is closing")),
            message = socket.next(), if !full => match reading.hear(message) {
                Ok(answer) => reading.send(socket, answer).await,
                Err(fault) => Some(fault),
            },
            () = reading.inbox.taken() => {
                // Who could not listen has not heard silence.
                if full {
                    reading.heart.heard(Instant::now());
                }
                reading.send(socket, reading.inbox.acknowledgements()).await
            }
            () = sleep_until(reading.heart.next_ping(Instant::now())) => {
                reading.heart.pinged(Instant::now());
                reading.send(socket, [Frame::ping(service)]).await
            }
            () = sleep_until(reading.heart.lost_at()), if !full => {
                Some(reading.lost("fell silent"))
            }
        };
        if let Some(fault) = ended {
            return fault;
        }
    }
}

/// Who wonders why no message comes sees here which events come instead. Those about messages
/// are daily business.
fn tell(kind: &str) {
    if kind.starts_with("im.message.") {
        tracing::debug!(kind, "an event that starts no turn");
    } else {
        tracing::info!(kind, "an event that starts no turn");
    }
}

impl Reading<'_> {
    /// Writes frames; the fault when that cannot be done.
    async fn send(
        &self,
        socket: &mut Socket,
        frames: impl IntoIterator<Item = Frame>,
    ) -> Option<Fault> {
        let frames: Vec<Frame> = frames.into_iter().collect();
        if frames.is_empty() {
            return None;
        }
        let writing = async {
            for frame in frames {
                socket.feed(Message::Binary(frame.write())).await?;
            }
            socket.flush().await
        };
        match timeout(Duration::from_millis(WRITE_MS), writing).await {
            Ok(Ok(())) => None,
            Ok(Err(_)) | Err(_) => Some(self.lost("was lost")),
        }
    }

    fn lost(&self, how: &str) -> Fault {
        Fault::retry(format!("{}'s long connection {how}; it is made anew", self.title))
    }

    /// Takes what the websocket brought; answers what is to be sent at once.
    fn hear(
        &mut self,
        message: Option<Result<Message, tungstenite::Error>>,
    ) -> Result<Option<Frame>, Fault> {
        let message = match message {
            Some(Ok(Message::Close(_))) | None => {
                return Err(self.lost("was closed by its other end"));
            }
            Some(Ok(message)) => message,
            Some(Err(_)) => return Err(self.lost("was lost")),
        };
        let now = Instant::now();
        self.heart.heard(now);
        Ok(match message {
            Message::Binary(bytes) => self.take(bytes, now),
            Message::Ping(_) | Message::Pong(_) => None,
            _ => self.skip("a text message"),
        })
    }

    fn take(&mut self, bytes: Bytes, now: Instant) -> Option<Frame> {
        let Some(frame) = Frame::read(bytes) else {
            return self.skip("bytes that are no frame");
        };
        match frame.kind() {
            Kind::Pong => self.beat(&frame),
            Kind::Event => self.event(frame, now),
            Kind::Other => self.skip("a frame of another kind"),
        }
    }

    fn beat(&mut self, pong: &Frame) -> Option<Frame> {
        let settings = serde_json::from_slice(pong.payload.as_deref().unwrap_or_default());
        let settings = settings.unwrap_or_default();
        self.heart.set_interval(ping_interval(&settings));
        self.spread = reconnect_spread(&settings).unwrap_or(self.spread);
        None
    }

    /// A message waits for the session; everything else is acknowledged at once, or the platform
    /// would bring it four times more.
    fn event(&mut self, mut frame: Frame, now: Instant) -> Option<Frame> {
        let payload = match self.parts.add(&mut frame, now) {
            Joined::Whole(payload) => payload,
            Joined::Waiting => return None,
            Joined::Refused(why) => return self.skip(why),
        };
        match read_event(&payload) {
            Event::Message(message) => {
                let bytes = payload.len();
                self.inbox.push(Live { message: *message, frame, received: now, bytes });
                return None;
            }
            Event::Other(kind) => tell(&kind),
            Event::Unreadable => drop(self.skip("an event that cannot be read")),
        }
        Some(frame.acknowledge(now.elapsed().as_millis()))
    }

    /// Counted and logged, never an error.
    fn skip(&mut self, what: &'static str) -> Option<Frame> {
        self.skipped += 1;
        tracing::warn!(count = self.skipped, "skipped {what}");
        None
    }
}
