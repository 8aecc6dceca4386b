//! One client's connection: lines in, the handshake's rules, one session, frames out.

mod commands;
mod rules;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    future::poll_fn,
    io,
    mem::MaybeUninit,
    ops::ControlFlow,
    pin::Pin,
    sync::Arc,
    task::{Poll, ready},
    time::Duration,
};

use scv_agent::{Outbox, OutboxError, OutboxLimits, OutboxReader, Session, SessionOptions};
use scv_protocol::{
    ClientInfo, ClientMessage, ErrorCode, ServerEvent, SessionStart,
    codec::{self, Line, LineDecoder},
    limits::{BACKPRESSURE_MS, CLEANUP_GRACE_MS, CONTROL_TIMEOUT_MS},
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

use crate::{
    components::Components,
    limits::{INITIALIZE_MS, MAX_CONNECTIONS_COUNT, READ_BUFFER_BYTES},
    sessions::Sessions,
};
use commands::{Command, Commands};
use rules::{Action, Stage};

/// What every connection of a server shares.
pub(crate) struct Server {
    /// Starts sessions.
    pub(crate) sessions: Sessions,
    /// What `daemon.control` manages; none where that is not served.
    pub(crate) components: Option<Arc<Components>>,
    /// Everything that connections spawn, to be joined at the end.
    pub(crate) tasks: TaskTracker,
}

/// What a client is told that finds no place any more.
pub(crate) fn no_place() -> ServerEvent {
    let text = format!(
        "{MAX_CONNECTIONS_COUNT} clients are connected already; end one of them and try again"
    );
    rules::fatal(None, ErrorCode::InternalError, text)
}

/// What a client is told that does not initialize its connection.
fn not_initialized() -> ServerEvent {
    let seconds = INITIALIZE_MS / 1_000;
    let text =
        format!("the connection was not initialized within {seconds} s; send initialize first");
    rules::fatal(None, ErrorCode::NotInitialized, text)
}

/// The server's name and version, as `initialized` gives them.
fn server_info() -> ClientInfo {
    ClientInfo { name: "scv".into(), version: env!("CARGO_PKG_VERSION").into() }
}

/// Serves one client until it goes, breaks a rule that ends connections, or `stop` fires.
pub(crate) async fn serve<S>(server: Arc<Server>, stream: S, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = tokio::io::split(stream);
    let (outbox, frames) = Outbox::channel(OutboxLimits {
        max_frame_bytes: server.sessions.agent().config().max_server_frame_bytes,
        ..OutboxLimits::default()
    });
    let writer = server.tasks.spawn(write(writer, frames));
    let stop = stop.child_token();
    let mut connection =
        Connection { server, outbox, stage: Stage::New, session: None, commands: None, stop };
    let mut writer = AbortOnDropHandle::new(writer);
    connection.run(reader, &mut writer).await;
    connection.finish(writer).await;
}

/// Writes what is ready, several frames at once when there are several.
async fn write(mut stream: impl AsyncWrite + Unpin, mut frames: OutboxReader) -> io::Result<()> {
    while let Some(ready) = frames.next().await {
        stream.write_all(ready.bytes()).await?;
        stream.flush().await?;
    }
    stream.shutdown().await
}

struct Connection {
    server: Arc<Server>,
    outbox: Outbox,
    stage: Stage,
    session: Option<Session>,
    /// None before the first one: few clients manage components.
    commands: Option<Commands>,
    /// Ends this connection alone.
    stop: CancellationToken,
}

/// Why the loop woke up.
enum Wake {
    Read(io::Result<usize>),
    Line(ControlFlow<()>),
    NotInitialized,
    WriterEnded,
    Stop,
}

impl Connection {
    async fn run<R: AsyncRead>(
        &mut self,
        mut reader: ReadHalf<R>,
        writer: &mut AbortOnDropHandle<io::Result<()>>,
    ) {
        let mut decoder = LineDecoder::new(self.server.sessions.max_client_frame_bytes());
        let mut lines = VecDeque::new();
        let mut has_ended = false;
        let patience = tokio::time::sleep(Duration::from_millis(INITIALIZE_MS));
        tokio::pin!(patience);
        let stop = self.stop.clone();
        loop {
            let wake = match lines.pop_front() {
                Some(line) => tokio::select! {
                    flow = self.line(line) => Wake::Line(flow),
                    () = stop.cancelled() => Wake::Stop,
                },
                None if has_ended => return,
                None => tokio::select! {
                    read = read(&mut reader, &mut decoder, &mut lines) => Wake::Read(read),
                    () = &mut patience, if self.stage == Stage::New => Wake::NotInitialized,
                    _ = &mut *writer => Wake::WriterEnded,
                    () = stop.cancelled() => Wake::Stop,
                },
            };
            match wake {
                Wake::Line(ControlFlow::Continue(())) => {}
                Wake::Read(Ok(0)) => {
                    has_ended = true;
                    decoder.end(|line| lines.push_back(line));
                }
                Wake::Read(Ok(_)) => {}
                Wake::NotInitialized => {
                    let _ = self.answer(not_initialized()).await;
                    return;
                }
                Wake::Read(Err(_)) | Wake::Line(_) | Wake::WriterEnded | Wake::Stop => return,
            }
        }
    }

    /// Ends the session, answers the commands of a client that has only stopped writing, and
    /// lets the writer finish, all within their grace.
    async fn finish(self, mut writer: AbortOnDropHandle<io::Result<()>>) {
        if let Some(session) = self.session {
            session.close().await;
        }
        if let Some(commands) = self.commands {
            let limit = Duration::from_millis(CONTROL_TIMEOUT_MS);
            tokio::select! {
                _ = tokio::time::timeout(limit, commands.finish()) => {}
                () = self.stop.cancelled() => {}
            }
        }
        self.outbox.close();
        if writer.is_finished() {
            return;
        }
        let grace = Duration::from_millis(CLEANUP_GRACE_MS);
        if tokio::time::timeout(grace, &mut writer).await.is_err() {
            writer.abort();
            let _ = writer.await;
        }
    }

    async fn line(&mut self, line: Line) -> ControlFlow<()> {
        let Line::Complete(line) = line else {
            let limit = self.server.sessions.max_client_frame_bytes();
            return self.answer(codec::line_too_long(limit)).await;
        };
        if line.is_empty() {
            return ControlFlow::Continue(());
        }
        let action = match ClientMessage::decode(&line) {
            Ok(message) => self.stage.action(message),
            Err(error) => self.stage.fault(error),
        };
        self.act(action).await
    }

    async fn act(&mut self, action: Action) -> ControlFlow<()> {
        match action {
            Action::Answer(event) => self.answer(event).await,
            Action::Close(event) => {
                let _ = self.answer(event).await;
                ControlFlow::Break(())
            }
            Action::Greet { request_id, version } => {
                self.stage = Stage::Ready { version };
                let event = ServerEvent::Initialized {
                    request_id,
                    protocol_version: version,
                    server: server_info(),
                };
                self.answer(event).await
            }
            Action::Control(command) => self.manage(command).await,
            Action::Start { start, version } => self.start(start, version).await,
            Action::Submit(message) => self.submit(message).await,
        }
    }

    async fn manage(&mut self, command: Command) -> ControlFlow<()> {
        let refusal = match &self.server.components {
            Some(components) => {
                let begin = || {
                    let (outbox, stop) = (self.outbox.clone(), self.stop.clone());
                    Commands::begin(Arc::clone(components), outbox, stop, &self.server.tasks)
                };
                self.commands.get_or_insert_with(begin).take(command)
            }
            None => Some(ServerEvent::error(
                Some(command.request_id),
                ErrorCode::Unsupported,
                "components are managed over the daemon's socket only; connect there",
            )),
        };
        match refusal {
            Some(refusal) => self.answer(refusal).await,
            None => ControlFlow::Continue(()),
        }
    }

    async fn start(&mut self, start: SessionStart, version: u32) -> ControlFlow<()> {
        let options = SessionOptions { protocol_version: version, outbox: self.outbox.clone() };
        match self.server.sessions.start(start, options).await {
            Ok(session) => {
                self.session = Some(session);
                self.stage = Stage::Session { version };
                ControlFlow::Continue(())
            }
            Err(refusal) => self.answer(refusal).await,
        }
    }

    async fn submit(&self, message: ClientMessage) -> ControlFlow<()> {
        match &self.session {
            // The session answers every message, wrong ones too.
            Some(session) if session.submit(message).await.is_ok() => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    async fn answer(&self, event: ServerEvent) -> ControlFlow<()> {
        send(&self.outbox, &event).await
    }
}

/// Reads what is there and splits it; 0 at the end of the stream. The buffer lives only while
/// there is something to read: a connection that waits holds none. Safe to cancel.
async fn read<R: AsyncRead + Unpin>(
    reader: &mut R,
    decoder: &mut LineDecoder,
    lines: &mut VecDeque<Line>,
) -> io::Result<usize> {
    poll_fn(|cx| {
        let mut bytes = [MaybeUninit::uninit(); READ_BUFFER_BYTES];
        let mut bytes = ReadBuf::uninit(&mut bytes);
        ready!(Pin::new(&mut *reader).poll_read(cx, &mut bytes))?;
        decoder.push(bytes.filled(), |line| lines.push_back(line));
        Poll::Ready(Ok(bytes.filled().len()))
    })
    .await
}

/// Sends what belongs to no turn; a client that does not read for 3 s loses its connection.
async fn send(outbox: &Outbox, event: &ServerEvent) -> ControlFlow<()> {
    let limit = Duration::from_millis(BACKPRESSURE_MS);
    match outbox.send_within(event, limit).await {
        Ok(()) => ControlFlow::Continue(()),
        Err(OutboxError::TooLarge { limit }) => {
            tracing::error!(limit, "an answer was too large for a frame and was dropped");
            ControlFlow::Continue(())
        }
        Err(OutboxError::Closed | OutboxError::Backpressure) => ControlFlow::Break(()),
    }
}
