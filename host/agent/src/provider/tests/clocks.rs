//! The three clocks, on virtual time.

use std::{collections::VecDeque, future::poll_fn, pin::pin, time::Duration};

use bytes::Bytes;
use scv_http::HttpError;
use tokio::time::{Instant, sleep};

use super::{
    super::{
        handover::Handover,
        remote::{Body, Clocks, read},
    },
    *,
};

/// Pieces of a body, each after a pause; then it stays open.
struct SlowBody(VecDeque<(u64, &'static str)>);

impl Body for SlowBody {
    async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        let Some((seconds, _)) = self.0.front() else { std::future::pending().await };
        sleep(Duration::from_secs(*seconds)).await;
        let piece = self.0.pop_front().map(|(_, piece)| Bytes::from_static(piece.as_bytes()));
        Ok(piece)
    }
}

const TEXT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// How it ended, and after how many seconds.
async fn read_slowly(pieces: &[(u64, &'static str)]) -> (Result<Response, Fault>, u64) {
    let queue = Handover::default();
    let mut deltas = queue.deltas();
    let start = Instant::now();
    let clocks =
        Clocks { first_event: start + Duration::from_secs(300), idle: Duration::from_secs(120) };
    let mut body = SlowBody(pieces.iter().copied().collect());
    let reading = read(&mut body, Decoder::new(WireApi::Chat, true), clocks, &mut deltas);
    let result = while_taking(&queue, reading).await;
    (result, start.elapsed().as_secs())
}

/// As the session does: what is there is taken before the provider is polled again.
async fn while_taking<T>(queue: &Handover, reading: impl Future<Output = T>) -> T {
    let mut reading = pin!(reading);
    poll_fn(|cx| {
        loop {
            let polled = reading.as_mut().poll(cx);
            if polled.is_ready() || queue.pop().is_none() {
                return polled;
            }
            while queue.pop().is_some() {}
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_long_prefill_is_no_failure() {
    let (result, seconds) = read_slowly(&[(250, TEXT), (100, TEXT), (100, DONE)]).await;
    assert_eq!((result.map(|r| r.message.text), seconds), (Ok("xx".to_owned().into()), 450));
}

#[tokio::test(start_paused = true)]
async fn silence_before_the_first_event_ends_it() {
    let (result, seconds) = read_slowly(&[(400, TEXT)]).await;
    assert_eq!((result.is_err(), seconds), (true, 300));
}

#[tokio::test(start_paused = true)]
async fn comments_and_pings_are_no_progress() {
    let comments = [(10, ": keep-alive\n\n"); 40];
    assert_eq!(read_slowly(&comments).await.1, 300);
    let pings = [(10, "event: ping\ndata: {\"type\":\"ping\"}\n\n"); 20];
    let pieces = [&[(1, TEXT)], &pings[..]].concat();
    let (result, seconds) = read_slowly(&pieces).await;
    assert_eq!((result.is_err(), seconds), (true, 121));
}

#[tokio::test(start_paused = true)]
async fn done_ends_the_read_though_the_socket_stays_open() {
    let (result, seconds) = read_slowly(&[(0, TEXT), (0, DONE)]).await;
    assert_eq!((result.is_ok(), seconds), (true, 0));
}

#[tokio::test(start_paused = true)]
async fn after_the_finish_reason_an_open_socket_is_not_waited_for_long() {
    let (result, seconds) = read_slowly(&[(0, TEXT), (0, STOP)]).await;
    assert_eq!((result.is_ok(), seconds), (true, 5));
}
