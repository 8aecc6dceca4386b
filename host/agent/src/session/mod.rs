//! A session as its connection sees it: submit messages, close.

mod runtime;

use std::{path::PathBuf, time::Duration};

use cap_std::{ambient_authority, fs::Dir};
use scv_protocol::{
    ClientMessage, ErrorCode, ServerEvent, SessionId, SessionStart,
    limits::{
        BACKPRESSURE_MS, CLEANUP_GRACE_MS, MAX_PROMPT_HISTORY_BYTES,
        MAX_PROMPT_HISTORY_ITEMS_COUNT, MAX_TRANSCRIPT_BYTES, MAX_TRANSCRIPT_ITEMS_COUNT,
    },
};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    config::AgentConfig,
    id::{IdSource, RandomIds},
    limits::INBOX_COUNT,
    machine::{Facts, Machine},
    outbox::Outbox,
    prompt::system_prompt,
    provider::Provider,
    tools::{Toolbox, Workshop},
};
use runtime::Runtime;

/// What the connection knows.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// 2 or 3, as agreed in the handshake.
    pub protocol_version: u32,
    /// The connection's writer queue.
    pub outbox: Outbox,
}

/// Why a session did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// `cwd` is relative.
    #[error("cwd is not an absolute path; send one that begins with /")]
    RelativeCwd,
    /// `cwd` is no folder that can be opened.
    #[error("cwd is not a directory that can be opened; check the path")]
    NoDirectory,
    /// `cwd` is no UTF-8, so that no frame could name it.
    #[error("cwd is not UTF-8 after its links are followed; choose another directory")]
    NotUtf8,
    /// There is no such provider.
    #[error("there is no provider of this name; name one of those in the configuration")]
    UnknownProvider,
    /// The session's overrides make no usable provider.
    #[error("{0}")]
    Provider(String),
}

/// Why a message did not reach its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The session has ended.
    #[error("the session has ended")]
    Closed,
    /// The client sends and does not read the answers; the connection should be closed.
    #[error("the client does not read")]
    Backpressure,
}

/// One session. Dropping it cancels what runs; [`Session::close`] also waits for the end.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    inbox: mpsc::Sender<ClientMessage>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Session {
    /// Opens the workspace and starts the session's task.
    pub(crate) async fn start(
        config: &AgentConfig,
        model: String,
        provider: Provider,
        start: SessionStart,
        options: SessionOptions,
    ) -> Result<Self, SessionError> {
        let (cwd, dir) = open_workspace(start.cwd).await?;
        let id = SessionId::new(RandomIds.next());
        let system = system_prompt((!start.no_tools).then_some(cwd.as_path()));
        let toolbox = Toolbox { enabled: !start.no_tools, config: config.tools.clone() };
        let workshop = Workshop {
            dir,
            cwd: cwd.clone(),
            config: config.tools.clone(),
            secrets: config.secrets(),
        };
        let started = ServerEvent::SessionStarted {
            request_id: start.request_id.clone(),
            session_id: id.clone(),
            cwd: cwd.clone(),
            model,
            context_max_tokens: config.context.max_tokens,
            max_server_frame_bytes: config.max_server_frame_bytes,
            max_transcript_bytes: MAX_TRANSCRIPT_BYTES,
            max_transcript_items: MAX_TRANSCRIPT_ITEMS_COUNT,
            max_prompt_history_bytes: MAX_PROMPT_HISTORY_BYTES,
            max_prompt_history_items: MAX_PROMPT_HISTORY_ITEMS_COUNT,
        };
        let facts = Facts {
            session_id: id.clone(),
            protocol_version: options.protocol_version,
            cwd,
            max_steps: config.max_steps,
            context: config.context,
            overhead_bytes: system.len() + toolbox.definitions_len_bytes(),
            toolbox,
            history: config.history,
            max_server_frame_bytes: config.max_server_frame_bytes,
        };
        let mut machine = Machine::new(facts, Box::new(RandomIds));
        let snapshot = machine.open(start.request_id);
        let runtime = Runtime::new(machine, provider, system, workshop, options.outbox);
        let (inbox, messages) = mpsc::channel(INBOX_COUNT);
        let cancel = CancellationToken::new();
        let task = tokio::spawn(runtime.run([started, snapshot], messages, cancel.clone()));
        Ok(Self { id, inbox, cancel, task })
    }

    /// The session's id.
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// Hands a message of the client to the session, which answers all of them, wrong ones too.
    /// Returns at once while the client reads its answers.
    ///
    /// # Errors
    /// [`SubmitError::Closed`]; [`SubmitError::Backpressure`] after 3 seconds in which the client
    /// read nothing of what waits for it.
    pub async fn submit(&self, message: ClientMessage) -> Result<(), SubmitError> {
        let limit = Duration::from_millis(BACKPRESSURE_MS);
        match timeout(limit, self.inbox.send(message)).await {
            Ok(result) => result.map_err(|_| SubmitError::Closed),
            Err(_) => Err(SubmitError::Backpressure),
        }
    }

    /// Cancels what runs and waits for its end: 3 seconds, then it is aborted.
    pub async fn close(mut self) {
        self.cancel.cancel();
        let grace = Duration::from_millis(CLEANUP_GRACE_MS);
        if timeout(grace, &mut self.task).await.is_err() {
            self.task.abort();
            let _ = (&mut self.task).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl SessionError {
    /// The stable code.
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    /// The answer to `session.start`.
    pub fn event(&self, request_id: String) -> ServerEvent {
        ServerEvent::error(Some(request_id), self.code(), self.to_string())
    }
}

/// The folder with all links followed, and a handle that stays with it.
async fn open_workspace(cwd: PathBuf) -> Result<(PathBuf, Dir), SessionError> {
    if !cwd.is_absolute() {
        return Err(SessionError::RelativeCwd);
    }
    let open = move || {
        let cwd = cwd.canonicalize()?;
        let dir = Dir::open_ambient_dir(&cwd, ambient_authority())?;
        std::io::Result::Ok((cwd, dir))
    };
    let opened = tokio::task::spawn_blocking(open).await;
    let Ok(Ok((cwd, dir))) = opened else {
        return Err(SessionError::NoDirectory);
    };
    if cwd.to_str().is_none() {
        return Err(SessionError::NotUtf8);
    }
    Ok((cwd, dir))
}
