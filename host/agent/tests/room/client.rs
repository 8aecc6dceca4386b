//! A connection that reads.

use std::{collections::VecDeque, path::Path, sync::Arc, time::Duration};

use scv_agent::{
    Agent, AgentConfig, Outbox, OutboxLimits, OutboxReader, Session, SessionError, SessionOptions,
};
use scv_protocol::{ApprovalId, ClientMessage, ServerEvent, SessionId, SessionStart, TurnId};
use serde_json::Value;

/// Long enough for a busy machine; a wait that takes it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    pub(crate) session: Session,
    pub(crate) outbox: Outbox,
    pub(crate) folder: tempfile::TempDir,
    reader: OutboxReader,
    events: VecDeque<ServerEvent>,
    seq: u64,
}

pub(crate) fn agent() -> Arc<Agent> {
    Agent::new(AgentConfig::default()).expect("the default is fine")
}

pub(crate) fn start_in(folder: &Path) -> SessionStart {
    SessionStart {
        request_id: "start".into(),
        cwd: folder.to_owned(),
        provider: None,
        model: None,
        base_url: None,
        no_tools: false,
    }
}

pub(crate) async fn connect(agent: &Agent) -> Client {
    connect_with(agent, |_| {}).await.expect("a session")
}

pub(crate) async fn connect_with(
    agent: &Agent,
    change: impl FnOnce(&mut SessionStart),
) -> Result<Client, SessionError> {
    connect_as(3, agent, change).await
}

pub(crate) async fn connect_as(
    protocol_version: u32,
    agent: &Agent,
    change: impl FnOnce(&mut SessionStart),
) -> Result<Client, SessionError> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut start = start_in(folder.path());
    change(&mut start);
    let (outbox, reader) = Outbox::channel(OutboxLimits::default());
    let options = SessionOptions { protocol_version, outbox: outbox.clone() };
    let session = agent.start_session(start, options).await?;
    let mut client = Client { session, outbox, folder, reader, events: VecDeque::new(), seq: 0 };
    assert_eq!(kind(&client.next().await), "session.started");
    assert_eq!(kind(&client.next().await), "queue.snapshot");
    Ok(client)
}

impl Client {
    /// The next event; checks `seq`.
    pub(crate) async fn next(&mut self) -> ServerEvent {
        let waiting = async {
            while self.events.is_empty() {
                let frames = self.reader.next().await.expect("the connection is open");
                let lines = frames.bytes().split_inclusive(|byte| *byte == b'\n');
                let events = lines.map(|line| serde_json::from_slice(line).expect("an event"));
                self.events.extend(events);
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("an event in time");
        let event = self.events.pop_front().expect("an event");
        let json = serde_json::to_value(&event).expect("JSON");
        if let Some(seq) = json.get("seq").and_then(Value::as_u64) {
            assert_eq!(seq, self.seq + 1, "{json}");
            self.seq = seq;
        }
        event
    }

    /// All events up to and with the first of this type.
    pub(crate) async fn until(&mut self, wanted: &str) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        loop {
            events.push(self.next().await);
            if events.last().is_some_and(|event| kind(event) == wanted) {
                return events;
            }
        }
    }

    /// All events up to and with the end of the turn.
    pub(crate) async fn until_end(&mut self) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        while !events.last().is_some_and(ServerEvent::is_terminal) {
            events.push(self.next().await);
        }
        events
    }

    pub(crate) async fn start(&self, prompt: &str) {
        let (request_id, session_id) = ("turn".to_owned(), self.id());
        let prompt = prompt.to_owned();
        self.submit(ClientMessage::TurnStart { request_id, session_id, prompt }).await;
    }

    /// A whole turn without approvals.
    pub(crate) async fn turn(&mut self, prompt: &str) -> Vec<ServerEvent> {
        self.start(prompt).await;
        self.until_end().await
    }

    /// A whole turn in which every call is approved.
    pub(crate) async fn approved_turn(&mut self, prompt: &str) -> Vec<ServerEvent> {
        self.start(prompt).await;
        let mut events = Vec::new();
        while !events.last().is_some_and(ServerEvent::is_terminal) {
            let event = self.next().await;
            if let ServerEvent::ApprovalRequested { approval_id, .. } = &event {
                self.resolve(approval_id.clone(), true).await;
            }
            events.push(event);
        }
        events
    }

    pub(crate) async fn cancel(&self, turn_id: TurnId) {
        let (request_id, session_id) = ("cancel".to_owned(), self.id());
        self.submit(ClientMessage::TurnCancel { request_id, session_id, turn_id }).await;
    }

    pub(crate) async fn resolve(&self, approval_id: ApprovalId, approved: bool) {
        let (request_id, session_id) = ("resolve".to_owned(), self.id());
        let message =
            ClientMessage::ApprovalResolve { request_id, session_id, approval_id, approved };
        self.submit(message).await;
    }

    pub(crate) async fn submit(&self, message: ClientMessage) {
        self.session.submit(message).await.expect("the session lives");
    }

    pub(crate) fn id(&self) -> SessionId {
        self.session.id().clone()
    }

    /// Ends the session and gives what was still to be read.
    pub(crate) async fn close(self) -> Vec<ServerEvent> {
        let Self { session, outbox, mut reader, events, .. } = self;
        session.close().await;
        outbox.close();
        let mut events = Vec::from(events);
        while let Some(frames) = reader.next().await {
            let lines = frames.bytes().split_inclusive(|byte| *byte == b'\n');
            events.extend(
                lines.map(|line| serde_json::from_slice::<ServerEvent>(line).expect("an event")),
            );
        }
        events
    }
}

/// The event's `type`.
pub(crate) fn kind(event: &ServerEvent) -> String {
    let json = serde_json::to_value(event).expect("JSON");
    json["type"].as_str().expect("a type").to_owned()
}

pub(crate) fn kinds(events: &[ServerEvent]) -> Vec<String> {
    events.iter().map(kind).collect()
}

/// The last complete message.
pub(crate) fn answer(events: &[ServerEvent]) -> String {
    let messages = events.iter().rev().find_map(|event| match event {
        ServerEvent::AssistantCompleted { content, .. } => Some(content.to_string()),
        _ => None,
    });
    messages.expect("a message")
}

/// All deltas together.
pub(crate) fn shown(events: &[ServerEvent]) -> String {
    let deltas = events.iter().filter_map(|event| match event {
        ServerEvent::AssistantDelta { content, .. } => Some(content.as_str()),
        _ => None,
    });
    deltas.collect()
}

/// What the tools gave, and whether they succeeded.
pub(crate) fn outputs(events: &[ServerEvent]) -> Vec<(String, bool)> {
    let outputs = events.iter().filter_map(|event| match event {
        ServerEvent::ToolCompleted { output, success, .. } => Some((output.clone(), *success)),
        _ => None,
    });
    outputs.collect()
}

pub(crate) fn turn_of(event: &ServerEvent) -> TurnId {
    match event {
        ServerEvent::TurnStarted { at, .. } => at.turn_id.clone(),
        other => panic!("a started turn, not {other:?}"),
    }
}

pub(crate) fn approval_of(event: &ServerEvent) -> ApprovalId {
    match event {
        ServerEvent::ApprovalRequested { approval_id, .. } => approval_id.clone(),
        other => panic!("an approval request, not {other:?}"),
    }
}
