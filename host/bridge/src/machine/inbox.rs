//! What came in: which messages are new, which become turns, and which are answered at once.

use std::collections::{HashMap, HashSet};

use scv_plugin_api::{
    limits::MAX_MESSAGE_ID_BYTES,
    wire::{Batch, Inbound, InboundKind},
};
use scv_protocol::limits::MAX_PROMPT_BYTES;

use super::{
    Config, Machine, Note, Output, Purpose, Step, Turn, commands::Command, phrases, prompt,
};
use crate::{
    accounts::is_answered,
    limits::{
        MAX_CLAIMS_COUNT, MAX_CLAIMS_PER_CONVERSATION_COUNT, MAX_PENDING_COUNT,
        UNREADABLE_NOTICE_MS,
    },
    store::{Change, Claim, Pending, State},
};

/// Where reading stands.
#[derive(Default)]
pub(super) struct Inbox {
    is_online: bool,
    is_polling: bool,
    /// A batch waits to become durable: nothing more is asked for.
    is_storing: bool,
    /// The token of the session's last batch.
    ack: Option<String>,
    /// Conversations whose next new message must not know what was said before, while messages
    /// from before it still wait.
    pub(super) fresh: HashSet<String>,
    /// When each conversation was last told that something cannot be read.
    told_unreadable_ms: HashMap<String, u64>,
}

impl Inbox {
    pub(super) fn connected(&mut self) {
        self.is_online = true;
        self.is_polling = false;
        self.ack = None;
    }

    pub(super) const fn disconnected(&mut self) {
        self.is_online = false;
        self.is_polling = false;
    }

    pub(super) const fn durable(&mut self) {
        self.is_storing = false;
    }

    pub(super) const fn is_polling(&self) -> bool {
        self.is_polling
    }

    /// Asks for the next batch, unless so many replies wait that reading must wait for them.
    pub(super) fn poll(&mut self, step: &mut Step<'_>) {
        let is_full = step.state.pending().len() >= MAX_PENDING_COUNT;
        if !self.is_online || self.is_polling || self.is_storing || is_full {
            return;
        }
        self.is_polling = true;
        step.out.push(Output::Poll { ack: self.ack.clone() });
    }

    /// Whether a conversation should be told now that something cannot be read.
    fn tells_unreadable(&mut self, key: &str, now_ms: u64) -> bool {
        self.told_unreadable_ms.retain(|_, told| now_ms.abs_diff(*told) < UNREADABLE_NOTICE_MS);
        let is_due = !self.told_unreadable_ms.contains_key(key);
        if is_due {
            self.told_unreadable_ms.insert(key.to_owned(), now_ms);
        }
        is_due
    }
}

impl Machine {
    /// Claims, notices and the checkpoint of a batch become durable in one commit.
    pub(super) fn receive(&mut self, step: &mut Step<'_>, batch: Batch) {
        self.inbox.is_polling = false;
        self.inbox.ack = Some(batch.token);
        let mut plan = Plan::new(step.state);
        for message in &batch.messages {
            self.plan_message(step, &mut plan, message);
        }
        if plan.has_new {
            step.note(Note::Received);
        }
        let moves =
            !batch.checkpoint.is_empty() && step.state.cursor() != Some(batch.checkpoint.as_str());
        if moves {
            plan.changes.push(Change::Cursor(batch.checkpoint));
        }
        // Known messages are renewed only along with something else: alone they need no commit.
        if plan.changes.is_empty() && plan.seen.is_empty() {
            return;
        }
        plan.seen.append(&mut plan.renewed);
        if !plan.seen.is_empty() {
            plan.changes.push(Change::Seen(plan.seen));
        }
        self.inbox.is_storing = true;
        self.commits.begin(step, Purpose::Batch(plan.turns), plan.changes);
    }

    fn plan_message(&mut self, step: &mut Step<'_>, plan: &mut Plan<'_>, message: &Inbound) {
        if message.id.is_empty() || message.id.len() > MAX_MESSAGE_ID_BYTES {
            tracing::warn!("a message without a usable id was left out");
            return;
        }
        if plan.is_known(&message.id) {
            plan.renew(&message.id);
            return;
        }
        plan.has_new |= message.kind != InboundKind::Ignored;
        match self.judge(plan, step.now_ms, message) {
            Verdict::Seen => plan.seen.push(message.id.clone()),
            Verdict::Notice(text) => {
                let notice = self.notice(message, text.to_owned());
                plan.answer_at_once(&message.id, notice);
            }
            Verdict::Command(command) => {
                let text = self.obey(step, plan, message, command);
                let notice = self.notice(message, text);
                plan.answer_at_once(&message.id, notice);
            }
            Verdict::Turn(turn) => plan.claim(message, turn),
        }
        if let Some(key) = message.dedup_key.as_deref().filter(|key| !key.is_empty())
            && message.kind != InboundKind::Ignored
        {
            plan.add_key(key, step.now_ms);
        }
    }

    /// A command acts at once, before its answer is durable: doing it again does no harm.
    fn obey(
        &mut self,
        step: &mut Step<'_>,
        plan: &mut Plan<'_>,
        message: &Inbound,
        command: Command,
    ) -> String {
        let key = conversation_key(message);
        let new = plan.turns.iter().filter(|turn| turn.key == key).count();
        let tools = has_tools(&self.config, message);
        let standing = self.standing(step.state, &key, new, tools);
        let text = self.command(step, &key, command, &standing);
        // Messages from before it still come, and must not be what the next one goes on from.
        if command == Command::New && standing.waiting > 0 {
            self.inbox.fresh.insert(key);
        }
        text
    }

    fn judge(&mut self, plan: &Plan<'_>, now_ms: u64, message: &Inbound) -> Verdict {
        let is_readable = match message.kind {
            InboundKind::Text => true,
            InboundKind::Unreadable => false,
            InboundKind::Ignored => return Verdict::Seen,
        };
        if message.sender.is_empty() || message.sender.contains('\0') {
            return Verdict::Seen;
        }
        if message.dedup_key.as_deref().is_some_and(|key| plan.is_known_key(key, now_ms)) {
            return Verdict::Seen;
        }
        let owner = self.config.owner.as_deref();
        if !is_answered(self.config.senders, &message.sender, owner) {
            return Verdict::Seen;
        }
        let key = conversation_key(message);
        if !is_readable {
            let tells = !message.conversation.group && self.inbox.tells_unreadable(&key, now_ms);
            return if tells { Verdict::Notice(phrases::UNREADABLE) } else { Verdict::Seen };
        }
        let text = message.text.as_deref().unwrap_or_default();
        if prompt::is_blank(text) {
            return Verdict::Seen;
        }
        if let Some(command) = Command::parse(text) {
            return Verdict::Command(command);
        }
        let prompt = prompt::write(message);
        if prompt.len() > MAX_PROMPT_BYTES {
            return Verdict::Notice(phrases::TOO_LONG);
        }
        if plan.is_busy(&key) {
            return Verdict::Notice(phrases::BUSY);
        }
        Verdict::Turn(Turn {
            tools: has_tools(&self.config, message),
            is_fresh: self.inbox.fresh.remove(&key),
            key,
            message_id: message.id.clone(),
            prompt,
        })
    }

    fn notice(&mut self, message: &Inbound, text: String) -> Pending {
        let claim = claim(message, conversation_key(message));
        Pending { transient: true, ..self.reply(&claim, text) }
    }
}

/// What becomes of one new message.
enum Verdict {
    Seen,
    Notice(&'static str),
    Command(Command),
    Turn(Turn),
}

/// What a batch will change, message by message.
struct Plan<'a> {
    state: &'a State,
    changes: Vec<Change>,
    turns: Vec<Turn>,
    seen: Vec<String>,
    renewed: Vec<String>,
    noticed: Vec<String>,
    keys: Vec<String>,
    has_new: bool,
}

impl<'a> Plan<'a> {
    const fn new(state: &'a State) -> Self {
        Self {
            state,
            changes: Vec::new(),
            turns: Vec::new(),
            seen: Vec::new(),
            renewed: Vec::new(),
            noticed: Vec::new(),
            keys: Vec::new(),
            has_new: false,
        }
    }

    fn is_known(&self, id: &str) -> bool {
        self.state.is_known(id)
            || self.turns.iter().any(|turn| turn.message_id == id)
            || self.seen.iter().chain(&self.noticed).any(|other| other == id)
    }

    fn renew(&mut self, id: &str) {
        if self.state.is_seen(id) {
            self.renewed.push(id.to_owned());
        }
    }

    fn is_known_key(&self, key: &str, now_ms: u64) -> bool {
        self.state.is_known_key(key, now_ms) || self.keys.iter().any(|other| other == key)
    }

    fn add_key(&mut self, key: &str, now_ms: u64) {
        if !self.is_known_key(key, now_ms) {
            self.keys.push(key.to_owned());
            self.changes.push(Change::Key(key.to_owned(), now_ms));
        }
    }

    /// Whether a conversation or the account has as many claimed messages as it may.
    fn is_busy(&self, key: &str) -> bool {
        let claimed = self.state.claims().iter().map(|claim| claim.key.as_str());
        let all = claimed.chain(self.turns.iter().map(|turn| turn.key.as_str()));
        let (mut total, mut own) = (0, 0);
        for other in all {
            total += 1;
            own += usize::from(other == key);
        }
        own >= MAX_CLAIMS_PER_CONVERSATION_COUNT || total >= MAX_CLAIMS_COUNT
    }

    fn claim(&mut self, message: &Inbound, turn: Turn) {
        self.changes.push(Change::Claim(claim(message, turn.key.clone())));
        self.turns.push(turn);
    }

    fn answer_at_once(&mut self, id: &str, notice: Pending) {
        self.noticed.push(id.to_owned());
        self.changes.push(Change::Reply(notice));
    }
}

/// The sender for a direct chat; group, NUL, sender for a group.
fn conversation_key(message: &Inbound) -> String {
    match message.conversation.group {
        true => format!("{}\0{}", message.conversation.id, message.sender),
        false => message.sender.clone(),
    }
}

fn has_tools(config: &Config, message: &Inbound) -> bool {
    config.owner_has_tools
        && !message.conversation.group
        && config.owner.as_deref() == Some(message.sender.as_str())
}

fn claim(message: &Inbound, key: String) -> Claim {
    Claim {
        message_id: message.id.clone(),
        to_user_id: message.sender.clone(),
        context_token: message.reply_token.clone().unwrap_or_default(),
        key,
        extra: serde_json::Map::new(),
    }
}
