//! Events: each gets the next `seq` here, and nowhere else.

use scv_protocol::{ErrorCode, ServerEvent, SessionRef, TurnRef};

use super::{Machine, Output, history::Compaction, turn::CallTag};
use crate::{
    limits::{FRAME_ENVELOPE_BYTES, WORST_ESCAPE_BYTES},
    tools::ToolOutcome,
};

impl Machine {
    pub(super) fn emit(&mut self, event: ServerEvent) {
        self.out.push(Output::Emit(event));
    }

    pub(super) fn refuse(&mut self, request_id: String, code: ErrorCode, message: &str) {
        self.emit(ServerEvent::error(Some(request_id), code, message));
    }

    fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    pub(super) fn session_ref(&mut self, request_id: Option<String>) -> SessionRef {
        SessionRef { request_id, session_id: self.facts.session_id.clone(), seq: self.next_seq() }
    }

    pub(super) fn emit_completed(&mut self, tag: &CallTag, outcome: &ToolOutcome) {
        let (call_id, name) = (tag.id.clone(), tag.name.clone());
        let (output, truncated, error) = (outcome.output.clone(), outcome.truncated, outcome.error);
        self.emit_turn(|at| ServerEvent::ToolCompleted {
            at,
            call_id,
            name,
            success: error.is_none(),
            output,
            truncated,
            error,
            jobs: Vec::new(),
        });
    }

    pub(super) fn emit_compacted(&mut self, compaction: &Compaction) {
        let overhead = self.facts.overhead_bytes;
        let per_token = self.facts.context.bytes_per_token.max(1);
        let tokens = |bytes: usize| ((bytes + overhead) as u64).div_ceil(per_token);
        let (before_tokens, after_tokens) =
            (tokens(compaction.before_bytes), tokens(compaction.after_bytes));
        let removed_messages = compaction.removed as u64;
        self.emit_turn(|at| ServerEvent::ContextCompacted {
            at,
            before_tokens,
            after_tokens,
            removed_messages,
        });
    }

    /// Emits an event of the running turn; without one there is nothing to say. An event that
    /// the client's version does not know takes no number, so that it leaves no gap.
    pub(super) fn emit_turn(&mut self, event: impl FnOnce(TurnRef) -> ServerEvent) {
        let seq = self.seq + 1;
        let Some(turn) = &self.turn else {
            return;
        };
        let at = TurnRef {
            request_id: turn.request_id.clone(),
            session_id: self.facts.session_id.clone(),
            turn_id: turn.id.clone(),
            seq,
        };
        let event = event(at);
        if self.facts.protocol_version > 2 || event.in_version_2() {
            self.seq = seq;
            self.emit(event);
        }
    }

    /// Whether a frame with this text stays within the limit. Counts only when it could not.
    pub(super) fn fits(&self, text: &str) -> bool {
        let limit = self.facts.max_server_frame_bytes;
        text.len() * WORST_ESCAPE_BYTES + FRAME_ENVELOPE_BYTES <= limit
            || escaped_len(text) + FRAME_ENVELOPE_BYTES <= limit
    }
}

/// How long JSON makes a text.
fn escaped_len(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0x00..0x20 => WORST_ESCAPE_BYTES,
            _ => 1,
        })
        .sum()
}
