//! What clients may ask of a session.

use scv_protocol::{
    ApprovalId, ClientMessage, ErrorCode, QueueEntry, QueueId, ServerEvent, SessionId, TurnId,
    limits::MAX_PROMPT_BYTES,
};

use crate::limits::MAX_REQUEST_ID_BYTES;

use super::{Machine, queue::QueueFault};

impl Machine {
    pub(super) fn client(&mut self, message: ClientMessage) {
        if message.request_id().len() > MAX_REQUEST_ID_BYTES {
            let text = "the request_id is longer than 1024 bytes; use a shorter one";
            return self.emit(ServerEvent::error(None, ErrorCode::InvalidRequest, text));
        }
        if session_of(&message).is_some_and(|id| *id != self.facts.session_id) {
            let text = "this connection has no such session; use the id of session.started";
            let request_id = message.request_id().to_owned();
            return self.refuse(request_id, ErrorCode::SessionNotFound, text);
        }
        match message {
            ClientMessage::TurnStart { request_id, prompt, .. } => {
                self.turn_start(request_id, prompt)
            }
            ClientMessage::TurnCancel { request_id, turn_id, .. } => {
                self.turn_cancel(request_id, &turn_id)
            }
            ClientMessage::ApprovalResolve { request_id, approval_id, approved, .. } => {
                self.approval_resolve(request_id, &approval_id, approved)
            }
            ClientMessage::QueueUpdate { request_id, queue_id, revision, prompt, .. } => {
                self.queue_update(request_id, &queue_id, revision, prompt)
            }
            ClientMessage::QueueMove {
                request_id, queue_id, revision, before_queue_id, ..
            } => self.queue_move(request_id, &queue_id, revision, before_queue_id.as_ref()),
            ClientMessage::QueueRemove { request_id, queue_id, revision, .. } => {
                self.queue_remove(request_id, queue_id, revision)
            }
            ClientMessage::SessionPause { request_id, paused, .. } => {
                self.pause(request_id, paused)
            }
            ClientMessage::SessionClear { request_id, .. } => self.clear(request_id),
            other => self.not_of_a_session(&other),
        }
    }

    fn turn_start(&mut self, request_id: String, prompt: String) {
        if let Err(reason) = check_prompt(&prompt) {
            return self.refuse(request_id, ErrorCode::InvalidRequest, reason);
        }
        if self.is_idle() {
            return self.begin(request_id, prompt);
        }
        let queue_id = self.queue_id();
        match self.queue.push(queue_id, prompt, request_id.clone()) {
            Ok((entry, position)) => {
                let at = self.session_ref(Some(request_id));
                self.emit(ServerEvent::QueueEnqueued { at, entry, position });
            }
            Err(fault) => self.refuse_queue(request_id, fault),
        }
    }

    fn turn_cancel(&mut self, request_id: String, turn_id: &TurnId) {
        if self.turn.as_ref().is_some_and(|turn| turn.id == *turn_id) {
            return self.cancel();
        }
        let text = "no such turn is running; it may have ended already";
        self.refuse(request_id, ErrorCode::TurnNotFound, text);
    }

    fn approval_resolve(&mut self, request_id: String, approval_id: &ApprovalId, approved: bool) {
        if self.resolve(approval_id, approved).is_err() {
            let text = "no such approval is open; it may have been answered already";
            self.refuse(request_id, ErrorCode::ApprovalNotFound, text);
        }
    }

    fn queue_update(
        &mut self,
        request_id: String,
        queue_id: &QueueId,
        revision: u64,
        prompt: String,
    ) {
        if let Err(reason) = check_prompt(&prompt) {
            return self.refuse(request_id, ErrorCode::InvalidRequest, reason);
        }
        match self.queue.update(queue_id, revision, prompt) {
            Ok(entry) => {
                let at = self.session_ref(Some(request_id));
                self.emit(ServerEvent::QueueUpdated { at, entry });
            }
            Err(fault) => self.refuse_queue(request_id, fault),
        }
    }

    fn queue_move(
        &mut self,
        request_id: String,
        queue_id: &QueueId,
        revision: u64,
        before: Option<&QueueId>,
    ) {
        match self.queue.relocate(queue_id, revision, before) {
            Ok((entry, position)) => {
                let at = self.session_ref(Some(request_id));
                self.emit(ServerEvent::QueueMoved { at, entry, position });
            }
            Err(fault) => self.refuse_queue(request_id, fault),
        }
    }

    fn queue_remove(&mut self, request_id: String, queue_id: QueueId, revision: u64) {
        match self.queue.remove(&queue_id, revision) {
            Ok(()) => {
                let at = self.session_ref(Some(request_id));
                self.emit(ServerEvent::QueueRemoved { at, queue_id });
            }
            Err(fault) => self.refuse_queue(request_id, fault),
        }
    }

    fn pause(&mut self, request_id: String, paused: bool) {
        self.paused = paused;
        let at = self.session_ref(Some(request_id));
        self.emit(ServerEvent::SessionPaused { at, paused });
        self.start_next();
    }

    fn clear(&mut self, request_id: String) {
        if !self.is_idle() {
            let text = "a turn is running; cancel it or wait for its end";
            return self.refuse(request_id, ErrorCode::TurnActive, text);
        }
        self.history.clear();
        self.queue.clear();
        let at = self.session_ref(Some(request_id));
        self.emit(ServerEvent::SessionCleared { at });
    }

    /// The connection answers these itself; one that comes here anyway gets an answer, too.
    fn not_of_a_session(&mut self, message: &ClientMessage) {
        let (code, text) = match message {
            ClientMessage::SessionAttach { .. } => (
                ErrorCode::Unsupported,
                "sessions cannot be attached to; start one with session.start",
            ),
            _ => (
                ErrorCode::InvalidRequest,
                "this message is not for a session; open a connection of its own for it",
            ),
        };
        self.refuse(message.request_id().to_owned(), code, text);
    }

    fn refuse_queue(&mut self, request_id: String, fault: QueueFault) {
        let (code, message, entry): (_, _, Option<QueueEntry>) = match fault {
            QueueFault::NotFound => (
                ErrorCode::QueueNotFound,
                "no such prompt is queued; it may have started already",
                None,
            ),
            QueueFault::Conflict(entry) => (
                ErrorCode::QueueConflict,
                "the prompt has changed; try again with the revision of this entry",
                Some(entry),
            ),
            QueueFault::Full => (
                ErrorCode::QueueLimit,
                "the queue is full; wait for a turn to end or remove a prompt",
                None,
            ),
        };
        self.emit(ServerEvent::Error {
            request_id: Some(request_id),
            code,
            message: message.to_owned(),
            fatal: false,
            entry,
        });
    }
}

fn check_prompt(prompt: &str) -> Result<(), &'static str> {
    if prompt.trim().is_empty() {
        return Err("the prompt is empty; write what the agent should do");
    }
    if prompt.len() > MAX_PROMPT_BYTES {
        return Err("the prompt is longer than 256 KiB; put long text into a file");
    }
    Ok(())
}

const fn session_of(message: &ClientMessage) -> Option<&SessionId> {
    match message {
        ClientMessage::TurnStart { session_id, .. }
        | ClientMessage::TurnCancel { session_id, .. }
        | ClientMessage::ApprovalResolve { session_id, .. }
        | ClientMessage::QueueUpdate { session_id, .. }
        | ClientMessage::QueueMove { session_id, .. }
        | ClientMessage::QueueRemove { session_id, .. }
        | ClientMessage::SessionPause { session_id, .. }
        | ClientMessage::SessionClear { session_id, .. } => Some(session_id),
        _ => None,
    }
}
