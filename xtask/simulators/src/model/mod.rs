//! A model server on loopback: Chat Completions and Responses as streams of events, scripted by
//! the test. One script serves both.
//!
//! Without a script the answer is `answer to: PROMPT`, and after a tool call `the tool said:
//! RESULT`.

mod answer;
mod chat;
mod dialect;
mod responses;
mod state;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};

pub use answer::{Answer, Piece};

use crate::limits;
use crate::request::Request;
use crate::server::{Cut, Reply, Server};
use crate::watched::Watched;
use dialect::{Dialect, Speaker};
use state::State;

/// A running model server.
pub struct Model {
    server: Server,
    shared: Arc<Shared>,
}

struct Shared {
    state: Watched<State>,
    /// One permit for each release that no hold has used.
    releases: Semaphore,
}

impl Model {
    /// Listens on a free loopback port.
    ///
    /// # Errors
    /// When there is no port or no thread.
    pub fn start() -> anyhow::Result<Self> {
        let state = Watched::new(State::default());
        let shared = Arc::new(Shared { state, releases: Semaphore::new(0) });
        let serving = shared.clone();
        let server = Server::start(move |request| serve(serving.clone(), request))?;
        Ok(Self { server, shared })
    }

    /// `http://127.0.0.1:PORT/v1`, the value of a provider's `base_url`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.server.origin())
    }

    /// The next request that has no earlier entry in the queue gets this answer.
    pub fn queue(&self, answer: Answer) {
        self.shared.state.change(|state| state.queue.push_back(answer));
    }

    /// Requests whose last user message contains `text` get these answers in order, then the
    /// usual ones. The steps of one turn are requests of their own.
    pub fn on(&self, text: impl Into<String>, answers: impl IntoIterator<Item = Answer>) {
        let rule = (text.into(), answers.into_iter().collect());
        self.shared.state.change(|state| state.rules.push(rule));
    }

    /// Answers from its body every request that nothing else answers.
    pub fn otherwise(&self, answer: impl Fn(&Value) -> Answer + Send + 'static) {
        self.shared.state.change(|state| state.fallback = Some(Box::new(answer)));
    }

    /// Lets one held stream go on, or the next that comes to a hold.
    pub fn release(&self) {
        self.shared.releases.add_permits(1);
    }

    /// Every request, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state.lock().requests.clone()
    }

    /// The last user message of every request, in order.
    pub fn prompts(&self) -> Vec<String> {
        self.shared.state.lock().asked().map(|asked| asked.prompt).collect()
    }

    /// How many requests began a turn with exactly this prompt (their last message was it).
    /// More than one for a message sent once is a turn started twice, or a provider's retry.
    pub fn turns(&self, prompt: &str) -> usize {
        self.shared.state.lock().turns(prompt)
    }

    /// Streams whose reader went away before their end: cancelled turns and killed clients.
    pub fn abandoned(&self) -> usize {
        self.shared.state.lock().abandoned
    }

    /// What strict servers would have refused, in words; empty when all is well.
    pub fn violations(&self) -> Vec<String> {
        self.shared.state.lock().violations()
    }

    /// Waits until this many requests came in all.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_requests(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let what = format!("{count} requests to the model");
        self.wait(limit, &what, |state| state.requests.len() >= count).await
    }

    /// Waits until this many streams stand at a hold at the same time.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_holding(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let what = format!("{count} held answers");
        self.wait(limit, &what, |state| state.holding >= count).await
    }

    /// Waits until this many streams were given up by their readers.
    ///
    /// # Errors
    /// When the limit passes; the text says what was seen.
    pub async fn wait_abandoned(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let what = format!("{count} abandoned answers");
        self.wait(limit, &what, |state| state.abandoned >= count).await
    }

    async fn wait(
        &self,
        limit: Duration,
        what: &str,
        done: impl Fn(&State) -> bool,
    ) -> anyhow::Result<()> {
        let look = |state: &mut State| done(state).then_some(());
        self.shared.state.within(limit, what, look, summary).await
    }
}

fn summary(state: &State) -> String {
    format!(
        "there were {} requests ({} held now, {} abandoned), violations: {:?}",
        state.requests.len(),
        state.holding,
        state.abandoned,
        state.violations(),
    )
}

async fn serve(shared: Arc<Shared>, request: Request) -> Reply {
    let body = request.body.clone();
    let Some(dialect) = Dialect::of(&request) else {
        shared.state.change(|state| state.requests.push(request));
        let text = r#"{"error":{"message":"there are only POST chat/completions and responses"}}"#;
        return Reply::json(404, text);
    };
    let answer = shared.state.change(|state| state.arrive(dialect, request));
    match answer {
        Answer::Hangup => Reply::Hangup,
        Answer::Status { status, body, retry_after } => Reply::Whole {
            status,
            content_type: "application/json",
            headers: retry_after
                .map(|value| ("retry-after".to_owned(), value))
                .into_iter()
                .collect(),
            body: body.into(),
        },
        Answer::Stream(pieces) => stream(shared, Speaker::new(dialect, &body), pieces),
    }
}

/// A stream in which nothing is waited for is written at once.
fn stream(shared: Arc<Shared>, mut speaker: Speaker, pieces: Vec<Piece>) -> Reply {
    let content_type = "text/event-stream";
    let is_plain = |piece: &Piece| {
        !matches!(piece, Piece::Hold | Piece::Pause(_) | Piece::Raw(_) | Piece::Cut)
    };
    if pieces.iter().all(is_plain) {
        let frames: String = pieces.iter().filter_map(|piece| speaker.frame(piece)).collect();
        return Reply::Whole {
            status: 200,
            content_type,
            headers: Vec::new(),
            body: frames.into(),
        };
    }
    let (sender, receiver) = mpsc::channel(limits::STREAM_PIECES_COUNT);
    tokio::spawn(speak(shared, speaker, pieces, sender));
    Reply::Stream { content_type, pieces: receiver }
}

/// The reader is gone.
struct Gone;

async fn speak(
    shared: Arc<Shared>,
    mut speaker: Speaker,
    pieces: Vec<Piece>,
    sender: mpsc::Sender<Result<Bytes, Cut>>,
) {
    for piece in pieces {
        if utter(&shared, &mut speaker, piece, &sender).await.is_err() {
            shared.state.change(|state| state.abandoned += 1);
            return;
        }
    }
}

async fn utter(
    shared: &Shared,
    speaker: &mut Speaker,
    piece: Piece,
    sender: &mpsc::Sender<Result<Bytes, Cut>>,
) -> Result<(), Gone> {
    match piece {
        Piece::Hold => {
            shared.state.change(|state| state.holding += 1);
            let released = tokio::select! {
                permit = shared.releases.acquire() => permit.map(tokio::sync::SemaphorePermit::forget).is_ok(),
                () = sender.closed() => false,
            };
            shared.state.change(|state| state.holding -= 1);
            if released { Ok(()) } else { Err(Gone) }
        }
        Piece::Pause(time) => tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            () = sender.closed() => Err(Gone),
        },
        Piece::Cut => sender.send(Err(Cut)).await.map_err(|_| Gone),
        Piece::Raw(bytes) => sender.send(Ok(bytes)).await.map_err(|_| Gone),
        event => match speaker.frame(&event) {
            Some(frame) => sender.send(Ok(frame.into())).await.map_err(|_| Gone),
            None => Ok(()),
        },
    }
}
