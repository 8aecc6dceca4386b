//! One turn: ask the model, run what it calls, until it calls nothing more.

use std::collections::VecDeque;

use scv_protocol::{ApprovalId, ServerEvent, ToolError, TurnFailure, TurnId, TurnRef, Usage};
use serde_json::Value;

use super::{Machine, Output, WorkId, history::Mark};
use crate::{
    message::{Item, ToolCall},
    provider::{Failure, ProviderEvent, Response},
    tools::{Call, ToolOutcome},
};

pub(super) struct Turn {
    pub(super) id: TurnId,
    pub(super) request_id: String,
    mark: Mark,
    steps: u32,
    usage: Option<Usage>,
    /// Calls of the last response that were not proposed yet.
    calls: VecDeque<ToolCall>,
    phase: Phase,
}

enum Phase {
    /// The provider answers.
    Asking(WorkId),
    /// A person decides.
    Approving { approval_id: ApprovalId, tag: CallTag, call: Call },
    /// A tool runs; a cancelled one still has to end.
    Running { work: WorkId, tag: CallTag, cancelled: bool },
}

/// What events say of a call.
pub(super) struct CallTag {
    pub(super) id: String,
    pub(super) name: String,
}

/// No such approval is open.
pub(super) struct NotOpen;

impl Machine {
    /// Starts a turn; none may be running.
    pub(super) fn begin(&mut self, request_id: String, prompt: String) {
        debug_assert!(self.is_idle(), "one turn at a time");
        let mark = self.history.mark();
        self.history.push(Item::User(prompt));
        let work = self.next_work();
        self.turn = Some(Turn {
            id: self.turn_id(),
            request_id,
            mark,
            steps: 0,
            usage: None,
            calls: VecDeque::new(),
            phase: Phase::Asking(work),
        });
        self.emit_turn(|at| ServerEvent::TurnStarted { at, origin: None });
        self.ask(work);
    }

    /// Starts the next queued prompt, if it is time for one.
    pub(super) fn start_next(&mut self) {
        if self.paused || self.closing || !self.is_idle() {
            return;
        }
        let Some(entry) = self.queue.pop() else {
            return;
        };
        let at = self.session_ref(Some(entry.submitter.clone()));
        self.emit(ServerEvent::QueueDequeued { at, queue_id: entry.queue_id });
        self.begin(entry.submitter, entry.prompt);
    }

    pub(super) fn provider(&mut self, work: WorkId, event: ProviderEvent) {
        let asking = self.turn.as_ref().is_some_and(|turn| turn.is_asking(work));
        if !asking {
            return;
        }
        match event {
            ProviderEvent::Delta(content) => self.delta(work, content),
            ProviderEvent::Completed(response) => self.response(response),
            ProviderEvent::Failed(failure) => self.fail(failure),
        }
    }

    pub(super) fn tool(&mut self, work: WorkId, outcome: ToolOutcome) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        if !matches!(&turn.phase, Phase::Running { work: running, .. } if *running == work) {
            return;
        }
        // Any phase will do: both ways on from here set the next one or end the turn.
        let phase = std::mem::replace(&mut turn.phase, Phase::Asking(work));
        let Phase::Running { tag, cancelled, .. } = phase else {
            return;
        };
        if cancelled {
            let outcome = ToolOutcome { error: Some(ToolError::Cancelled), ..outcome };
            self.emit_completed(&tag, &outcome);
            return self.end_cancelled();
        }
        if self.record(tag, outcome) {
            self.next_call();
        }
    }

    /// What a running tool does is told and forgotten: it is no part of the history.
    pub(super) fn progress(&mut self, work: WorkId, text: String) {
        let Some(Turn { phase: Phase::Running { work: running, tag, .. }, .. }) = &self.turn else {
            return;
        };
        if *running == work {
            let call_id = tag.id.clone();
            self.emit_turn(|at| ServerEvent::ToolProgress { at, call_id, text });
        }
    }

    pub(super) fn resolve(&mut self, id: &ApprovalId, approved: bool) -> Result<(), NotOpen> {
        let turn = self.turn.as_mut().ok_or(NotOpen)?;
        if !matches!(&turn.phase, Phase::Approving { approval_id, .. } if approval_id == id) {
            return Err(NotOpen);
        }
        self.last_work += 1;
        let work = WorkId(self.last_work);
        let phase = std::mem::replace(&mut turn.phase, Phase::Asking(work));
        let Phase::Approving { tag, call, .. } = phase else {
            return Err(NotOpen);
        };
        if approved {
            self.run(work, tag, call);
        } else if self.record(tag, ToolOutcome::denied()) {
            self.next_call();
        }
        Ok(())
    }

    /// Ends the turn as soon as nothing of it runs any more.
    pub(super) fn cancel(&mut self) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        match &mut turn.phase {
            Phase::Running { cancelled: true, .. } => {}
            Phase::Running { work, cancelled, .. } => {
                *cancelled = true;
                let work = *work;
                self.out.push(Output::Stop(work));
            }
            Phase::Asking(work) => {
                let work = *work;
                self.out.push(Output::Stop(work));
                self.end_cancelled();
            }
            Phase::Approving { tag, .. } => {
                let tag = CallTag { id: tag.id.clone(), name: tag.name.clone() };
                self.emit_completed(&tag, &ToolOutcome::cancelled());
                self.end_cancelled();
            }
        }
    }

    fn ask(&mut self, work: WorkId) {
        let max_steps = self.facts.max_steps;
        let budget = usize::try_from(self.facts.context.budget_bytes()).unwrap_or(usize::MAX);
        let budget = budget.saturating_sub(self.facts.overhead_bytes);
        let Some(turn) = &mut self.turn else {
            return;
        };
        if turn.steps >= max_steps {
            let text = format!("the turn took {max_steps} steps without an end; ask for less");
            return self.fail(Failure::new(TurnFailure::StepLimit, text));
        }
        turn.steps += 1;
        turn.phase = Phase::Asking(work);
        match self.history.fit(budget, turn.mark) {
            Ok(None) => {}
            Ok(Some(compaction)) => self.emit_compacted(&compaction),
            Err(_) => {
                let text = "the turn is larger than the model's context; ask for less at a time";
                return self.fail(Failure::new(TurnFailure::ContextLimit, text));
            }
        }
        self.out.push(Output::Ask(work));
    }

    fn delta(&mut self, work: WorkId, content: String) {
        if content.is_empty() {
            return;
        }
        if !self.fits(&content) {
            self.out.push(Output::Stop(work));
            return self.fail(too_large());
        }
        self.emit_turn(|at| ServerEvent::AssistantDelta { at, content });
    }

    fn response(&mut self, response: Response) {
        let Response { message, usage } = response;
        if !self.fits(&message.text) {
            return self.fail(too_large());
        }
        let content = message.text.clone();
        self.emit_turn(|at| ServerEvent::AssistantCompleted { at, content });
        let Some(turn) = &mut self.turn else {
            return;
        };
        turn.usage = add_usage(turn.usage, usage);
        turn.calls = message.calls.iter().cloned().collect();
        if self.remember(Item::Assistant(message)) {
            self.next_call();
        }
    }

    /// Goes through the calls of the last response, as far as it goes without waiting.
    fn next_call(&mut self) {
        loop {
            let Some(turn) = &mut self.turn else {
                return;
            };
            let Some(call) = turn.calls.pop_front() else {
                return self.after_calls();
            };
            if self.propose(call) {
                return;
            }
        }
    }

    /// All calls have their outputs: the model goes on, or it has called none and is done.
    fn after_calls(&mut self) {
        if matches!(self.history.last(), Some(Item::ToolOutput { .. })) {
            let work = self.next_work();
            return self.ask(work);
        }
        let Some(turn) = &self.turn else {
            return;
        };
        let (steps, usage) = (turn.steps, turn.usage);
        self.end(|at| ServerEvent::TurnCompleted { at, steps, usage, origin: None });
    }

    /// Whether the turn now waits (or has ended); otherwise the call is answered already.
    fn propose(&mut self, call: ToolCall) -> bool {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        let planned = self.facts.toolbox.plan(&call.name, &arguments);
        let tag = CallTag { id: call.id, name: call.name };
        let (call_id, name) = (tag.id.clone(), tag.name.clone());
        self.emit_turn(|at| ServerEvent::ToolProposed { at, call_id, name, arguments });
        let plan = match planned {
            Ok(plan) => plan,
            Err(refusal) => return !self.record(tag, refusal.into()),
        };
        if !self.facts.toolbox.needs_approval(plan.risk) {
            let work = self.next_work();
            self.run(work, tag, plan.call);
            return true;
        }
        let approval_id = self.approval_id();
        let request = (tag.id.clone(), tag.name.clone(), approval_id.clone());
        if let Some(turn) = &mut self.turn {
            turn.phase = Phase::Approving { approval_id, tag, call: plan.call };
        }
        let cwd = plan.cwd.map_or_else(|| self.facts.cwd.clone(), |cwd| self.facts.cwd.join(cwd));
        let (call_id, name, approval_id) = request;
        self.emit_turn(|at| ServerEvent::ApprovalRequested {
            at,
            approval_id,
            call_id,
            name,
            risk: plan.risk,
            cwd,
            summary: plan.summary,
        });
        true
    }

    fn run(&mut self, work: WorkId, tag: CallTag, call: Call) {
        let (call_id, name) = (tag.id.clone(), tag.name.clone());
        if let Some(turn) = &mut self.turn {
            turn.phase = Phase::Running { work, tag, cancelled: false };
        }
        self.emit_turn(|at| ServerEvent::ToolStarted { at, call_id, name });
        self.out.push(Output::Run(work, call));
    }

    /// Answers a call, to the client and in the history; false when that ended the turn.
    fn record(&mut self, tag: CallTag, outcome: ToolOutcome) -> bool {
        self.emit_completed(&tag, &outcome);
        self.remember(Item::ToolOutput { call_id: tag.id, output: outcome.output })
    }

    /// False when the turn has outgrown the session's memory, and has failed.
    fn remember(&mut self, item: Item) -> bool {
        self.history.push(item);
        let Some(turn) = &self.turn else {
            return false;
        };
        if self.history.turn_is_within(turn.mark, &self.facts.history) {
            return true;
        }
        let text = "the turn is larger than a session may remember; ask for less at a time";
        self.fail(Failure::new(TurnFailure::HistoryLimit, text));
        false
    }

    fn fail(&mut self, failure: Failure) {
        let Failure { code, message } = failure;
        self.forget_turn();
        self.end(|at| ServerEvent::TurnFailed { at, code, message, origin: None });
    }

    fn end_cancelled(&mut self) {
        self.forget_turn();
        self.end(|at| ServerEvent::TurnCancelled { at, origin: None });
    }

    fn forget_turn(&mut self) {
        if let Some(turn) = &self.turn {
            self.history.reset(turn.mark);
        }
    }

    /// The only place where a turn ends.
    fn end(&mut self, terminal: impl FnOnce(TurnRef) -> ServerEvent) {
        self.emit_turn(terminal);
        let Some(turn) = self.turn.take() else {
            return;
        };
        if let Some(trim) = self.history.trim(&self.facts.history) {
            let at = self.session_ref(Some(turn.request_id));
            self.emit(ServerEvent::SessionTrimmed {
                at,
                removed_messages: trim.removed as u64,
                history_bytes: trim.bytes as u64,
            });
        }
        self.start_next();
    }
}

impl Turn {
    fn is_asking(&self, work: WorkId) -> bool {
        matches!(self.phase, Phase::Asking(asking) if asking == work)
    }
}

fn too_large() -> Failure {
    let text = "the answer does not fit into a frame of the protocol; ask for a shorter one";
    Failure::new(TurnFailure::ResponseLimit, text)
}

/// What the provider does not report stays absent.
fn add_usage(total: Option<Usage>, step: Option<Usage>) -> Option<Usage> {
    let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    let (Some(a), Some(b)) = (total, step) else {
        return total.or(step);
    };
    Some(Usage {
        input_tokens: add(a.input_tokens, b.input_tokens),
        output_tokens: add(a.output_tokens, b.output_tokens),
    })
}
