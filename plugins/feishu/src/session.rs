//! A session: one long connection of one account, what was missed before it, and sending.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex as StdMutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use scv_plugin_api::{
    BatchToken, Result, Session, Stop,
    wire::{Batch, Fault, Inbound, InboundKind, Outgoing, SendOutcome},
};
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

use crate::{
    bot::Bot,
    catchup::{self, Page, Refusals},
    checkpoint::Checkpoint,
    endpoint::discover,
    limits::{GOODBYE_MS, LIVE_WAIT_MS, MAX_WAIT_MS, OWN_MESSAGES_COUNT, WAIT_MARGIN_MS},
    message::{Incoming, Read, read},
    reader::{Reader, Receipt},
    rest::Api,
    send,
    socket::{self, Inbox, Live},
};

/// One account, connected.
pub struct FeishuSession {
    api: Arc<Api>,
    bot: Bot,
    inbox: Arc<Inbox>,
    stop: Stop,
    /// Locked for a whole read; the SDK never runs two at once.
    reading: Mutex<Reading>,
    own: Own,
    /// The connection's task and the catch-up's; they end with the session.
    tasks: Mutex<JoinSet<()>>,
}

struct Reading {
    reader: Reader,
    /// What was missed; none once all of it was read.
    missed: Option<mpsc::Receiver<Page>>,
    /// Events wait until now for what was missed before them.
    live_from: Instant,
    /// The host knows that the connection is open.
    told: bool,
}

impl FeishuSession {
    /// Connects, and begins to read both ways.
    pub(crate) async fn connect(
        api: Arc<Api>,
        checkpoint: Option<&str>,
        refusals: Refusals,
        stop: Stop,
    ) -> Result<Self> {
        let mut checkpoint = Checkpoint::read(checkpoint)?;
        let bot = Bot::new(api.clone());
        let (endpoint, _) = tokio::join!(discover(&api), bot.id());
        let endpoint = endpoint?;
        let brand = api.credentials().brand;
        let socket = socket::dial(api.http(), brand, &endpoint).await?;
        let inbox = Arc::new(Inbox::default());
        let plan = checkpoint.begin(now_ms());
        let (pages, missed) = mpsc::channel(1);
        let mut tasks = JoinSet::new();
        tasks.spawn({
            let (inbox, stop) = (inbox.clone(), stop.clone());
            async move { socket::run(socket, &inbox, &endpoint, brand, &stop).await }
        });
        tasks.spawn({
            let (api, stop) = (api.clone(), stop.clone());
            async move {
                tokio::select! {
                    () = catchup::run(&api, plan, &refusals, &pages) => {}
                    () = stop.fired() => {}
                }
            }
        });
        let reading = Reading {
            reader: Reader::new(checkpoint),
            missed: Some(missed),
            live_from: Instant::now() + Duration::from_millis(LIVE_WAIT_MS),
            told: false,
        };
        Ok(Self {
            api,
            bot,
            inbox,
            stop,
            reading: Mutex::new(reading),
            own: Own::default(),
            tasks: Mutex::new(tasks),
        })
    }

    async fn take_page(&self, reading: &mut Reading, page: Page) {
        let reader = &mut reading.reader;
        let group = reader.checkpoint.is_group(&page.chat).unwrap_or(true);
        let bot = self.bot_id(group && !page.messages.is_empty()).await;
        for message in &page.messages {
            let inbound = self.read(message, Read { bot: bot.as_deref(), group });
            // What starts no turn is not worth a place in the host's memory of ids.
            if inbound.kind != InboundKind::Ignored {
                reader.push(inbound, None);
            }
        }
        reader.checkpoint.caught_up(&page.chat, page.newest_ms, page.is_last, now_ms());
        reader.seal();
    }

    async fn take_live(&self, reading: &mut Reading, events: Vec<Live>) {
        let reader = &mut reading.reader;
        let bot = self.bot_id(events.iter().any(|live| live.message.group == Some(true))).await;
        for Live { message, frame, received, .. } in events {
            let group = message.group.unwrap_or(true);
            let inbound = self.read(&message, Read { bot: bot.as_deref(), group });
            reader.checkpoint.received(&message.chat, group, message.created_ms, now_ms());
            reader.push(inbound, Some(Receipt { frame, received }));
        }
        reader.seal();
    }

    /// Groups need it; everybody else can do without.
    async fn bot_id(&self, group: bool) -> Option<String> {
        if group { self.bot.id().await } else { self.bot.known_id().await }
    }

    fn read(&self, message: &Incoming, reader: Read<'_>) -> Inbound {
        match self.own.contains(&message.id) {
            true => Inbound { id: message.id.clone(), ..Inbound::default() },
            false => read(message, reader),
        }
    }
}

impl Session for FeishuSession {
    async fn next_batch(&self, ack: Option<BatchToken>) -> Result<Batch> {
        let mut reading = self.reading.lock().await;
        let reading = &mut *reading;
        let durable = reading.reader.acknowledge(ack.as_deref());
        self.inbox.acknowledge(
            durable
                .into_iter()
                .map(|receipt| receipt.frame.acknowledge(receipt.received.elapsed().as_millis())),
        );
        if !std::mem::replace(&mut reading.told, true) {
            return Ok(reading.reader.nothing());
        }
        let deadline = Instant::now() + Duration::from_millis(MAX_WAIT_MS as u64 - WAIT_MARGIN_MS);
        loop {
            if let Some(batch) = reading.reader.next_part() {
                return Ok(batch);
            }
            let waits = reading.missed.is_some() && Instant::now() < reading.live_from;
            tokio::select! {
                biased;
                () = self.stop.fired() => return Err(Fault::cancelled("the session is closing")),
                page = next_page(&mut reading.missed) => match page {
                    Some(page) => self.take_page(reading, page).await,
                    None => reading.missed = None,
                },
                events = self.inbox.take(), if !waits => self.take_live(reading, events?).await,
                () = sleep_until(reading.live_from), if waits => {}
                () = sleep_until(deadline) => return Ok(reading.reader.nothing()),
            }
        }
    }

    async fn send(&self, message: Outgoing) -> Result<SendOutcome> {
        let outcome = send::send(&self.api, &message).await;
        if let SendOutcome::Accepted { receipt: Some(id) } = &outcome {
            self.own.add(id);
        }
        Ok(outcome)
    }

    async fn close(&self) {
        let mut tasks = self.tasks.lock().await;
        let goodbye = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout(Duration::from_millis(GOODBYE_MS), goodbye).await;
        tasks.shutdown().await;
    }
}

/// Never ends without a catch-up that runs.
async fn next_page(missed: &mut Option<mpsc::Receiver<Page>>) -> Option<Page> {
    match missed {
        Some(pages) => pages.recv().await,
        None => std::future::pending().await,
    }
}

/// The messages that this session sent: one report saw them come back as the owner's.
#[derive(Default)]
struct Own(StdMutex<VecDeque<String>>);

impl Own {
    fn add(&self, id: &str) {
        let mut ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.truncate(OWN_MESSAGES_COUNT - 1);
        ids.push_front(id.to_owned());
    }

    fn contains(&self, id: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|own| own == id)
    }
}

/// The platform's times are of the real clock.
fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
