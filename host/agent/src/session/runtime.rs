//! The task around the machine: feeds it, and does what it orders.

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};

use scv_protocol::{ClientMessage, ServerEvent, limits::CLEANUP_GRACE_MS};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    limits::MAX_HELD_EVENTS_COUNT,
    machine::{Input, Machine, Output, WorkId},
    outbox::{Outbox, OutboxError},
    provider::{Answer, Provider, ProviderEvent, Question},
    tools::{self, Call, ToolOutcome, Workshop},
};

/// Everything that a session's task owns.
pub(super) struct Runtime {
    machine: Machine,
    provider: Provider,
    system: String,
    workshop: Arc<Workshop>,
    outbox: Outbox,
    /// Events that the outbox has no room for yet, in order.
    held: VecDeque<ServerEvent>,
    work: Work,
}

/// What the machine has ordered. One thing at a time; dropping it ends it.
enum Work {
    None,
    Asking(WorkId, Answer),
    Running(WorkId, ToolRun),
}

/// A tool at work.
struct ToolRun {
    cancel: CancellationToken,
    outcome: Pin<Box<dyn Future<Output = ToolOutcome> + Send>>,
    progress: mpsc::Receiver<String>,
}

/// What the task wakes up for.
enum Wake {
    Input(Input),
    /// The first held event is on its way.
    Sent,
    /// Nobody can be reached any more.
    Lost(OutboxError),
    Shutdown,
}

impl Runtime {
    pub(super) fn new(
        machine: Machine,
        provider: Provider,
        system: String,
        workshop: Workshop,
        outbox: Outbox,
    ) -> Self {
        Self {
            machine,
            provider,
            system,
            workshop: Arc::new(workshop),
            outbox,
            held: VecDeque::new(),
            work: Work::None,
        }
    }

    /// Serves the session until it is cancelled or its client is gone, then winds it down.
    pub(super) async fn run(
        mut self,
        first: [ServerEvent; 2],
        mut messages: mpsc::Receiver<ClientMessage>,
        cancel: CancellationToken,
    ) {
        self.held.extend(first);
        let served = self.serve(&mut messages, &cancel).await;
        drop(messages);
        self.apply(Input::Shutdown);
        if let Err(error) = served {
            self.lose(error);
        }
        let grace = Duration::from_millis(CLEANUP_GRACE_MS);
        if timeout(grace, self.wind_down()).await.is_err() {
            tracing::debug!("a session was ended before its last events were written");
        }
    }

    async fn serve(
        &mut self,
        messages: &mut mpsc::Receiver<ClientMessage>,
        cancel: &CancellationToken,
    ) -> Result<(), OutboxError> {
        loop {
            self.gather()?;
            let wake = tokio::select! {
                biased;
                () = cancel.cancelled() => Wake::Shutdown,
                message = messages.recv(), if self.held.len() < MAX_HELD_EVENTS_COUNT => {
                    message.map_or(Wake::Shutdown, |message| Wake::Input(Input::Client(message)))
                }
                wake = progress(&mut self.work, &self.outbox, self.held.front()) => wake,
                // Last: a request is on its way before anybody hears that its turn has started.
                never = self.outbox.wake() => match never {},
            };
            match wake {
                Wake::Input(input) => self.apply(input),
                Wake::Sent => drop(self.held.pop_front()),
                Wake::Lost(error) => return Err(error),
                Wake::Shutdown => return Ok(()),
            }
        }
    }

    /// Waits for the end of what was cancelled, and for its last events to be queued.
    async fn wind_down(&mut self) {
        while !self.machine.is_idle() || !self.held.is_empty() {
            match progress(&mut self.work, &self.outbox, self.held.front()).await {
                Wake::Input(input) => self.apply(input),
                Wake::Sent => drop(self.held.pop_front()),
                Wake::Lost(error) => self.lose(error),
                Wake::Shutdown => return,
            }
            if self.outbox.is_closed() {
                self.held.clear();
            }
        }
    }

    /// Nobody reads any more; an event that no frame can hold ends the connection, too, because
    /// `seq` may have no gap.
    fn lose(&mut self, error: OutboxError) {
        if error != OutboxError::Closed {
            tracing::error!("an event could not be sent, its connection is closed: {error}");
        }
        self.outbox.close();
        self.held.clear();
    }

    /// Queues what there is, and with it the deltas that came with the same bytes: they leave in
    /// one write.
    fn gather(&mut self) -> Result<(), OutboxError> {
        self.flush()?;
        while self.held.is_empty()
            && let Work::Asking(work, answer) = &mut self.work
            && let Some(event) = answer.ready()
        {
            let input = Input::Provider(*work, event);
            self.apply(input);
            self.flush()?;
        }
        Ok(())
    }

    /// Queues what there is room for without waiting.
    fn flush(&mut self) -> Result<(), OutboxError> {
        while let Some(event) = self.held.front() {
            let Some(result) = self.outbox.send_later(event) else {
                return Ok(());
            };
            result?;
            self.held.pop_front();
        }
        Ok(())
    }

    fn apply(&mut self, input: Input) {
        if input.ends_its_work() {
            self.work = Work::None;
        }
        for output in self.machine.step(input) {
            match output {
                Output::Emit(event) => self.held.push_back(event),
                Output::Ask(work) => self.work = Work::Asking(work, self.ask()),
                Output::Run(work, call) => self.work = self.start(work, call),
                Output::Stop(work) => self.work.stop(work),
            }
        }
    }

    fn ask(&self) -> Answer {
        self.provider.ask(Question {
            system: &self.system,
            items: self.machine.history().window(),
            offers_tools: self.machine.offers_tools(),
        })
    }

    fn start(&self, work: WorkId, call: Call) -> Work {
        let cancel = CancellationToken::new();
        let (reporter, progress) = mpsc::channel(1);
        let run = tools::run(call, Arc::clone(&self.workshop), reporter, cancel.clone());
        Work::Running(work, ToolRun { cancel, outcome: Box::pin(run), progress })
    }
}

/// A panic must not leave a client waiting for a turn's end.
impl Drop for Runtime {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.outbox.close();
        }
    }
}

/// Waits for room for the first held event, or for the work. A provider is not asked for more
/// while its last events wait; a tool goes on, but nobody is told what it does. Safe to cancel.
async fn progress(work: &mut Work, outbox: &Outbox, held: Option<&ServerEvent>) -> Wake {
    let Some(event) = held else {
        return Wake::Input(work.next().await);
    };
    let sent = async {
        match outbox.send(event).await {
            Ok(()) => Wake::Sent,
            Err(error) => Wake::Lost(error),
        }
    };
    match work {
        Work::Running(work, run) => tokio::select! {
            biased;
            wake = sent => wake,
            outcome = &mut run.outcome => Wake::Input(Input::Tool(*work, outcome)),
        },
        Work::None | Work::Asking(..) => sent.await,
    }
}

impl Work {
    /// Never ends when there is no work. Safe to cancel.
    async fn next(&mut self) -> Input {
        match self {
            Self::Asking(work, answer) => Input::Provider(*work, answer.next().await),
            Self::Running(work, run) => tokio::select! {
                biased;
                Some(text) = run.progress.recv() => Input::Progress(*work, text),
                outcome = &mut run.outcome => Input::Tool(*work, outcome),
            },
            Self::None => std::future::pending().await,
        }
    }

    /// A request is dropped; a tool is told, and reports when it has ended.
    fn stop(&mut self, stopped: WorkId) {
        match self {
            Self::Asking(work, _) if *work == stopped => *self = Self::None,
            Self::Running(work, run) if *work == stopped => run.cancel.cancel(),
            _ => {}
        }
    }
}

impl Input {
    /// Whether the work that this comes from has nothing more to say.
    const fn ends_its_work(&self) -> bool {
        match self {
            Self::Tool(..) => true,
            Self::Provider(_, event) => !matches!(event, ProviderEvent::Delta(_)),
            Self::Client(_) | Self::Progress(..) | Self::Shutdown => false,
        }
    }
}
